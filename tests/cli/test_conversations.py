"""`pilothouse conversations` for programs."""

from __future__ import annotations

import asyncio
import json
from io import StringIO
from pathlib import Path

import msgspec
import pytest

from pilothouse.cli.conversations import _print_snippet
from pilothouse.cli.terminal import Terminal
from pilothouse.types.api import SearchHit
from tests.cli.conftest import Script
from tests.support.chats import open_chat
from tests.support.commands import Screen, pilothouse


@pytest.mark.slow
def test_conversations_are_listed_and_found_as_json(home: Path, script: Script) -> None:
    assert json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"] == []
    assert pilothouse(home, "run", "Why is the sky blue?", "--model", script("- ok")).code == 0
    (one,) = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    assert one["title"] == "Why is the sky blue?"
    found = pilothouse(home, "conversations", "search", "sky", "--json")
    assert found.code == 0
    assert {hit["conversationId"] for hit in json.loads(found.out)["hits"]} == {one["id"]}
    nothing = pilothouse(home, "conversations", "search", "sea", "--json")
    assert (nothing.code, json.loads(nothing.out)["hits"]) == (1, [])


def test_a_hit_that_only_means_about_the_same_says_so() -> None:
    hit = SearchHit(conversation_id="c", title="Ships", item_id="i", snippet="A vessel", ranges=(), at=0.0)
    out = StringIO()
    for similar in (False, True):
        _print_snippet(msgspec.structs.replace(hit, similar=similar), Terminal(out))
    assert out.getvalue() == "  A vessel\n  A vessel  (similar)\n"


@pytest.mark.slow
def test_what_is_shown_of_a_conversation_has_its_calls_and_how_each_ended(home: Path, script: Script) -> None:
    calls = "- [{call: think, arguments: {thoughts: Hm.}}, {call: think, arguments: {}}]\n- Done."
    assert pilothouse(home, "run", "Think.", "--model", script(calls)).code == 0
    (one,) = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    shown = pilothouse(home, "conversations", "show", one["id"]).lines
    first, second = [line for line in shown if line.startswith("·")]
    assert first.startswith("· Thinking: Hm. — Completed")
    assert second.startswith("· Thinking — Failed: Missing required parameter: thoughts")
    assert shown.index(first) < shown.index("Answer")


@pytest.mark.slow
def test_the_piece_of_an_answer_that_broke_off_is_marked_also_after_the_answer_went_on(
    home: Path, script: Script
) -> None:
    model = script("- [{text: 'Half of'}, {fault: cut}]")
    assert pilothouse(home, "run", "Tell me.", "--model", model).code == 1
    (one,) = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    Path(model.removeprefix("scripted:")).write_text("turns:\n  - All of it.\n", encoding="utf-8")
    assert pilothouse(home, "conversations", "resume", one["id"]).out == "All of it.\n"
    shown = [line for line in pilothouse(home, "conversations", "show", one["id"]).lines if line]
    assert shown[-5:] == ["Answer", "Half of", "The answer broke off here.", "Answer", "All of it."]


@pytest.mark.slow
async def test_a_message_that_was_kept_and_never_begun_is_told_of(home: Path) -> None:
    async with open_chat(home, ["Late."], at_rest=False) as chat:
        await chat.host.executor.drain(0)
        await chat.send("Hi")
    shown = await asyncio.to_thread(pilothouse, home, "conversations", "show", chat.id)
    assert "A message was kept, and its answer has not begun." in shown.err
    assert f"pilothouse conversations resume {chat.id}" in shown.err
    assert (await asyncio.to_thread(pilothouse, home, "conversations", "resume", chat.id)).out == "Late.\n"


@pytest.mark.slow
def test_an_answer_is_drawn_on_a_terminal_and_stays_as_it_was_written_elsewhere(home: Path, script: Script) -> None:
    model = script("- 'The **sky** is `blue`.'")
    with Screen(home, ["run", "Why?", "--model", model]) as screen:
        assert screen.ended() == 0
        assert "The \x1b[1msky\x1b[0m is \x1b[36mblue\x1b[0m." in screen.raw
    assert pilothouse(home, "run", "Why?", "--model", model).out == "The **sky** is `blue`.\n"
    one = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"][0]["id"]
    with Screen(home, ["conversations", "show", one]) as screen:
        assert screen.ended() == 0
        assert "The \x1b[1msky\x1b[0m is \x1b[36mblue\x1b[0m." in screen.raw
    assert "The **sky** is `blue`.\n" in pilothouse(home, "conversations", "show", one).out
