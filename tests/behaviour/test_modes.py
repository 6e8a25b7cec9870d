"""How much a conversation may do unasked: chosen by the person, seen, and over by itself."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.host.modes import Modes
from pilothouse.host.new_conversations import begin_conversation, chosen
from pilothouse.types import limits
from pilothouse.types.api import Answer, ConfigPatch, ConversationPatch, NewConversation
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolOutput
from tests.support.chats import ME, Chat, open_chat
from tests.support.commands import pilothouse
from tests.support.tools import ToolOf, give_tools

WRITE = "write"


def a_call(tool: str = WRITE, **arguments: Any) -> dict[str, Any]:
    return {"call": tool, "arguments": arguments}


def writer() -> ToolOf:
    return ToolOf(WRITE, effects=frozenset({"writes"}))


async def set_mode(chat: Chat, mode: str) -> ConversationSettings:
    now = (await chat.snapshot()).conversation.settings
    patch = ConversationPatch(settings=msgspec.structs.replace(now, mode=mode, mode_since=0.0))
    return (await chat.api.conversations.update(ME, chat.id, patch)).settings


def with_config(home: Path, config: dict[str, Any]) -> None:
    """Write a settings file."""
    home.mkdir(parents=True)
    (home / "config.json").write_text(json.dumps({"version": "1.0", **config}))


def with_profile(home: Path, profile: dict[str, Any]) -> None:
    """Write a settings file in which this profile is active."""
    with_config(home, {"profiles": [profile], "active_profile": "p", "mcps": []})


async def open_questions(chat: Chat) -> list[Item]:
    return [item for item in await chat.items("question") if item.status == "waiting"]


@pytest.mark.case("ATZ-11", "TST-10")
async def test_auto_approve_asks_nothing_until_it_is_switched_off(home: Path) -> None:
    tool = writer()
    async with open_chat(home, [[a_call(n=1)], "Done.", [a_call(n=2)], "Done."]) as chat:
        give_tools(chat.host, tool)
        assert (await set_mode(chat, "auto_approve")).mode_since > 0
        assert (await chat.say()).status == "completed"
        [call] = await chat.items("tool_call")
        assert (call.raw["decision"]["authority"], call.raw["decision"]["rule"]) == ("mode", "auto_approve")
        await set_mode(chat, "ask")
        assert (await chat.say("Again")).status == "waiting"
        assert len(tool.calls) == 1


@pytest.mark.case("ATZ-11", "AUTHZ-14")
async def test_switching_off_counts_for_a_run_that_is_at_work(home: Path) -> None:
    chats: list[Chat] = []

    async def switches(arguments: JsonObject, context: CallContext) -> ToolOutput:
        await set_mode(chats[0], "ask")
        return ToolOutput(text="done")

    tool = ToolOf(WRITE, switches, effects=frozenset({"writes"}))
    async with open_chat(home, [[a_call(n=1)], [a_call(n=2)], "Done."]) as chat:
        chats.append(chat)
        give_tools(chat.host, tool)
        await set_mode(chat, "auto_approve")
        assert (await chat.say()).status == "waiting"
        assert len(tool.calls) == 1


@pytest.mark.case("AUTHZ-14")
async def test_auto_approve_ends_with_the_program(home: Path) -> None:
    tool = writer()
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        await set_mode(chat, "auto_approve")
        conversation = chat.id
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        chat.id = conversation
        # It is shown as it counts, and said where the calls are.
        assert (await chat.snapshot()).conversation.settings.mode == "ask"
        assert (await chat.say()).status == "waiting"
        [notice] = await chat.items("notice")
        assert (notice.raw["code"], notice.text) == (
            "mode_ended",
            "Auto-approve has ended, as it does by itself. Calls are asked about again.",
        )
        kept = await chat.host.executor._parts.records.conversation(ME, chat.id)
        assert (kept.settings.mode, tool.calls) == ("ask", [])


@pytest.mark.case("AUTHZ-14")
async def test_no_file_switches_asking_off(home: Path) -> None:
    profile = {"id": "p", "name": "Quiet", "settings": {"mode": "auto_approve", "modeSince": 9e9}}
    with_profile(home, profile)
    async with open_chat(home) as chat:
        made = await chat.api.conversations.create(ME, NewConversation())
        assert (made.settings.mode, made.settings.mode_since < 9e9) == ("ask", True)
        begun = await begin_conversation(chat.api, chosen(system="Be brief."))
        assert (begun.settings.mode, begun.settings.system_prompt) == ("ask", "Be brief.")


async def test_a_profile_may_make_conversations_more_careful(home: Path) -> None:
    profile = {"id": "p", "name": "Careful", "settings": {"mode": "read_only"}}
    with_profile(home, profile)
    async with open_chat(home) as chat:
        assert (await chat.api.conversations.create(ME, NewConversation())).settings.mode == "read_only"


@pytest.mark.case("AUTHZ-14")
async def test_nobody_but_the_clock_of_the_server_says_when_a_mode_began(home: Path) -> None:
    async with open_chat(home) as chat:
        first = await set_mode(chat, "auto_approve")
        other = msgspec.structs.replace(first, temperature=0.5)
        kept = await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=other))
        assert kept.settings.mode_since == first.mode_since
        forged = msgspec.structs.replace(first, mode_since=9e9)
        kept = await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=forged))
        assert kept.settings.mode_since < 9e9


class Clocks:
    def __init__(self) -> None:
        self.wall, self.steady = 1_000_000.0, 0.0

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@pytest.mark.case("AUTHZ-14", "AUTHZ-07")
async def test_auto_approve_ends_after_a_working_day_whatever_the_clock_says() -> None:
    clocks = Clocks()
    modes = Modes(now=lambda: clocks.wall, steady=lambda: clocks.steady)
    settings = modes.begun(ConversationSettings(mode="auto_approve"))
    assert await modes.now(settings) == "auto_approve"
    clocks.pass_by(limits.AUTO_APPROVE_SECONDS - 1)
    assert await modes.now(settings) == "auto_approve"
    clocks.pass_by(2)
    assert await modes.now(settings) == "ask"
    clocks.wall -= 3600
    assert await modes.now(settings) == "ask"
    # Sent back together with another change it is not chosen anew; chosen again it is.
    assert await modes.now(modes.changed(settings, msgspec.structs.replace(settings, temperature=1.0))) == "ask"
    again = modes.changed(settings, msgspec.structs.replace(settings, mode_since=0.0))
    assert await modes.now(again) == "auto_approve"


async def test_other_modes_do_not_end() -> None:
    clocks = Clocks()
    modes = Modes(now=lambda: clocks.wall, steady=lambda: clocks.steady)
    for mode in ("ask", "auto_edit", "read_only"):
        assert await modes.now(ConversationSettings(mode=mode)) == mode


async def test_a_read_only_conversation_offers_and_executes_only_what_reads(home: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Hello\n")
    turns = [
        [{"call": "file_operations", "arguments": {"operation": "create_file", "filePath": "b.md", "content": "x"}}],
        [{"call": "file_operations", "arguments": {"operation": "read_file", "filePath": "a.md"}}],
        [a_call(n=1)],
        "Done.",
    ]
    settings = {"working_directory": str(tmp_path), "mode": "read_only"}
    async with open_chat(home, turns, settings=settings) as chat:
        assert (await chat.say(allow=("file_operations.*",))).status == "completed"
        created, read, unknown = await chat.items("tool_call")
        assert created.raw["error"]["code"] == "INVALID_ARGUMENTS"
        assert (read.status, "Hello" in read.text) == ("completed", True)
        assert unknown.raw["error"]["code"] == "TOOL_NOT_FOUND"
        assert not (tmp_path / "b.md").exists()


async def test_a_tool_that_was_offered_before_is_refused_once_the_conversation_is_read_only(home: Path) -> None:
    chats: list[Chat] = []

    async def switches(arguments: JsonObject, context: CallContext) -> ToolOutput:
        await set_mode(chats[0], "read_only")
        return ToolOutput(text="done")

    tool, first = writer(), ToolOf("first", switches)
    async with open_chat(home, [[a_call("first")], [a_call(n=1)], "Done."]) as chat:
        chats.append(chat)
        give_tools(chat.host, first, tool)
        assert (await chat.say(allow=(WRITE,))).status == "completed"
        call = (await chat.items("tool_call"))[-1]
        assert (call.raw["error"]["code"], call.raw["decision"]["rule"]) == ("PERMISSION_DENIED", "read_only")
        assert tool.calls == []


@pytest.mark.case("ATZ-01", "ATZ-02", "ATZ-04", "ATZ-05")
async def test_edits_go_through_inside_the_working_directory_however_it_is_named(home: Path, tmp_path: Path) -> None:
    project, neighbour = tmp_path / "conv-123", tmp_path / "conv-123-other"
    project.mkdir()
    neighbour.mkdir()
    paths = ["src/a.md", str(project / "b.md"), str(neighbour / "c.md")]
    create = {"operation": "create_file", "content": "x"}
    turns = [[{"call": "file_operations", "arguments": {**create, "filePath": path}}] for path in paths]
    settings = {"working_directory": str(project), "mode": "auto_edit"}
    async with open_chat(home, [*turns, "Done."], settings=settings) as chat:
        assert (await chat.say()).status == "waiting"
        assert ((project / "src" / "a.md").exists(), (project / "b.md").exists()) == (True, True)
        [question] = await open_questions(chat)
        assert question.raw["rule"] == "outside"
        assert question.raw["access"]["paths"][0]["path"] == str(neighbour / "c.md")
        assert not (neighbour / "c.md").exists()


# --- where nobody chose one ----------------------------------------------------------------------


RUN = {"call": "terminal_operations", "arguments": {"operation": "run_command", "command": "echo 1 > made"}}


def unchosen(folder: Path | None) -> dict[str, Any]:
    return {"working_directory": str(folder) if folder else None, "mode": "default"}


async def test_where_nobody_chose_a_mode_a_folder_is_sandboxed_and_undo_covers_what_a_command_did(
    home: Path, tmp_path: Path
) -> None:
    async with open_chat(home, [[RUN], "Done."], settings=unchosen(tmp_path)) as chat:
        run = await chat.say()
        assert run.status == "completed"
        [call] = await chat.items("tool_call")
        assert (call.raw["decision"]["authority"], call.raw["decision"]["rule"]) == ("mode", "sandboxed")
        config = await chat.api.settings.get(ME)
        assert (config.mode_in_folder, config.mode_elsewhere) == ("sandboxed", "ask")
        # What is kept is that nobody chose.
        assert (await chat.snapshot()).conversation.settings.mode == "default"
        await chat.api.changes.undo_run(ME, run.id)
        assert not (tmp_path / "made").exists()


async def test_where_nobody_chose_a_mode_and_there_is_no_folder_calls_are_asked_about(home: Path) -> None:
    async with open_chat(home, [[a_call()], "Done."], settings=unchosen(None)) as chat:
        give_tools(chat.host, writer())
        assert (await chat.say()).status == "waiting"


async def test_where_nothing_keeps_commands_off_the_network_the_default_is_to_ask_from_that_moment_on(
    home: Path, tmp_path: Path
) -> None:
    async with open_chat(home, [[RUN], "Done.", [RUN], "Done."], settings=unchosen(tmp_path)) as chat:
        assert (await chat.say()).status == "completed"
        off = await chat.api.settings.update(ME, ConfigPatch(terminal={"sandbox": "off"}))
        assert (off.mode_in_folder, off.mode_elsewhere) == ("ask", "ask")
        assert (await chat.say("Again")).status == "waiting"


@pytest.mark.parametrize(("default", "asks"), [("ask", True), ("auto_edit", False), ("sandboxed", False)])
async def test_the_default_mode_is_a_setting_that_counts_for_open_conversations(
    home: Path, tmp_path: Path, default: str, asks: bool
) -> None:
    made = {"operation": "create_file", "filePath": "notes.md", "content": "Hello"}
    edit = [{"call": "file_operations", "arguments": made}]
    async with open_chat(home, [edit, "Done."], settings=unchosen(tmp_path)) as chat:
        config = await chat.api.settings.update(ME, ConfigPatch(default_mode=default))
        assert (config.mode_in_folder, config.mode_elsewhere) == (default, default)
        assert ((await chat.say()).status == "waiting") is asks


async def test_a_default_that_only_reads_offers_nothing_else(home: Path, tmp_path: Path) -> None:
    async with open_chat(home, [[RUN], "Done."], settings=unchosen(tmp_path)) as chat:
        await chat.api.settings.update(ME, ConfigPatch(default_mode="read_only"))
        assert (await chat.say()).status == "completed"
        assert not (tmp_path / "made").exists()


@pytest.mark.case("AUTHZ-14")
async def test_nothing_makes_it_the_default_to_ask_nothing(home: Path, tmp_path: Path) -> None:
    with_config(home, {"default_mode": "auto_approve"})
    async with open_chat(home, settings=unchosen(tmp_path)) as chat:
        config = await chat.api.settings.get(ME)
        assert (config.default_mode, config.problem is not None) == ("automatic", True)
    (home / "config.json").unlink()
    async with open_chat(home) as chat:
        with pytest.raises(PilothouseError, match="“default_mode” cannot be 'auto_approve'"):
            await chat.api.settings.update(ME, ConfigPatch(default_mode="auto_approve"))
        assert (await chat.api.settings.get(ME)).default_mode == "automatic"


async def test_a_conversation_that_was_kept_before_there_was_a_default_goes_on_asking(
    home: Path, tmp_path: Path
) -> None:
    settings = {"working_directory": str(tmp_path)}
    async with open_chat(home, [[RUN], "Done."], settings=settings) as chat:
        conversation = chat.id
    with closing(sqlite3.connect(home / "pilothouse.db")) as kept, kept:
        [[text]] = kept.execute("SELECT settings FROM conversations").fetchall()
        assert json.loads(text)["mode"] == "ask", "every field is kept"
        # As it was written before there were modes at all.
        older = {name: value for name, value in json.loads(text).items() if name not in ("mode", "modeSince")}
        kept.execute("UPDATE conversations SET settings = ?", (json.dumps(older, separators=(",", ":")),))
    async with open_chat(home, [[RUN], "Done."], settings=settings) as chat:
        chat.id = conversation
        assert (await chat.snapshot()).conversation.settings.mode == "ask"
        assert (await chat.say()).status == "waiting"


async def test_a_mode_that_ended_by_itself_asks_also_where_the_default_would_not(home: Path, tmp_path: Path) -> None:
    settings = {"working_directory": str(tmp_path), "mode": "auto_approve"}
    async with open_chat(home, [[RUN], "Done."], settings=settings) as chat:
        conversation = chat.id
    async with open_chat(home, [[RUN], "Done."], settings=settings) as chat:
        chat.id = conversation
        assert (await chat.say()).status == "waiting"
        kept = await chat.host.executor._parts.records.conversation(ME, chat.id)
        assert kept.settings.mode == "ask"


# --- when nobody is there ------------------------------------------------------------------------


@pytest.mark.case("FWK-15")
async def test_an_unattended_run_stops_with_a_question_that_waits(home: Path) -> None:
    tool = writer()
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        run = await chat.say(unattended=True)
        assert run.status == "waiting"
        [question] = await open_questions(chat)
        assert (question.raw["rule"], question.raw["operation"]) == ("writes", WRITE)
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        assert (await chat.settled(run.id)).status == "completed"


@pytest.mark.case("FWK-15")
def test_a_command_without_a_terminal_ends_with_3_and_says_what_was_needed(
    home: Path, tmp_path: Path, work: Path
) -> None:
    made = {"operation": "create_file", "filePath": "notes.md", "content": "Hello"}
    turns = [[{"call": "file_operations", "arguments": made}], "Done."]
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": turns}))
    asked = pilothouse(home, "run", "go", "--model", f"scripted:{script}", "--folder", str(work), "--mode", "ask")
    assert asked.code == 3, asked.err
    for part in ("Creating", "notes.md", "asked by the rule “writes”", "pilothouse answer", "Deny"):
        assert part in asked.err
    assert not (work / "notes.md").exists()
    command = next(line for line in asked.err.splitlines() if line.endswith("Allow once")).split()
    done = pilothouse(home, *command[1:4])
    assert (done.code, (work / "notes.md").read_text()) == (0, "Hello")


def test_a_command_without_a_terminal_does_in_its_folder_what_can_be_undone_and_says_first_what_cannot(
    home: Path, tmp_path: Path, work: Path
) -> None:
    with (work / "data.bin").open("wb") as file:
        file.truncate(limits.FILE_EDIT_BYTES + 1)
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[RUN], "Done."]}))
    done = pilothouse(home, "run", "go", "--model", f"scripted:{script}", "--folder", str(work))
    assert (done.code, (work / "made").exists()) == (0, True)
    told = "What commands change here can be undone, but not in data.bin (16.0 MB)."
    assert told in done.err


def test_a_mode_that_is_none_is_refused_and_one_that_edits_needs_no_question(home: Path, tmp_path: Path) -> None:
    made = {"operation": "create_file", "filePath": "notes.md", "content": "Hello"}
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[{"call": "file_operations", "arguments": made}], "Done."]}))
    talk = ("run", "go", "--model", f"scripted:{script}", "--folder", str(tmp_path), "--mode")
    wrong = pilothouse(home, *talk, "yolo")
    assert (wrong.code, "There is no mode “yolo”." in wrong.err) == (2, True)
    done = pilothouse(home, *talk, "auto_edit")
    assert (done.code, (tmp_path / "notes.md").read_text()) == (0, "Hello")
