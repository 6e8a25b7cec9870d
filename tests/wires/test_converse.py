"""Requests of Bedrock's Converse format, judged by what AWS's own SDK knows about that service."""

from __future__ import annotations

import json

import pytest

from pilothouse.models.factory import make_wire
from pilothouse.types.messages import (
    Block,
    CallBlock,
    ImageBlock,
    Media,
    Message,
    ModelRequest,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
    ToolSpec,
)
from pilothouse.types.models import ModelConfig
from tests.wires.judging import Judge
from tests.wires.replies import Json
from tests.wires.scenario import PICTURE, THOUGHT

THINK = ToolSpec("think", "Thinks.", {"type": "object", "properties": {"thoughts": {"type": "string"}}})
PROOF = {"wire": "bedrock-converse", "thinking": "Hmm.", "signature": "cHJvb2Y="}
SHOT = Media(item_id="i", index=0, media_type="image/png", size=70, data=PICTURE)
SEEN = ImageBlock(media_type="image/png", item_id="i", index=0, size=70, data=PICTURE)


def talk(*answer: Block) -> tuple[Message, ...]:
    """A person with a picture, an answer with a call, and its result with a picture."""
    return (
        Message("user", (SEEN, TextBlock(text="Look."))),
        Message("assistant", (*answer, CallBlock(id="call|1", name="think", arguments=THOUGHT))),
        Message("user", (ResultBlock(id="call|1", name="think", text="Noted.", media=(SHOT,)),)),
    )


REQUESTS = {
    "plain": ModelRequest(messages=(Message("user", (TextBlock(text="Hi"),)),)),
    "with-all-settings": ModelRequest(
        messages=(Message("user", (TextBlock(text="Hi"),)),),
        system="Be brief.",
        tools=(THINK,),
        max_tokens=9,
        temperature=0.5,
        thinking=True,
        answer_schema={"type": "object"},
    ),
    "with-a-call-and-pictures": ModelRequest(
        messages=talk(ThinkingBlock(text="Hmm.", opaque=PROOF), TextBlock(text="Looking.")), tools=(THINK,)
    ),
    "with-another-providers-thinking": ModelRequest(
        messages=talk(ThinkingBlock(text="Hmm.", opaque={"wire": "anthropic", "signature": "x"}))
    ),
}


def written(request: ModelRequest, model: str) -> Json:
    config = ModelConfig(name="B", provider="bedrock-converse", base_url="http://127.0.0.1:9", model=model)
    body: Json = json.loads(make_wire(config).body(request))
    return body


@pytest.mark.parametrize("model", ["us.amazon.nova-pro-v1:0", "meta.llama3-3-70b-instruct-v1:0"])
@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_one_that_aws_describes(name: str, model: str, judge: Judge) -> None:
    assert judge.requests("converse", [written(REQUESTS[name], model)]) == []


def test_one_that_it_does_not_describe_is_told(judge: Judge) -> None:
    body = written(REQUESTS["plain"], "m")
    assert "colour" in " ".join(judge.requests("converse", [{**body, "colour": "blue"}]))
    assert "role" in " ".join(judge.requests("converse", [{"messages": [{"content": []}]}]))
