"""What is kept and logged of calls: every step with its ids, the result within its bounds, nothing that is secret."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from pilothouse.types import limits
from pilothouse.types.api import Answer
from pilothouse.types.items import ItemKind
from pilothouse.types.servers import ConsentGiven, ServerInput
from pilothouse.wiring import open_host
from tests.support.chats import ME, Chat, open_chat
from tests.support.mcp_servers import SCRIPTED
from tests.support.tools import ToolOf, give_tools
from tests.support.waiting import eventually

PRIVATE = "what-only-the-two-of-us-know"


def calling(tool: str, **arguments: Any) -> list[Any]:
    return [[{"call": tool, "arguments": arguments}], "Done."]


async def add_server(chat: Chat) -> None:
    view = await chat.api.servers.add(ME, ServerInput(name="Far", command=sys.executable, args=(str(SCRIPTED),)))
    assert view.consent is not None
    await chat.api.servers.consent(ME, view.id, ConsentGiven(fingerprint=view.consent.fingerprint))
    assert (await chat.api.servers.test(ME, view.id)).ok


def logged(home: Path) -> list[dict[str, Any]]:
    text = (home / "logs" / "pilothouse.log").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def steps(home: Path) -> list[dict[str, Any]]:
    return [record["facts"] for record in logged(home) if record["logger"] == "pilothouse.agent.call_log"]


@pytest.mark.case("OBS-06")
async def test_each_step_of_a_call_is_one_record_with_its_ids_and_without_what_was_said(home: Path) -> None:
    async with open_chat(home, calling("far__echo", text=PRIVATE)) as chat:
        await add_server(chat)
        run = await chat.say(allow=("far.*",))
        (call,) = await chat.items("tool_call")
    told = steps(home)
    assert [facts["step"] for facts in told] == ["requested", "executing", "ended"]
    for facts in told:
        assert (facts["conversation"], facts["run"], facts["call"]) == (chat.id, run.id, call.id)
        assert (facts["tool"], facts["server"]) == ("far__echo", "Far")
    assert (told[-1]["status"], told[-1]["code"]) == ("completed", "")
    assert told[-1]["elapsedMs"] >= 0
    assert PRIVATE not in (home / "logs" / "pilothouse.log").read_text(encoding="utf-8")


@pytest.mark.case("OBS-06")
@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [("far__fail", {"message": PRIVATE}, "TOOL_ERROR"), ("far__nothing\n{}", {}, "TOOL_NOT_FOUND")],
)
async def test_a_call_that_fails_is_told_with_its_code(home: Path, tool: str, arguments: Any, code: str) -> None:
    async with open_chat(home, calling(tool, **arguments)) as chat:
        await add_server(chat)
        await chat.say(allow=("far.*",))
    assert (steps(home)[-1]["status"], steps(home)[-1]["code"]) == ("failed", code)
    assert PRIVATE not in (home / "logs" / "pilothouse.log").read_text(encoding="utf-8")


@pytest.mark.case("OBS-06")
async def test_a_call_that_waited_for_approval_is_requested_once(home: Path) -> None:
    async with open_chat(home, calling("far__echo", text="x")) as chat:
        await add_server(chat)
        run = await chat.say()
        (question,) = await chat.items("question")
        await chat.api.questions.answer(ME, question.id, Answer(choice="allow"))
        assert (await chat.settled(run.id)).status == "completed"
    assert [facts["step"] for facts in steps(home)] == ["requested", "waiting", "executing", "ended"]


@pytest.mark.case("OBS-06")
async def test_a_call_that_takes_its_time_is_in_the_log_before_it_ends(home: Path) -> None:
    turns = calling("far__sleep", seconds=60)
    async with open_chat(home, turns) as chat:
        await add_server(chat)
        sent = await chat.send(allow=("far.*",))

        async def begun() -> bool | None:
            return [facts["step"] for facts in steps(home)] == ["requested", "executing"] or None

        await eventually(begun, "the call to be logged")
        await chat.api.runs.cancel(ME, sent.run_id)
        await chat.settled(sent.run_id)


@pytest.mark.case("OBS-09", "OBS-10")
@pytest.mark.parametrize("wanted", ["", "1"])
async def test_every_message_is_logged_only_where_someone_asked_for_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    monkeypatch.setenv("PILOTHOUSE_DEBUG", wanted)
    async with open_chat(home, calling("far__echo", text=PRIVATE)) as chat:
        await add_server(chat)
        await chat.say(allow=("far.*",))
    verbose = [record["message"] for record in logged(home) if record["level"] == "debug"]
    asked = [
        found[1] for message in verbose if (found := re.fullmatch(r"Far out tools/call (\d+), \d+ bytes", message))
    ]
    assert len(asked) == bool(wanted)
    assert all(any(message.startswith(f"Far in  {number}, ") for message in verbose) for number in asked)
    assert bool(verbose) == bool(wanted)
    assert PRIVATE not in (home / "logs" / "pilothouse.log").read_text(encoding="utf-8")


@pytest.mark.case("OBS-01")
async def test_a_call_is_one_item_that_holds_its_result(home: Path) -> None:
    async with open_chat(home, calling("look")) as chat:
        give_tools(chat.host, ToolOf("look"))
        await chat.say()
        assert {item.kind for item in await chat.items()} == {"user_message", "response", "tool_call"}
        (call,) = await chat.items("tool_call")
        assert call.text == "echo {}"
    assert {"tool_call", "tool_summary"} <= set(get_args(ItemKind))
    assert not [kind for kind in get_args(ItemKind) if "result" in kind]


@pytest.mark.case("OBS-02")
async def test_a_call_of_a_server_is_on_record_after_a_restart_with_its_result_within_bounds(home: Path) -> None:
    async with open_chat(home, calling("far__big", bytes=1_000_000)) as chat:
        await add_server(chat)
        await chat.say(allow=("far.*",))
    async with open_host(home) as host:
        items = (await host.api.conversations.get(ME, chat.id, limit=100)).items
        (call,) = [item for item in items if item.kind == "tool_call"]
        assert (call.raw["server"], call.raw["serverTool"]) == ("Far", "far.big")
        assert call.raw["arguments"] == {"bytes": 1_000_000}
        assert list(call.raw["phases"])[-2:] == ["executing", "completed"]
        assert call.raw["elapsedMs"] > 0
        assert limits.RESULT_EXCERPT_CHARS < len(call.text) < limits.RESULT_EXCERPT_CHARS + 200
        assert (await host.api.runs.result(ME, call.id)).parts[0].text == "x" * 1_000_000
