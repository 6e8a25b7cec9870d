"""What a model was sent once stays as it was, byte for byte: a provider's cache of the beginning stays good."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import msgspec
import pytest

from pilothouse.types.api import ConversationPatch, ModelInput
from tests.support.chatting import ME, chatting
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.wire_writers import WIRES, Call, Say, Text, Thought, Wire

ROUNDS = 15
# Where each wire keeps the conversation; everything else of a body must not change at all.
TALK = ("messages", "contents", "input")
# Anthropic is told anew each time how far to cache; the marks are not part of what is cached.
MARKS = re.compile(rb',"cache_control":\{[^}]*\}')


def parts(body: bytes) -> dict[str, bytes]:
    """Return a body's fields as the bytes they were sent as."""
    fields = msgspec.json.decode(MARKS.sub(b"", body), type=dict[str, msgspec.Raw])
    return {name: bytes(raw) for name, raw in fields.items()}


def check_extends(before: bytes, after: bytes) -> None:
    """Fail unless the later body is the earlier one with more at the end of its conversation."""
    old, new = parts(before), parts(after)
    assert old.keys() == new.keys()
    for name, value in old.items():
        if name in TALK:
            assert value.endswith(b"]")
            assert new[name].startswith(value[:-1] + b","), f"{name} was rewritten"
        else:
            assert new[name] == value, f"{name} changed"


def replies(first: int) -> list[Reply]:
    """Return rounds of thinking aloud, speaking and calling, and an answer at their end."""
    made = [
        Say(
            (
                Thought([f"Thought {number}"]),
                Text([f"Round {number} 🚀."]),
                Call(f"call_think_{number}", "think", json.dumps({"thoughts": f"ünï {number}", "requested_tools": []})),
            ),
            stop="tool",
        )
        for number in range(first, first + ROUNDS)
    ]
    return [*(Reply(say) for say in made), Reply(Say((Text(["Done."]),)))]


async def requests_of(home: Path, wire: Wire) -> list[Received]:
    """Have two messages answered in fifteen rounds each, and return what the model was sent."""
    async with Endpoint() as endpoint, chatting(home, settings={"thinking": True}) as chat:
        fields = {"base_url": endpoint.url, "context_window": 1_000_000, "supports_thinking": True}
        await chat.use(ModelInput(name="m", id="m", provider=wire, model="m", **fields))  # type: ignore[arg-type]
        await chat.api.update_conversation(ME, chat.id, ConversationPatch(title="Named"))
        for number, text in enumerate(("First, with ünïcode 🚀", "Second")):
            endpoint.answer(*replies(number * ROUNDS))
            run = await chat.say(text)
            assert run.status == "completed", run.error
        return list(endpoint.requests)


@pytest.mark.parametrize("wire", WIRES)
async def test_each_request_extends_the_one_before_it_byte_for_byte(home: Path, wire: Wire) -> None:
    requests = await requests_of(home, wire)
    assert len(requests) == 2 * ROUNDS + 2
    for before, after in itertools.pairwise(requests):
        check_extends(before.body, after.body)
    assert parts(requests[-1].body).get("tools"), "the tools are part of what must not change"


@pytest.mark.parametrize(
    "rewrite",
    [
        {"system": "Be briefer.", "messages": [1, 2]},
        {"system": "Be brief.", "messages": [1, 3]},
        {"system": "Be brief.", "messages": [2, 1, 3]},
        {"messages": [1, 2], "system": "Be brief.", "tools": []},
        {"system": "Be brief.", "messages": [1.0, 2]},
    ],
)
def test_the_check_itself_notices_any_rewrite(rewrite: dict[str, object]) -> None:
    before = json.dumps({"system": "Be brief.", "messages": [1]}, separators=(",", ":")).encode()
    good = json.dumps({"system": "Be brief.", "messages": [1, 2]}, separators=(",", ":")).encode()
    check_extends(before, good)
    with pytest.raises(AssertionError):
        check_extends(good, json.dumps(rewrite, separators=(",", ":")).encode())
