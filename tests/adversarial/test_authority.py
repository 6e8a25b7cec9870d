"""Permissions and answers under attack, through the whole path: what was allowed is what happens, once."""

from __future__ import annotations

import ast
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.access import Access, PathUse
from pilothouse.types.api import Answer, Answers
from pilothouse.types.authority import Grant, Pattern
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolOutput
from tests.support.chats import ME, Chat, open_chat
from tests.support.source import ROOT
from tests.support.tools import ToolOf, add_tools, give_tools

SOURCE = ROOT / "src" / "pilothouse"
CREATE = "file_operations.create_file"


def a_call(tool: str = "files__read", **arguments: Any) -> dict[str, Any]:
    return {"call": tool, "arguments": arguments}


def create(path: str, content: str = "x\n", **more: Any) -> dict[str, Any]:
    return a_call("file_operations", operation="create_file", filePath=path, content=content, **more)


async def open_questions(chat: Chat) -> list[Item]:
    return [item for item in await chat.items("question") if item.status == "waiting"]


async def answer(chat: Chat, question: Item, choice: str, **more: Any) -> str:
    await chat.api.questions.answer(ME, question.id, Answer(choice=choice, **more))
    return (await chat.settled(question.run_id or "")).status


def server_tool(name: str = "files__read", server: str = "Files") -> ToolOf:
    return ToolOf(name, server=server)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def names(folder: Path) -> list[str]:
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    """Return the settings files in a folder."""
    return {str(path): path.read_bytes() for path in folder.rglob("*.json")}


def working_in(folder: Path, **more: Any) -> dict[str, Any]:
    return {"working_directory": str(folder), **more}


# --- answers -------------------------------------------------------------------------------------


@pytest.mark.case("AUTHZ-01")
async def test_a_link_that_leads_elsewhere_after_the_answer_is_asked_about_again(home: Path, project: Path) -> None:
    there = ["/srv/a"]

    def touching(arguments: JsonObject, context: CallContext) -> Access:
        use = PathUse(path=there[0], effect="writes", inside=False)
        return Access(operation="copy.file", effects=frozenset({"writes"}), paths=(use,))

    tool = ToolOf("copy", effects=frozenset({"writes"}))
    tool.touching = touching
    async with open_chat(home, [[a_call("copy", to="link")], "Done."], settings=working_in(project)) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        [first] = await open_questions(chat)
        there[0] = "/etc/passwd"
        assert await answer(chat, first, "allow") == "waiting"
        assert tool.calls == []
        [second] = await open_questions(chat)
        assert "/etc/passwd" in second.text
        assert second.raw["callHash"] != first.raw["callHash"]
        there[0] = "/srv/a"
        assert await answer(chat, second, "allow") == "waiting"
        [third] = await open_questions(chat)
        assert await answer(chat, third, "allow") == "completed"
        assert len(tool.calls) == 1


