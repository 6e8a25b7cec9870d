"""Messages of many megabytes: the same as small ones, and nobody else waits for them."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse.mcp.client.channel import Garbage, Message
from pilothouse.mcp.client.content import checked_output
from pilothouse.mcp.client.large_messages import read_large
from pilothouse.mcp.client.session import BadAnswer
from pilothouse.mcp.client.transports.arrivals import arrivals_in_steps
from pilothouse.types import limits
from tests.mcp.client.scripted_sessions import open_session, text_of

MB = 1_000_000


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything beyond a few bytes is large."""
    monkeypatch.setattr(limits, "LARGE_MESSAGE_BYTES", 100)
    monkeypatch.setattr(limits, "LARGE_PIECE_BYTES", 7)


def answer(result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 5, "result": result}, ensure_ascii=False).encode()


@pytest.mark.case("F-07")
@settings(max_examples=300)
@given(st.text())
@pytest.mark.slow
def test_a_long_text_read_in_pieces_is_the_text(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "LARGE_PIECE_BYTES", 7)
        for ascii_only in (True, False):
            block = {"content": [{"type": "text", "text": text}]}
            line = json.dumps({"id": 5, "result": block}, ensure_ascii=ascii_only).encode()
            (message,) = asyncio.run(read_large(line))
            assert message.value == {"id": 5, "result": block}


@pytest.mark.case("TRN-10")
async def test_everything_the_protocol_names_is_kept(small_pieces: None) -> None:
    resource_block = {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": "x" * 50}}
    picture = {"type": "image", "data": "QUJD" * 20, "mimeType": "image/png"}
    result = {"content": [{"type": "text", "text": "t" * 30}, picture, resource_block], "isError": True}
    (message,) = await read_large(answer(result))
    assert message.value == {"id": 5, "result": result}
    batch = b"[" + answer(result) + b"," + answer({"tools": [{"name": "n" * 20}]}) + b"]"
    first, second = await read_large(batch)
    assert (first.value["result"], second.value["result"]["tools"][0]["name"]) == (result, "n" * 20)


@pytest.mark.case("TOOL-10")
async def test_large_data_is_shown_but_not_unfolded(small_pieces: None) -> None:
    rows = {"rows": [{"a": number} for number in range(10)]}
    (message,) = await read_large(answer({"content": [], "structuredContent": rows}))
    assert isinstance(message.value["result"]["structuredContent"], msgspec.Raw)
    (part,) = (await checked_output(message.value["result"], {"type": "object"})).parts
    assert json.loads(part.text) == rows


@pytest.mark.case("TRN-27")
async def test_over_the_network_a_large_message_may_be_wrapped_and_without_an_id(small_pieces: None) -> None:
    result = {"content": [{"type": "text", "text": "x" * 200}]}
    plain, wrapped = json.dumps({"result": result}), json.dumps({"event": "message", "data": {"result": result}})
    for text in (plain, wrapped, json.dumps(plain), f"  [{plain}]\n"):
        (message,) = await arrivals_in_steps(text.encode(), answering=7)
        assert isinstance(message, Message)
        assert (message.value["id"], message.value["result"]) == (7, result)
    (broken,) = await arrivals_in_steps(plain[:-5].encode(), answering=7)
    assert isinstance(broken, Garbage)
    assert broken.id == 7


@asynccontextmanager
async def watching() -> AsyncIterator[list[float]]:
    """Measure the longest time that the loop worked at one thing, in its own time: other programs do not count."""
    longest = [0.0]

    async def watch() -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            longest[0], last = max(longest[0], now - last), now

    watcher = asyncio.create_task(watch())
    try:
        yield longest
    finally:
        watcher.cancel()
        await asyncio.wait([watcher])


@pytest.mark.case("F-07")
@pytest.mark.slow
async def test_a_result_of_50_megabytes_holds_nobody_up() -> None:
    async with open_session() as talked, watching() as longest:
        assert len(text_of(await talked.session.call_tool("big", {"bytes": 50 * MB}))) == 50 * MB
        assert longest[0] < 0.2


@pytest.mark.case("F-07", "F-50")
async def test_a_line_made_to_fill_the_memory_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for count in (4 * MB, 8 * MB):
        bomb = b'{"jsonrpc":"2.0","id":5,"result":{"content":[' + b"{}," * count + b"{}]}}"
        if len(bomb) > limits.HUGE_MESSAGE_BYTES:
            with pytest.raises(msgspec.DecodeError, match="too many pieces"):
                await read_large(bomb)
        else:
            (message,) = await read_large(bomb)
            assert len(message.value["result"]["content"]) == limits.LARGE_MESSAGE_BLOCKS
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 2 * limits.STDIO_LINE_BYTES


@pytest.mark.case("F-08")
async def test_a_long_answer_that_breaks_off_fails_its_call_at_once() -> None:
    async with open_session() as talked, asyncio.timeout(10):
        line = '{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"' + "x" * 2 * MB
        with pytest.raises(BadAnswer):
            await talked.session.call_tool("raw", {"line": line})
        assert await talked.say() == "hi"


async def test_what_follows_a_long_answer_waits_for_it_and_is_not_lost() -> None:
    async with open_session() as talked:
        big = asyncio.ensure_future(talked.session.call_tool("big", {"bytes": 10 * MB}))
        answers = await asyncio.gather(*(talked.say(f"call {number}") for number in range(8)))
        assert answers == [f"call {number}" for number in range(8)]
        assert len(text_of(await big)) == 10 * MB
