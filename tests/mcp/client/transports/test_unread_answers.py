"""A server as a process that reads nothing: what waits for it is bounded, and so is the work of waiting."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from pilothouse.mcp.client.channel import ChannelError, Outgoing
from pilothouse.mcp.client.jsonrpc import Handlers, JsonRpc
from pilothouse.mcp.client.transports.stdio import Launch, Stdio
from pilothouse.types.json import JsonObject
from tests.mcp.client.scripted_sessions import unsent
from tests.support.waiting import PATIENCE


@pytest.mark.case("F-11", "PROTO-02")
@pytest.mark.slow
async def test_a_server_that_sends_pings_and_reads_nothing_is_stopped() -> None:
    ping = '{"jsonrpc":"2.0","id":"%s","method":"ping"}' % ("p" * 400)
    floods = f"import sys, time; [print({ping!r}) for _ in range(40_000)]; sys.stdout.flush(); time.sleep(600)"
    channel = Stdio(Launch(argv=[sys.executable, "-c", floods]))
    handlers = Handlers(lambda *_: None, lambda *_: _empty(), lambda *_: None)
    rpc = JsonRpc(channel, handlers)
    try:
        await rpc.open()
        error = await asyncio.wait_for(asyncio.shield(rpc.closed), PATIENCE)
        assert error is not None
        assert error.message == "The server does not read the answers to its own requests; it was stopped."
    finally:
        await rpc.close()


@pytest.mark.case("PROTO-02")
@pytest.mark.slow
async def test_a_server_that_sends_a_burst_of_pings_and_then_reads_is_answered() -> None:
    batch = json.dumps([{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(400)])
    reads = "sys.exit(sum(1 for _ in zip(range(800), sys.stdin)) - 700)"
    bursts = f"import sys; print({batch!r}); print({batch!r}, flush=True); {reads}"
    channel = Stdio(Launch(argv=[sys.executable, "-c", bursts]))
    rpc = JsonRpc(channel, Handlers(lambda *_: None, lambda *_: _empty(), lambda *_: None))
    try:
        await rpc.open()
        error = await asyncio.wait_for(asyncio.shield(rpc.closed), PATIENCE)
        assert error is not None
        assert error.message == "The server ended with exit code 100."
    finally:
        await rpc.close()


async def _empty() -> JsonObject:
    return {}


@pytest.mark.case("F-11")
@pytest.mark.slow
async def test_only_one_message_waits_in_the_pipe_of_a_server_that_reads_nothing() -> None:
    channel = Stdio(Launch(argv=[sys.executable, "-c", "import time; time.sleep(600)"]))
    await channel.open(lambda _: None)
    large = Outgoing(body=b"x" * 1024 * 1024)
    try:
        sending = [asyncio.create_task(channel.send(large)) for _ in range(1_000)]
        await asyncio.sleep(0)
        assert 0 < unsent(channel) <= len(large.body) + 1
        await channel.close()
        outcomes = await asyncio.gather(*sending, return_exceptions=True)
        assert sum(isinstance(outcome, ChannelError) for outcome in outcomes) >= len(sending) - 1
    finally:
        await channel.close()
