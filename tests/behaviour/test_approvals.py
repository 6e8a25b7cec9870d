"""A server's tools ask first: once, for the conversation, or never; what was allowed is what happens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pilothouse.client.host import RemoteHost
from pilothouse.host.address import read_address
from pilothouse.net.loop_clients import close_clients
from pilothouse.types import limits
from pilothouse.types.api import Answer, Answers
from pilothouse.types.authority import Grant
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from pilothouse.types.ports import CallContext, ToolOutput
from pilothouse.web.run import ServerOptions
from tests.support.chats import ME, Chat, open_chat
from tests.support.in_process_server import serve_host
from tests.support.tools import ToolOf, add_tools, give_tools

READ = "files__read"


def a_call(tool: str = READ, **arguments: Any) -> dict[str, Any]:
    return {"call": tool, "arguments": arguments}


async def open_questions(chat: Chat) -> list[Item]:
    return [item for item in await chat.items("question") if item.status == "waiting"]


async def answer(chat: Chat, question: Item, choice: str, **more: Any) -> str:
    """Answer, wait for the run to end or ask again, and return its state."""
    await chat.api.questions.answer(ME, question.id, Answer(choice=choice, **more))
    return (await chat.settled(question.run_id or "")).status


def lasts(grant: Grant) -> int:
    """Return for how many seconds a permission was given."""
    assert grant.expires_at is not None
    return round(grant.expires_at - grant.created_at)


def reader(**more: Any) -> ToolOf:
    return ToolOf(READ, server="Files", **more)


@pytest.mark.case("TCL-02", "TCL-19", "TCL-20", "TCL-21")
async def test_a_servers_tool_asks_first_with_everything_in_view(home: Path) -> None:
    tool = reader()
    async with open_chat(home, [[a_call(path="a.txt")], "Done."]) as chat:
        give_tools(chat.host, tool)
        assert (await chat.say()).status == "waiting"
        [question] = await open_questions(chat)
        [call] = await chat.items("tool_call")
        assert tool.calls == []
        assert question.text == "Allow files.read? It is a tool of the server Files."
        assert question.raw["kind"] == "approval"
        assert question.raw["callItemId"] == call.id
        assert question.raw["serverTool"] == "files.read"
        assert question.raw["description"] == "The tool files__read."
        offered = [choice["id"] for choice in question.raw["choices"]]
        assert offered == ["allow", "task", "while", "conversation", "always", "deny"]
        assert (call.status, call.raw["phase"]) == ("waiting", "waiting_approval")
        assert (call.raw["arguments"], call.raw["server"]) == ({"path": "a.txt"}, "Files")
        assert await answer(chat, question, "allow") == "completed"
        [call] = await chat.items("tool_call")
        assert list(call.raw["phases"]) == ["started", "args_received", "waiting_approval", "executing", "completed"]
        assert (call.text, call.raw["isError"], call.raw["arguments"]) == (
            "echo {'path': 'a.txt'}",
            False,
            {"path": "a.txt"},
        )


async def test_allowed_once_is_asked_again_the_next_time(home: Path) -> None:
    async with open_chat(home, [[a_call(n=1)], [a_call(n=2)], "Done."]) as chat:
        give_tools(chat.host, reader())
        await chat.say()
        assert await answer(chat, (await open_questions(chat))[0], "allow") == "waiting"
        assert await answer(chat, (await open_questions(chat))[0], "allow") == "completed"


async def test_allowed_in_the_conversation_is_not_asked_again(home: Path) -> None:
    tool = reader()
    async with open_chat(home, [[a_call(n=1)], [a_call(n=2)], "Done.", [a_call(n=3)], "Again."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        assert await answer(chat, (await open_questions(chat))[0], "conversation") == "completed"
        assert (await chat.say("More")).status == "completed"
        assert [arguments["n"] for arguments, _ in tool.calls] == [1, 2, 3]
        assert len(await chat.items("question")) == 1


async def test_what_was_allowed_survives_a_compaction_and_a_restart(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = reader()
    script = [
        [a_call(n=1)],
        "Done.",
        {"match": "again", "steps": [a_call(n=2)]},
        {"match": "again", "steps": ["Done again."]},
    ]
    async with open_chat(home, script) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        await answer(chat, (await open_questions(chat))[0], "conversation")
        with monkeypatch.context() as patched:
            patched.setattr(limits, "COMPACT_ABOVE", 0.0)
            await chat.say("Make room")
        assert await chat.items("compaction")
        conversation = chat.id
    async with open_chat(home, script) as chat:
        give_tools(chat.host, tool)
        chat.id = conversation
        assert (await chat.say("And again")).status == "completed"
        assert tool.calls[-1][0] == {"n": 2}
        assert len(await chat.items("question")) == 1


@pytest.mark.case("TOOL-02")
async def test_a_changed_definition_is_asked_about_again(home: Path) -> None:
    tool = reader()
    async with open_chat(home, [[a_call(n=1)], "Done.", [a_call(n=2)], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        await answer(chat, (await open_questions(chat))[0], "conversation")
        tool.grant_key = "files__read as it is now"
        assert (await chat.say("More")).status == "waiting"
        assert len(tool.calls) == 1


async def test_another_conversation_knows_nothing_of_it(home: Path) -> None:
    tool = reader()
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        await answer(chat, (await open_questions(chat))[0], "conversation")
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        assert (await chat.say()).status == "waiting"


@pytest.mark.case("ERR-02", "ERR-03")
async def test_a_denial_reaches_the_model_and_nothing_is_done(home: Path) -> None:
    tool = reader()
    async with open_chat(home, [[a_call(n=1)], "I see."]) as chat:
        give_tools(chat.host, tool)
        await chat.say()
        assert await answer(chat, (await open_questions(chat))[0], "deny") == "completed"
        [call] = await chat.items("tool_call")
        assert (call.status, call.raw["error"]["code"]) == ("failed", "PERMISSION_DENIED")
        assert call.text.startswith("The person did not allow this.")
        assert tool.calls == []
        assert await chat.texts("response") == ["", "I see."]


async def test_calls_of_one_turn_ask_side_by_side_and_run_when_all_are_answered(home: Path) -> None:
    read, write = reader(), ToolOf("files__write", server="Files")
    async with open_chat(home, [[a_call(n=1), a_call("files__write", n=2)], "Done."]) as chat:
        give_tools(chat.host, read, write)
        await chat.say()
        first, second = await open_questions(chat)
        run = await chat.api.questions.answer(ME, second.id, Answer(choice="deny"))
        assert run.status == "waiting"
        assert await answer(chat, first, "allow") == "completed"
        assert (len(read.calls), len(write.calls)) == (1, 0)


async def test_one_lasting_answer_settles_all_questions_about_the_same_tool(home: Path) -> None:
    read, write = reader(), ToolOf("files__write", server="Files")
    turn = [a_call(n=1), a_call("files__write", n=2), a_call(n=3)]
    async with open_chat(home, [turn, "Done."]) as chat:
        give_tools(chat.host, read, write)
        await chat.say()
        first, second, _ = await open_questions(chat)
        run = await chat.api.questions.answer(ME, first.id, Answer(choice="conversation"))
        assert (run.status, [item.id for item in await open_questions(chat)]) == ("waiting", [second.id])
        assert await answer(chat, second, "allow") == "completed"
        assert [arguments["n"] for arguments, _ in read.calls] == [1, 3]


@pytest.mark.parametrize("pattern", ["files.read", "files.*", "Files.*", "files__read"])
async def test_what_a_run_was_allowed_beforehand_needs_no_question(home: Path, pattern: str) -> None:
    tool = reader()
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        assert (await chat.say(allow=(pattern,), unattended=True)).status == "completed"
        assert len(tool.calls) == 1


async def test_permission_for_one_tool_is_none_for_another(home: Path) -> None:
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, reader())
        assert (await chat.say(allow=("files.write",))).status == "waiting"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("*", "There are: think,"),
        ("", "There are: think,"),
        ("file.*", "Near it: files."),
        ("files.rea*", "Near it: files"),
        ("file_operation.create_file", "Near it: file_operations.create_file,"),
        ("file_operations.creat_file", "Near it: file_operations.create_file,"),
        ("file_operations.*_file", "Near it: file_operations."),
        ("think.twice", "Near it: think"),
        ("Terminal_Operations.run_command", "Near it: terminal_operations.run_command"),
    ],
)
async def test_permission_that_is_for_nothing_is_refused_before_the_run(home: Path, entry: str, said: str) -> None:
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, reader())
        with pytest.raises(PilothouseError, match=re.escape(f"nothing named “{entry}”")) as refused:
            await chat.say(allow=("files.*", entry))
        assert refused.value.code == "bad_request"
        assert said in (refused.value.fix or "")
        assert await chat.items() == []


@pytest.mark.parametrize(
    "entry",
    [
        "terminal_operations.run_command:/x/**",
        "terminal_operations.*:src/**",
        "build_and_version_control.run_task:/x/**",
    ],
)
async def test_a_path_for_a_command_is_refused_with_what_to_write(home: Path, entry: str) -> None:
    async with open_chat(home) as chat:
        with pytest.raises(PilothouseError, match=re.escape(f"“{entry}” cannot be allowed")) as refused:
            await chat.say(allow=(entry,))
        assert f"Allow {entry.partition(':')[0]}, for commands" in (refused.value.fix or "")
        assert await chat.items() == []


async def test_a_path_for_what_touches_files_is_taken(home: Path) -> None:
    async with open_chat(home) as chat:
        allow = ("terminal_operations.create_directory:/x/**", "file_operations.read_file:/x/**")
        assert (await chat.say(allow=allow)).status == "completed"


@pytest.mark.parametrize(
    "entry", ["think", "think.*", "file_operations", "file_operations.*", "terminal_operations.run_command"]
)
async def test_the_hosts_own_tools_can_be_allowed_where_they_are_not_offered(home: Path, entry: str) -> None:
    async with open_chat(home) as chat:
        assert (await chat.say(allow=(entry,))).status == "completed"


async def test_a_server_that_says_its_tool_touches_nothing_is_asked_about_all_the_same(home: Path) -> None:
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, reader(effects=frozenset()))
        assert (await chat.say()).status == "waiting"


async def test_a_call_cancelled_while_it_waits_for_approval_is_not_asked_about_any_more(home: Path) -> None:
    tool = reader()
    async with open_chat(home, [[a_call(n=1)], "Never mind."]) as chat:
        give_tools(chat.host, tool)
        run = await chat.say()
        [call] = await chat.items("tool_call")
        await chat.api.runs.cancel_call(ME, call.id)
        assert (await chat.settled(run.id)).status == "completed"
        [call], [question] = await chat.items("tool_call"), await chat.items("question")
        assert (call.status, question.status, tool.calls) == ("cancelled", "cancelled", [])
        assert call.raw["error"]["message"] == "Operation cancelled by user"


async def test_stopping_a_run_that_asks_ends_its_calls_and_questions(home: Path) -> None:
    async with open_chat(home, [[a_call(n=1), a_call(n=2)], "Done."]) as chat:
        give_tools(chat.host, reader())
        run = await chat.say()
        assert (await chat.api.runs.cancel(ME, run.id)).status == "cancelled"
        assert {item.status for item in await chat.items("tool_call", "question")} == {"cancelled"}


async def test_an_open_question_survives_a_restart(home: Path) -> None:
    tool = reader()
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        run, conversation = await chat.say(), chat.id
    async with open_chat(home, [[a_call(n=1)], "Done."]) as chat:
        give_tools(chat.host, tool)
        chat.id = conversation
        [question] = await open_questions(chat)
        assert await answer(chat, question, "allow") == "completed"
        assert [item.run_id for item in await chat.items("tool_call")] == [run.id]
        assert len(tool.calls) == 1


# --- answers that last ---------------------------------------------------------------------------


def create(path: str, content: str = "x\n") -> dict[str, Any]:
    return a_call("file_operations", operation="create_file", filePath=path, content=content)


def working_in(folder: Path) -> dict[str, Any]:
    return {"working_directory": str(folder)}


@pytest.mark.case("ATZ-15")
async def test_always_is_a_rule_that_other_conversations_know_too(home: Path, tmp_path: Path) -> None:
    turns = [[create("notes/a.md")], "Done."]
    async with open_chat(home, turns, settings=working_in(tmp_path)) as chat:
        await chat.say()
        [question] = await open_questions(chat)
        assert await answer(chat, question, "always") == "completed"
        [rule] = json.loads((home / "policy.json").read_text())["rules"]
        assert (rule["verdict"], rule["pattern"]["paths"]) == ("allow", ["**"])
    async with open_chat(
        home, [[create("b.md")], [create(str(tmp_path.parent / "b.md"))], "Done."], settings=working_in(tmp_path)
    ) as chat:
        assert (await chat.say()).status == "waiting"
        first, second = await chat.items("tool_call")
        assert first.raw["decision"]["authority"] == "rule"
        assert first.raw["decision"]["rule"] == rule["id"]
        assert second.raw["decision"]["verdict"] == "ask"


async def test_an_edited_pattern_counts_and_settles_no_other_question(home: Path, tmp_path: Path) -> None:
    turn = [create("notes/a.md"), create("notes/b.md")]
    async with open_chat(home, [turn, [create("notes/a.md")], "Done."], settings=working_in(tmp_path)) as chat:
        await chat.say()
        first, second = await open_questions(chat)
        assert first.raw["group"] == second.raw["group"]
        narrower = {"tool": "file_operations.create_file", "paths": ["notes/a.md"], "folder": str(tmp_path)}
        content = {"duration": "1h 30m", "pattern": narrower}
        await chat.api.questions.answer(ME, first.id, Answer(choice="conversation", content=content))
        assert [item.id for item in await open_questions(chat)] == [second.id]
        [grant] = await chat.host.executor._parts.records.grants(ME, chat.id)
        assert (grant.pattern.paths, lasts(grant)) == (("notes/a.md",), 5400)
        assert await answer(chat, second, "deny") == "completed"


@pytest.mark.case("ATZ-12")
@pytest.mark.parametrize(
    ("choice", "content", "sentence"),
    [
        ("conversation", {"duration": "soon"}, "is not a duration"),
        ("conversation", {"duration": "9d"}, "at most 24 hours"),
        ("conversation", {"until": 3}, "until"),
        ("conversation", {"pattern": {"tool": "x", "colour": "red"}}, "colour"),
        ("always", {"pattern": {"tool": "*foo"}}, "a tool is named like"),
        ("while", {"duration": "25h"}, "at most 24 hours"),
        ("task", {"duration": "5m"}, "so it has no duration"),
        ("allow", {"duration": "5m"}, "Only a lasting answer has content."),
        ("forever", None, "Choose one of: allow, task, while, conversation, always, deny."),
    ],
)
async def test_an_answer_that_cannot_be_kept_leaves_the_question_open(
    home: Path, tmp_path: Path, choice: str, content: Any, sentence: str
) -> None:
    async with open_chat(home, [[create("a.md")], "Done."], settings=working_in(tmp_path)) as chat:
        await chat.say()
        [question] = await open_questions(chat)
        with pytest.raises(PilothouseError, match=sentence) as refused:
            await chat.api.questions.answer(ME, question.id, Answer(choice=choice, content=content))
        assert refused.value.code == "bad_request"
        assert [item.id for item in await open_questions(chat)] == [question.id]
        assert await answer(chat, question, "allow") == "completed"


@pytest.mark.case("ATZ-06", "ATZ-07", "ATZ-08", "ATZ-09", "ATZ-13", "ATZ-14")
async def test_what_the_agent_asked_permission_for_succeeds_when_it_is_tried_again(home: Path, tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    asking = a_call(
        "user_collaboration", prompt="May I create files there?", authorize_operation="file_operations.create_file"
    )
    turns = [
        [create(str(outside / "a.md"))],
        [asking],
        [create(str(outside / "a.md"))],
        [create(str(outside / "b.md"))],
        [a_call("file_operations", operation="delete_file", filePath=str(outside / "a.md"))],
        "Done.",
    ]
    async with open_chat(home, turns, settings=working_in(project)) as chat:
        await chat.say()
        [question] = await open_questions(chat)
        assert question.raw["rule"] == "outside"
        assert await answer(chat, question, "deny", text="Ask me first.") == "waiting"
        denied = (await chat.items("tool_call"))[0]
        for part in ("Ask me first.", "file_operations.create_file", "user_collaboration", "May I do this"):
            assert part in denied.text
        [asked] = await open_questions(chat)
        assert (asked.raw["kind"], asked.raw["authorizes"]) == ("collaboration", "file_operations.create_file")
        # Words are no permission; a button is.
        with pytest.raises(PilothouseError, match="Choose one of: approve, decline"):
            await chat.api.questions.answer(ME, asked.id, Answer(text="Yes, go ahead!"))
        assert await answer(chat, asked, "approve", text="Go ahead.") == "waiting"
        assert ((outside / "a.md").exists(), (outside / "b.md").exists()) == (True, True)
        [grant] = await chat.host.executor._parts.records.grants(ME, chat.id)
        assert (grant.single_use, grant.uses, lasts(grant)) == (False, 2, 300)
        [left] = await open_questions(chat)
        assert left.raw["operation"] == "file_operations.delete_file"
        assert await answer(chat, left, "deny") == "completed"


@pytest.mark.case("ATZ-09")
async def test_a_declined_permission_permits_nothing(home: Path, tmp_path: Path) -> None:
    asking = a_call("user_collaboration", prompt="May I?", authorize_operation="file_operations.create_file")
    async with open_chat(home, [[asking], [create("a.md")], "Done."], settings=working_in(tmp_path)) as chat:
        await chat.say()
        [asked] = await open_questions(chat)
        assert await answer(chat, asked, "decline") == "waiting"
        assert await chat.host.executor._parts.records.grants(ME, chat.id) == []


# --- what the timeline tells ---------------------------------------------------------------------


@pytest.mark.case("LOG-01")
async def test_who_what_and_why_can_be_told_from_the_timeline_alone(home: Path, tmp_path: Path) -> None:
    async def breaks(arguments: dict[str, Any], context: CallContext) -> ToolOutput:
        raise RuntimeError("no such planet")

    turns = [
        [create("allowed.md")],
        [create("denied.md")],
        [create("granted.md")],
        [create("expired.md")],
        [a_call("breaks")],
        "Done.",
    ]
    async with open_chat(home, turns, settings=working_in(tmp_path)) as chat:
        add_tools(chat.host, ToolOf("breaks", breaks))
        run = await chat.say()
        records = chat.host.executor._parts.records
        for choice in ("allow", "deny", "conversation"):
            [question] = await open_questions(chat)
            if choice == "conversation":
                # It covers the next call, and is over before the one after that.
                content = {"pattern": {"tool": "*", "paths": ["granted.md"]}}
                await answer(chat, question, choice, content=content)
                [grant] = await records.grants(ME, chat.id)
                await records.revoke_grant(ME, grant.id)
            else:
                await answer(chat, question, choice, text="Not that." if choice == "deny" else None)
        [question] = await open_questions(chat)
        assert await answer(chat, question, "allow") == "completed"
        told = [
            (call.status, call.raw["decision"]["authority"], call.raw["decision"]["by"], call.raw["arguments"])
            for call in await chat.items("tool_call")
        ]
        assert [(status, authority, by) for status, authority, by, _ in told] == [
            ("completed", "person", ME),
            ("failed", "person", ME),
            ("completed", "person", ME),
            ("completed", "person", ME),
            ("failed", "harmless", ""),
        ]
        assert [given["filePath"] for *_, given in told[:4]] == [
            "allowed.md",
            "denied.md",
            "granted.md",
            "expired.md",
        ]
        for call in await chat.items("tool_call"):
            decision = call.raw["decision"]
            assert all(decision[name] for name in ("verdict", "rule", "why", "callHash", "at"))
            assert call.run_id == run.id
        answers = [item.raw["answer"] for item in await chat.items("question")]
        assert [(one["choice"], one["by"], one["at"] > 0) for one in answers] == [
            ("allow", ME, True),
            ("deny", ME, True),
            ("conversation", ME, True),
            ("allow", ME, True),
        ]


@pytest.mark.case("AUTHZ-11")
async def test_several_questions_are_answered_over_http_with_one_request(home: Path, tmp_path: Path) -> None:
    async with open_chat(home, [[create("a/1.md"), create("a/2.md")], "Done."], settings=working_in(tmp_path)) as chat:
        run = await chat.say()
        ids = [item.id for item in await open_questions(chat)]
        body = Answers(item_ids=(*ids, "i_unknown"), answer=Answer(choice="allow"))
        async with serve_host(chat.api, ServerOptions(home=home)):
            taken = (await RemoteHost(lambda: read_address(home)).questions.answer_many(ME, body)).answers
        await close_clients()
        assert [(one.item_id, one.taken) for one in taken] == [(ids[0], True), (ids[1], True), ("i_unknown", False)]
        assert taken[-1].message
        assert (await chat.settled(run.id)).status == "completed"
