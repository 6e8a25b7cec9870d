"""What a provider's own tools have not finished when an answer pauses: it goes back whole, to where they run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pilothouse.models.answer import Answer
from pilothouse.models.factory import make_wire
from pilothouse.types.messages import Block, CallBlock, Message, ModelRequest, NativeBlock, ResultBlock, TextBlock
from pilothouse.types.stream import NativeDelta
from tests.models.asking import config_at

RUNS: dict[str, Any] = {"type": "server_tool_use", "id": "srv_1", "name": "code_execution", "input": {"code": "1"}}
GAVE: dict[str, Any] = {"type": "code_execution_tool_result", "tool_use_id": "srv_1", "content": {"stdout": "1"}}


def native(block: dict[str, Any]) -> NativeBlock:
    return NativeBlock(raw={"wire": "anthropic", "block": block})


def body(*messages: Message) -> Any:
    wire = make_wire(config_at("anthropic-compatible", "http://127.0.0.1:1"))
    return json.loads(wire.body(ModelRequest(messages=messages)))


def assistant(*blocks: Block) -> Message:
    return Message("assistant", blocks)


def user(*blocks: Block) -> Message:
    return Message("user", blocks)


ASKED = user(TextBlock(text="Run it."))
PLACE = native({"container": "container_1"})
PENDING = assistant(native(RUNS), CallBlock(id="toolu_1", name="think", arguments={}), PLACE)
RESULT = user(ResultBlock(id="toolu_1", name="think", text="ok"))


@pytest.mark.parametrize("where", ["message_start", "message_delta"])
def test_where_a_provider_runs_code_is_kept_with_the_answer(where: str) -> None:
    answer = Answer()
    reader = make_wire(config_at("anthropic-compatible", "http://127.0.0.1:1")).reader(answer)
    place = {"id": "container_1", "expires_at": "2026-01-01T00:00:00Z"}
    for kind, field, fields in (
        ("message_start", "message", {"usage": {"input_tokens": 1}}),
        ("message_delta", "delta", {"stop_reason": "pause_turn"}),
        ("message_stop", "message", {}),
    ):
        said = fields | ({"container": place} if kind == where else {})
        reader.feed(json.dumps({"type": kind, field: said}).encode())
    reader.finish()
    kept = [event.raw for event in answer.take() if isinstance(event, NativeDelta)]
    assert kept == [PLACE.raw]


@pytest.mark.parametrize("messages", [(ASKED, assistant(native(RUNS), PLACE)), (ASKED, PENDING, RESULT)])
def test_what_is_pending_goes_back_with_the_place_where_it_runs(messages: tuple[Message, ...]) -> None:
    sent = body(*messages)
    assert sent["container"] == "container_1"
    assert sent["messages"][1]["content"][0] == RUNS
    assert "container" not in json.dumps(sent["messages"])


def test_what_was_pending_when_the_person_spoke_again_is_left_out() -> None:
    sent = body(ASKED, PENDING, RESULT, user(TextBlock(text="Never mind.")))
    assert "container" not in sent
    assert [part["type"] for part in sent["messages"][1]["content"]] == ["tool_use"]


def test_a_result_that_came_in_a_later_answer_keeps_its_call() -> None:
    sent = body(ASKED, PENDING, RESULT, assistant(native(GAVE), TextBlock(text="1")), user(TextBlock(text="Thanks.")))
    assert sent["messages"][1]["content"][0] == RUNS
    assert sent["messages"][3]["content"][0] == GAVE
