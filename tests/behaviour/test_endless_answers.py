"""A model that never stops is stopped at a bound; what came is kept, why it ended is told, and the chat goes on."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types import limits
from pilothouse.types.api import ModelInput
from tests.support.chats import Chat, open_chat
from tests.support.raw_server import Peer, RawServer

LONGEST = 200_000
LINE = "and so on "
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


@pytest.fixture
def bounded_home(home: Path) -> Path:
    """Return a data folder in which answers may be shorter than usual."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    (home / "config.json").write_text(json.dumps({"version": "1.0", "longest_answer": LONGEST}))
    return home


def _event(delta: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}).encode() + b"\n\n"


def _call(function: dict[str, Any]) -> bytes:
    return _event({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}]})


def _endless(kind: str) -> Iterator[bytes]:
    if kind == "text":
        return itertools.repeat(_event({"content": LINE * 100}))
    if kind == "thinking":
        return itertools.repeat(_event({"reasoning_content": LINE * 100}))
    if kind == "arguments":
        first = _call({"name": "think", "arguments": '{"thoughts": "'})
        return itertools.chain([first], itertools.repeat(_call({"arguments": LINE * 100})))
    return itertools.chain([b'data: {"choices": [{"index": 0, "delta": {"content": "'], itertools.repeat(b"x" * 65_536))


class Model:
    """Says something for ever, and after that a word."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.cut_off = 0

    async def talk(self, peer: Peer) -> None:
        asked = await peer.request()
        await peer.send(HEAD)
        if b"Enough" in asked:
            await peer.send(
                _event({"content": "Good."}) + b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n'
            )
            return
        try:
            for piece in _endless(self.kind):
                await peer.send(piece)
        except ConnectionError:
            self.cut_off += 1


async def _use(chat: Chat, url: str) -> None:
    await chat.use(ModelInput(name="Endless", provider="openai-compatible", model="m", base_url=f"{url}/v1"))


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("text", "its answer was ended at 200,000 characters. What came is kept."),
        ("thinking", "its answer was ended at 200,000 characters. What came is kept."),
        ("arguments", "its answer was ended at 100,000 bytes of them."),
        ("line", "it sent a line of more than 16384 KB"),
    ],
)
async def test_an_endless_answer_ends_at_a_bound_that_is_told(
    bounded_home: Path, monkeypatch: pytest.MonkeyPatch, kind: str, told: str
) -> None:
    monkeypatch.setattr(limits, "ARGUMENT_BYTES_MOST", 100_000)
    model = Model(kind)
    async with open_chat(bounded_home) as chat, RawServer(model.talk) as server:
        await _use(chat, server.url)
        run = await chat.say("Begin.")
        assert run.error is not None
        assert (run.status, told in run.error.message) == ("failed", True), run.error
        kept = "".join(await chat.texts("response", "thinking"))
        assert len(kept) <= LONGEST
        if kind in ("text", "thinking"):
            assert len(kept) > LONGEST / 2
        [*ended] = await chat.items("response", "thinking", "tool_call")
        assert all(item.status == "failed" and item.raw["cutOff"] for item in ended)
        assert model.cut_off >= 1, "the model is hung up on"
        assert (await chat.say("Enough.")).status == "completed"
        assert (await chat.texts("response"))[-1] == "Good."


async def test_a_long_answer_that_ends_is_whole(home: Path) -> None:
    text = LINE * 300_000
    async with open_chat(home, [[{"text": text, "pieces": 60_000}]]) as chat:
        assert (await chat.say("All of it.")).status == "completed"
        assert await chat.texts("response") == [text]
