"""Answers of models that were made to hold us up, on every wire: whatever comes, everyone else has their turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilothouse.types.api import ModelInput
from pilothouse.types.models import ToolCalls
from tests.support.chats import Chat, open_chat, wait_for_runs
from tests.support.lag import HELD, least_hold
from tests.support.sampling import first_and_some, some_of
from tests.support.tiny_http import Answer, Request, TinyHttp
from tests.support.wire_writers import WIRES, Call, Part, Say, Text, Thought, Wire, frames

MB = 1024 * 1024
STOPPED = ("completed", "failed", "waiting", "cancelled")


def call(arguments: str) -> Call:
    return Call("c1", "think", arguments)


# What a model says, in the pieces in which it comes.
PARTS: dict[str, tuple[Part, ...]] = {
    "many pieces": (Text(["x"] * 10_000),),
    "one piece": (Text(["lorem ipsum " * (4 * MB // 12)]),),
    "one piece of line ends": (Text(["\n" * (2 * MB)]),),
    "thinking in one piece": (Thought(["lorem ipsum " * (4 * MB // 12)]),),
    "arguments in many pieces": (call('{"thoughts": "' + "x" * 150_000 + '"}'),),
    "arguments that are too long": (call('{"thoughts": "' + "x" * 1_200_000 + '"}'),),
    "nested arguments": (call('{"thoughts": ' + "[" * 900 + "]" * 900 + "}"),),
    "arguments nested far deeper": (call('{"thoughts": ' + "[" * 20_000),),
    "arguments of many lists": (call('{"thoughts": [' + "[]," * 160_000 + "[]]}"),),
    "arguments of many members": (call("{" + ",".join(f'"{n}":{n}' for n in range(30_000)) + "}"),),
    "a number in the arguments": (call('{"thoughts": ' + "9" * 100_000 + "}"),),
    "many calls": tuple(Call(f"c{n}", "think", '{"thoughts": "x"}') for n in range(300)),
}
HALF = ("arguments nested far deeper", "a number in the arguments")
# What stands in the stream of any wire.
NOISE = {"blank lines": b"\n" * 400_000, "comments": b":\n" * 200_000, "events of nothing": b"data: {}\n\n" * 40_000}
# What a model without tools of its own writes.
WRITTEN = {
    "half-opened calls": ["TOOL_CALL: {"] * 5_000,
    "half-opened calls in one piece": ['TOOL_CALL: {"name": "think", "arguments": {' * 20_000],
    "objects that may be calls": ['\n{"name": "'] * 5_000,
    "braces in a long text": ['TOOL_CALL: {"name": "think", "arguments": {"thoughts": "', *["}"] * 20_000, '"}}'],
    "fences": ["\n```\n" * 100_000],
    "blanks": [" " * MB, "\n", " " * MB],
    "a nested call": ['TOOL_CALL: {"name": "think", "arguments": {"thoughts": ' + "[" * 900 + "]" * 900 + "}}"],
    "angle brackets": ["<tool_call" * 100_000],
}


class Saying:
    """An endpoint that gives one answer, made before it is asked for, and then only ends."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.body = b""

    def __call__(self, request: Request) -> Answer:
        body, self.body = self.body, b"".join(frames(self.wire, Say((Text(["Done."]),))))
        kind = "application/x-ndjson" if self.wire == "ollama" else "text/event-stream"
        return Answer(200, body, {"Content-Type": kind})


@asynccontextmanager
async def talking(home: Path, wire: Wire, calls: ToolCalls = "auto") -> AsyncIterator[tuple[Chat, Saying]]:
    """Open a conversation with a model behind a wire."""
    saying = Saying(wire)
    async with TinyHttp(saying) as http, open_chat(home) as chat:
        model = ModelInput(name="Far", provider=wire, model="m", base_url=http.url, api_key="k" * 20, tool_calls=calls)
        await chat.use(model)
        yield chat, saying


async def held_by(chat: Chat, saying: Saying, body: bytes) -> tuple[float, str]:
    """Return how long everyone was held up by an answer, and how its run ended."""
    ended: list[str] = []

    async def say() -> None:
        saying.body = body
        async with asyncio.timeout(60):
            ended.append((await chat.say()).status)
        await wait_for_runs(chat)

    return round(await least_hold(say), 3), ended[0]


@pytest.mark.slow
@pytest.mark.case("NET-08")
@pytest.mark.parametrize("wire", first_and_some(WIRES))
async def test_whatever_a_model_answers_holds_nobody_up(home: Path, wire: Wire) -> None:
    wrong: dict[str, object] = {}
    async with talking(home, wire) as (chat, saying):
        whole = b"".join(frames(wire, Say((Text(["Hello."]),))))
        # Two wires carry the arguments as an object, which half an object is not.
        told = {kind: parts for kind, parts in PARTS.items() if wire not in ("ollama", "gemini") or kind not in HALF}
        bodies = {kind: b"".join(frames(wire, Say(parts))) for kind, parts in told.items()}
        bodies |= {kind: noise + whole for kind, noise in NOISE.items()}
        for kind, body in some_of(
            bodies, f"answers of {wire}", ("many pieces", "arguments of many lists"), 0.3
        ).items():
            held, ended = await held_by(chat, saying, body)
            if held >= HELD or ended not in STOPPED:
                wrong[kind] = (held, ended)
    assert not wrong, repr(wrong)


@pytest.mark.case("NET-08")
async def test_whatever_a_model_writes_for_calls_holds_nobody_up(home: Path) -> None:
    wrong: dict[str, object] = {}
    async with talking(home, "openai-compatible", "text") as (chat, saying):
        for kind, pieces in some_of(WRITTEN, "written calls", ("half-opened calls",), 0.3).items():
            held, ended = await held_by(chat, saying, b"".join(frames("openai-compatible", Say((Text(pieces),)))))
            if held >= HELD or ended not in STOPPED:
                wrong[kind] = (held, ended)
    assert not wrong, repr(wrong)