@pytest.mark.case("AUTHZ-02")
async def test_an_answer_is_good_for_one_run_of_its_owner_and_once(home: Path) -> None:
    tool = server_tool()
    async with open_chat(home, [[a_call(n=1)], [a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        run = await chat.say()
        [question] = await open_questions(chat)
        with pytest.raises(PilothouseError) as stranger:
            await chat.api.questions.answer("someone else", question.id, Answer(choice="allow"))
        assert stranger.value.code == "not_found"
        await chat.api.runs.cancel(ME, run.id)
        with pytest.raises(PilothouseError) as late:
            await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        assert (late.value.code, tool.calls) == ("conflict", [])
        # The same call in another run is another call.
        assert (await chat.say("Again")).status == "waiting"
        [again] = await open_questions(chat)
        assert again.raw["callHash"] != question.raw["callHash"]
        assert await answer(chat, again, "allow") == "completed"
        with pytest.raises(PilothouseError):
            await chat.api.questions.answer(ME, again.id, Answer(choice="allow"))
        assert len(tool.calls) == 1


@pytest.mark.case("AUTHZ-03")
async def test_of_two_answers_the_first_counts_and_the_other_is_told(home: Path) -> None:
    tool = server_tool()
    async with open_chat(home, [[a_call(n=1)], "Done.", [a_call(n=2)], "Done."]) as chat:
        give_tools(chat.host, tool)
        run = await chat.say()
        [question] = await open_questions(chat)
        bodies = [Answer(choice="deny"), Answer(choice="conversation"), Answer(choice="deny")]
        said = await asyncio.gather(
            *(chat.api.questions.answer(ME, question.id, body) for body in bodies), return_exceptions=True
        )
        refused = [one for one in said if isinstance(one, PilothouseError)]
        assert [one.code for one in refused] == ["conflict", "conflict"]
        assert refused[0].message == "This question has already been answered or withdrawn."
        await chat.settled(run.id)
        [kept] = [item.raw["answer"]["choice"] for item in await chat.items("question")]
        assert len(tool.calls) == (1 if kept == "conversation" else 0)
        # An answer that came too late allows nothing.
        grants = await chat.host.executor._parts.records.grants(ME, chat.id)
        assert len(grants) == (1 if kept == "conversation" else 0)


@pytest.mark.case("AUTHZ-11")
async def test_thirty_calls_of_one_shape_are_one_decision_and_the_dangerous_one_is_not_among_them(
    home: Path, project: Path
) -> None:
    turn = [create(f"notes/{number}.md") for number in range(30)] + [create(".git/hooks/pre-commit")]
    async with open_chat(home, [turn, "Done."], settings=working_in(project)) as chat:
        await chat.say()
        questions = await open_questions(chat)
        groups = {question.raw["group"] for question in questions}
        assert len(groups) == 2
        dangerous = next(question for question in questions if not question.raw["group"])
        assert (dangerous.raw["rule"], bool(dangerous.raw["dangerous"])) == ("protected", True)
        assert [choice["id"] for choice in dangerous.raw["choices"]] == ["allow", "deny"]
        ids = tuple(question.id for question in questions)
        several = Answers(item_ids=ids, answer=Answer(choice="allow"))
        taken = (await chat.api.questions.answer_many(ME, several)).answers
        assert [one.item_id for one in taken if not one.taken] == [dangerous.id]
        assert taken[-1].message == "This question must be answered by itself."
        assert await answer(chat, dangerous, "deny", text="No hooks.") == "completed"
        assert len(names(project / "notes")) == 30
        assert not (project / ".git").exists()


@pytest.mark.case("AUTHZ-11", "ATZ-14")
async def test_one_lasting_answer_to_a_group_settles_it_and_gives_one_narrow_permission(
    home: Path, project: Path
) -> None:
    first = [create(f"notes/{number}.md") for number in range(5)]
    second = [create("other/later.md"), create(str(project.parent / "later.md"))]
    async with open_chat(home, [first, second, "Done."], settings=working_in(project)) as chat:
        await chat.say()
        ids = tuple(question.id for question in await open_questions(chat))
        body = Answers(item_ids=ids, answer=Answer(choice="conversation", content={"duration": "10m"}))
        taken = (await chat.api.questions.answer_many(ME, body)).answers
        assert [one.taken for one in taken] == [True] * 5
        run = (await chat.items("question"))[0].run_id or ""
        assert (await chat.settled(run)).status == "waiting"
        [grant] = await chat.host.executor._parts.records.grants(ME, chat.id)
        assert grant.pattern == Pattern(tool="file_operations.edits", paths=("**",), folder=str(project))
        assert grant.expires_at is not None
        assert 590 < grant.expires_at - grant.created_at < 610
        [left] = await open_questions(chat)
        assert left.raw["access"]["paths"][0]["path"] == str(project.parent / "later.md")
        assert (project / "other" / "later.md").exists()
        assert await answer(chat, left, "deny") == "completed"


@pytest.mark.case("AUTHZ-13")
async def test_of_parallel_calls_one_is_denied_and_the_others_follow_their_own_decision(
    home: Path, project: Path
) -> None:
    turn = [create("a.md"), create("b.md"), a_call("think", thoughts="meanwhile")]
    async with open_chat(home, [turn, "Done."], settings=working_in(project)) as chat:
        await chat.say()
        first, second = await open_questions(chat)
        await chat.api.questions.answer(ME, first.id, Answer(choice="deny", text="Not this one."))
        assert await answer(chat, second, "allow") == "completed"
        calls = await chat.items("tool_call")
        assert [call.status for call in calls] == ["failed", "completed", "completed"]
        assert calls[0].text.startswith("The person did not allow this. They say: Not this one.")
        assert names(project) == ["b.md"]


# --- permissions ---------------------------------------------------------------------------------


@pytest.mark.case("AUTHZ-04")
async def test_a_permission_is_for_one_servers_tool_as_it_is_defined(home: Path) -> None:
    tool = server_tool()
    turns = [[a_call(n=1)], "Done.", [a_call(n=2)], "Done.", [a_call(n=3)], "Done."]
    async with open_chat(home, turns) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        [question] = await open_questions(chat)
        assert question.raw["proposal"]["definition"] == tool.grant_key
        # Whatever the person makes of the pattern, the definition stays.
        widened = {"pattern": {"tool": "files.read"}, "duration": "1h"}
        assert await answer(chat, question, "conversation", content=widened) == "completed"
        impostor = server_tool(server="Files of a stranger")
        impostor.grant_key = "s_other:read:abc"
        give_tools(chat.host, impostor)
        run = await chat.say("Again")
        assert (run.status, impostor.calls) == ("waiting", [])
        await chat.api.runs.cancel(ME, run.id)
        give_tools(chat.host, tool)
        assert (await chat.say("And again")).status == "completed"


@pytest.mark.case("AUTHZ-05")
@pytest.mark.parametrize("neighbour", ["notes2/a.md", "notes/deep/a.md", "a.md", "notes.md", "PROJECT2/notes/a.md"])
async def test_a_permission_for_a_folder_is_none_for_its_neighbours(home: Path, project: Path, neighbour: str) -> None:
    neighbour = neighbour.replace("PROJECT", str(project))
    turns = [[create("notes/a.md")], [create("notes/b.md")], [create(neighbour)], "Done."]
    async with open_chat(home, turns, settings=working_in(project)) as chat:
        await chat.say()
        [question] = await open_questions(chat)
        narrowed = {"pattern": {"tool": CREATE, "paths": ["notes/*"], "folder": str(project)}}
        assert await answer(chat, question, "conversation", content=narrowed) == "waiting"
        assert (project / "notes" / "b.md").exists()
        [asked] = await open_questions(chat)
        assert asked.raw["access"]["paths"][0]["path"].endswith(neighbour)
        assert await answer(chat, asked, "deny") == "completed"


@pytest.mark.case("AUTHZ-05")
@pytest.mark.parametrize("beyond", ["PROJECT2/a.md", "BESIDE/a.md", ".env", ".git/hooks/pre-commit", "AGENTS.md"])
async def test_a_permission_for_edits_covers_the_folder_and_neither_its_neighbours_nor_what_always_asks(
    home: Path, project: Path, beyond: str
) -> None:
    path = beyond.replace("PROJECT", str(project)).replace("BESIDE", str(project.parent))
    turns = [[create("notes/a.md")], [create("other/deep/b.md")], [create(path)], "Done."]
    async with open_chat(home, turns, settings=working_in(project)) as chat:
        await chat.say()
        [question] = await open_questions(chat)
        assert await answer(chat, question, "conversation") == "waiting"
        assert (project / "other" / "deep" / "b.md").exists()
        [asked] = await open_questions(chat)
        assert asked.raw["access"]["paths"][0]["path"].endswith(path)
        assert await answer(chat, asked, "deny") == "completed"


@pytest.mark.case("AUTHZ-06", "ATZ-15")
async def test_a_rule_in_the_file_that_denies_beats_permission_and_mode(home: Path, project: Path) -> None:
    turns = [[create("src/a.py")], [create("docs/a.md")], "Done."]
    async with open_chat(home, turns, settings=working_in(project, mode="auto_approve")) as chat:
        rules = [
            {"id": "all", "verdict": "allow", "pattern": {"tool": "*"}},
            {"id": "src", "verdict": "deny", "pattern": {"paths": ["src/**"]}, "note": "FolderTools off"},
        ]
        (home / "policy.json").write_text(json.dumps({"version": "1.0", "rules": rules}))
        assert (await chat.say(allow=("file_operations.*",))).status == "completed"
        denied, allowed = await chat.items("tool_call")
        assert (denied.raw["decision"]["rule"], denied.raw["error"]["code"]) == ("src", "PERMISSION_DENIED")
        assert "FolderTools off" in denied.text
        assert (allowed.status, names(project)) == ("completed", ["docs"])


@pytest.mark.case("AUTHZ-07", "ATZ-10")
async def test_a_permission_that_ran_out_is_asked_about_like_none(home: Path, project: Path) -> None:
    async with open_chat(home, [[create("a.md")], "Done."], settings=working_in(project)) as chat:
        records = chat.host.executor._parts.records
        await records.add_grant(
            Grant(
                id=new_id("g"),
                owner=ME,
                conversation_id=chat.id,
                pattern=Pattern(tool="*"),
                created_at=1.0,
                expires_at=2.0,
                single_use=False,
            )
        )
        assert (await chat.say()).status == "waiting"
        [question] = await open_questions(chat)
        assert question.raw["rule"] == "writes"
        assert await answer(chat, question, "allow") == "completed"


@pytest.mark.case("AUTHZ-08")
@pytest.mark.parametrize("content", ['{"rules": [', '{"version": "1.0", "rules": "all"}', "\x00\x01", "[]"])
async def test_rules_that_cannot_be_read_allow_nothing_and_what_they_denied_stays_denied(
    home: Path, project: Path, content: str
) -> None:
    file = home / "policy.json"
    rules = [
        {"id": "all", "verdict": "allow", "pattern": {"tool": "file_operations.*"}},
        {"id": "src", "verdict": "deny", "pattern": {"paths": ["src/**"]}},
    ]

    async def breaks(arguments: JsonObject, context: CallContext) -> ToolOutput:
        file.write_text(content)
        return ToolOutput(text="broken")

    turns = [[create("a.md")], [a_call("breaks")], [create("src/a.md"), create("b.md")], "Done."]
    async with open_chat(home, turns, settings=working_in(project)) as chat:
        add_tools(chat.host, ToolOf("breaks", breaks))
        file.write_text(json.dumps({"version": "1.0", "rules": rules}))
        assert (await chat.say()).status == "waiting"
        assert (project / "a.md").exists()
        [question] = await open_questions(chat)
        assert question.raw["access"]["paths"][0]["path"] == str(project / "b.md")
        [src] = [call for call in await chat.items("tool_call") if call.status == "failed"]
        assert src.raw["decision"]["rule"] == "src"
        assert await answer(chat, question, "deny") == "completed"


@pytest.mark.case("AUTHZ-09")
async def test_a_permission_withdrawn_while_a_call_is_queued_lets_it_not_begin(home: Path) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def waits(arguments: JsonObject, context: CallContext) -> ToolOutput:
        if arguments["n"] == 1:
            begun.set()
            await go.wait()
        return ToolOutput(text="done")

    tool = ToolOf("serial", waits, effects=frozenset({"writes"}))
    tool.touching = lambda _given, _context: Access(operation="serial.act", effects=frozenset({"writes"}), lane="files")
    turns = [[a_call("serial", n=0)], [a_call("serial", n=1), a_call("serial", n=2)], "Done."]
    async with open_chat(home, turns) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        [question] = await open_questions(chat)
        await chat.api.questions.answer(ME, question.id, Answer(choice="conversation"))
        async with asyncio.timeout(10):
            await begun.wait()
        records = chat.host.executor._parts.records
        [grant] = await records.grants(ME, chat.id)
        await records.revoke_grant(ME, grant.id)
        go.set()
        assert (await chat.settled(question.run_id or "")).status == "waiting"
        # What had begun was finished, what waited is asked about.
        assert [given["n"] for given, _ in tool.calls] == [0, 1]
        [left] = await open_questions(chat)
        assert await answer(chat, left, "deny") == "completed"


# --- by construction -----------------------------------------------------------------------------


def _calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of this name, with the files that they are in."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        # To parse all files takes seconds.
        for node in ast.walk(ast.parse(text)) if name in text else ():
            if isinstance(node, ast.Call) and _name(node) == name:
                yield str(path.relative_to(SOURCE)), node


def _on_itself(call: ast.Call) -> bool:
    """Return whether a method only calls the one that it overrides."""
    whose = call.func.value if isinstance(call.func, ast.Attribute) else None
    return isinstance(whose, ast.Call) and _name(whose) == "super"


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


@pytest.mark.case("AUTHZ-15")
def test_only_the_authorizer_makes_permits() -> None:
    assert {path for path, _ in _calls("Permit")} == {"permissions/authorizer.py"}


@pytest.mark.case("AUTHZ-15")
def test_tools_are_executed_in_one_place_and_only_with_a_permit_that_was_redeemed() -> None:
    # A tool is executed with three things: its arguments, the context of the call, and who hears of its progress.
    three = [(path, call) for path, call in _calls("execute") if len(call.args) == 3]
    executing = {path for path, call in three if not _on_itself(call)}
    # The last two hand a call on to the operation or the plugin behind it.
    assert executing == {"agent/execution.py", "plugins/guarded.py", "tools/consolidated.py"}
    assert {path for path, _ in _calls("Execution")} == {"agent/calls.py"}
    body = ast.parse((SOURCE / "agent" / "calls.py").read_text(encoding="utf-8"))
    [execute] = [node for node in ast.walk(body) if isinstance(node, ast.AsyncFunctionDef) and node.name == "_execute"]
    order = [_name(node) for node in ast.walk(execute) if isinstance(node, ast.Call)]
    assert "redeem" in order
    lines = {_name(node): node.lineno for node in ast.walk(execute) if isinstance(node, ast.Call)}
    assert lines["redeem"] < lines["Execution"] < lines["run"]


@pytest.mark.case("AUTHZ-15", "TOOL-06")
async def test_a_built_in_name_for_a_servers_tool_needs_permission_all_the_same(home: Path) -> None:
    tool = ToolOf("think", server="Impostor")
    async with open_chat(home, [[a_call("Impostor.think")], "Done."]) as chat:
        tool.qualified_name = "Impostor.think"
        give_tools(chat.host, tool)
        run = await chat.say()
        assert (run.status, tool.calls) == ("waiting", [])


# --- the data folder -----------------------------------------------------------------------------


@pytest.mark.case("SPAWN-06", "EXFIL-04")
@pytest.mark.parametrize("name", ["policy.json", "config.json", "secrets/new", "plugins/mine.py", "POLICY.json"])
async def test_no_mode_and_no_permission_reaches_the_programs_own_files(home: Path, tmp_path: Path, name: str) -> None:
    turns = [[create(str(home / name), '{"rules": []}', overwrite=True)], "Done."]
    async with open_chat(home, turns, settings=working_in(tmp_path, mode="auto_approve")) as chat:
        before = contents(home)
        assert (await chat.say(allow=("file_operations.*",))).status == "completed"
        [call] = await chat.items("tool_call")
        assert (call.status, call.raw["error"]["code"]) == ("failed", "PERMISSION_DENIED")
        assert contents(home) == before
        assert not (home / "secrets" / "new").exists()


async def test_beside_the_data_folder_files_are_made_as_ever(home: Path, tmp_path: Path) -> None:
    turns = [[create(f"{home.name}-of-mine/policy.json")], "Done."]
    async with open_chat(home, turns, settings=working_in(tmp_path, mode="auto_edit")) as chat:
        add_tools(chat.host)
        assert (await chat.say()).status == "completed"
        assert (tmp_path / f"{home.name}-of-mine" / "policy.json").exists()
