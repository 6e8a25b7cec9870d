"""What a model was sent once stays as it was, byte for byte: a provider's cache of the beginning stays good."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from pilothouse.types.api import ConversationPatch, ModelInput
from tests.support.chats import ME, open_chat
from tests.support.request_prefix import check_extends, parts
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.wire_writers import WIRES, Call, Say, Text, Thought, Wire

ROUNDS = 15


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
    async with Endpoint() as endpoint, open_chat(home, settings={"thinking": True}) as chat:
        fields = {"base_url": endpoint.url, "context_window": 1_000_000, "supports_thinking": True}
        await chat.use(ModelInput(name="m", id="m", provider=wire, model="m", **fields))  # type: ignore[arg-type]
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        for number, text in enumerate(("First, with ünïcode 🚀", "Second")):
            endpoint.answer(*replies(number * ROUNDS))
            run = await chat.say(text)
            assert run.status == "completed", run.error
        return list(endpoint.requests)


@pytest.mark.case("NAM-14")
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
