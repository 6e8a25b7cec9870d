"""What waits to be told to a server: its bound, and what becomes of it when the connection or the program ends."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import warnings
from collections.abc import Callable
from typing import Any, cast

import pytest

from pilothouse.mcp.client.channel import ChannelError, Deliver, Message, Outgoing, RequestId
from pilothouse.mcp.client.jsonrpc import Handlers, JsonRpc
from pilothouse.mcp.client.session import Session, SessionOptions
from pilothouse.types import limits
from pilothouse.types.json import JsonObject


class Silent:
    """A connection on which nothing comes back."""

    deliver: Deliver

    def __init__(self) -> None:
        self.closed: asyncio.Future[ChannelError | None] = asyncio.get_running_loop().create_future()
        self.sent: list[str] = []
        # Cleared while the server reads nothing.
        self.reads = asyncio.Event()
        self.reads.set()

    async def open(self, deliver: Deliver) -> None:
        self.deliver = deliver

    async def send(self, message: Outgoing) -> None:
        await self.reads.wait()
        self.sent.append(message.method)

    def abandon(self, request_id: RequestId) -> None: ...

    def fail(self, error: ChannelError) -> None:
        self.closed.set_result(error)

    async def close(self) -> None:
        self.closed.cancel()


async def test_what_was_not_begun_when_everything_ends_is_left_without_a_warning() -> None:
    channel = Silent()
    rpc = JsonRpc(channel, cast("Any", None))
    rpc.give_up(await rpc.begin("tools/call", {}))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)
        gc.collect()
    assert not seen
    assert channel.sent == ["tools/call"]


async def test_a_server_hears_of_what_nobody_waits_for_before_its_connection_ends() -> None:
    channel = Silent()
    rpc = JsonRpc(channel, cast("Any", None))
    rpc.give_up(await rpc.begin("tools/call", {}))
    await rpc.close()
    assert channel.sent == ["tools/call", "notifications/cancelled"]


@pytest.mark.case("F-16")
async def test_a_connection_is_closed_also_when_whoever_closes_it_is_cancelled() -> None:
    channel = Silent()
    rpc = JsonRpc(channel, cast("Any", None))
    call = await rpc.begin("tools/call", {})
    channel.reads.clear()
    # What is to be told to the server waits until it reads.
    rpc.give_up(call)
    closing = asyncio.create_task(rpc.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    assert closing.cancelled()
    assert channel.closed.cancelled()


async def test_a_session_is_closed_also_when_whoever_closes_it_is_cancelled() -> None:
    channel = Silent()
    session = Session(channel, SessionOptions(client_version="1"))
    held = asyncio.Event()

    async def stubborn() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await held.wait()

    session._listening = asyncio.create_task(stubborn())
    await asyncio.sleep(0)
    closing = asyncio.create_task(session.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.wait([closing])
    assert channel.closed.cancelled()
    held.set()


async def _pong() -> JsonObject:
    return {}


async def open_rpc(channel: Silent) -> tuple[JsonRpc, Callable[[str], None]]:
    """Return an open connection, and what delivers a ping with this id."""
    rpc = JsonRpc(channel, Handlers(lambda *_: None, lambda *_: _pong(), lambda *_: None))
    await rpc.open()
    return rpc, lambda number: channel.deliver(Message({"jsonrpc": "2.0", "id": number, "method": "ping"}, len(number)))


LARGE = "p" * (limits.SERVER_ANSWERS_BYTES // 5)


@pytest.mark.case("PROTO-02", "F-11")
@pytest.mark.parametrize(("number", "most"), [("p", limits.SERVER_ANSWERS), (LARGE, 4)], ids=["many", "large"])
async def test_a_server_that_leaves_answers_unread_is_stopped_and_says_so(number: str, most: int) -> None:
    channel = Silent()
    channel.reads.clear()
    rpc, ping = await open_rpc(channel)
    for _ in range(most):
        ping(number)
    await turns()
    assert not rpc.closed.done()
    waiting = len(asyncio.all_tasks())
    for _ in range(10):
        ping(number)
    await turns()
    error = rpc.closed.result()
    assert error is not None
    assert error.message == "The server does not read the answers to its own requests; it was stopped."
    assert len(asyncio.all_tasks()) == waiting
    channel.reads.set()
    await rpc.close()


@pytest.mark.case("PROTO-02")
@pytest.mark.parametrize("at_once", [1, 4 * limits.SERVER_ANSWERS])
async def test_a_server_that_reads_its_answers_may_ask_as_often_as_it_likes(at_once: int) -> None:
    channel = Silent()
    rpc, ping = await open_rpc(channel)
    for _ in range(4 * limits.SERVER_ANSWERS // at_once):
        for _ in range(at_once):
            ping("p")
        await turns()
    assert not rpc.closed.done()
    assert len(channel.sent) == 4 * limits.SERVER_ANSWERS
    await rpc.close()


@pytest.mark.case("PROTO-02")
async def test_questions_that_wait_for_the_person_are_no_unread_answers() -> None:
    channel = Silent()
    asked: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
    rpc = JsonRpc(channel, Handlers(lambda *_: None, lambda *_: asyncio.shield(asked), lambda *_: None))
    await rpc.open()
    for number in range(2):
        question = {"jsonrpc": "2.0", "id": number, "method": "elicitation/create"}
        channel.deliver(Message(question, limits.SERVER_ANSWERS_BYTES))
    await turns()
    assert not rpc.closed.done()
    asked.set_result({"action": "accept"})
    await rpc.close()
    assert len(channel.sent) == 2


async def turns() -> None:
    """Let everything that can go on do so."""
    for _ in range(5):
        await asyncio.sleep(0)
