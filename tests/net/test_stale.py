"""Spare connections that end just when they are used: asked again once, on a new one, only where that is harmless."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from pilothouse.models.factory import make_model
from pilothouse.net.client import fetch, send, send_repeatable
from pilothouse.net.errors import NetError
from pilothouse.net.loop_clients import close_clients
from pilothouse.net.reply import Reply
from pilothouse.types.stream import Stopped
from tests.models.asking import answer_of, config_at, said, text_of
from tests.net.answers import OK, whole
from tests.support.raw_server import Peer, RawServer, answer_each

HELLO = whole(b"hello")
SAID = b'data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
STREAM = OK + b"content-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(SAID) + SAID


@pytest_asyncio.fixture(autouse=True)
async def closed() -> AsyncIterator[None]:
    """Close what a test left open."""
    yield
    await close_clients()


class Forgetful:
    """Answers the first request of each connection, and ends it when the second one is there."""

    def __init__(self, answer: bytes, last_words: bytes = b"") -> None:
        self._answer = answer
        self._last_words = last_words
        self.requests: list[bytes] = []

    async def talk(self, peer: Peer) -> None:
        """Answer once."""
        self.requests.append(await peer.request())
        await peer.send(self._answer)
        self.requests.append(await peer.request())
        await peer.send(self._last_words)


async def body_of(reply: Reply) -> bytes:
    read = await reply.read(1000, 5)
    while await reply.chunk(5) is not None:
        pass
    await reply.aclose()
    return read


async def post(url: str) -> bytes:
    return await body_of(await send("POST", url, headers={}, content=b"x", timeout=5))


async def test_a_question_to_a_model_that_a_spare_connection_lost_is_asked_again_at_once_and_silently() -> None:
    forgetful = Forgetful(STREAM)
    async with RawServer(forgetful.talk) as server:
        # A wait before the next try would be longer than this test may take.
        model = make_model(config_at("openai-compatible", server.url), first_wait=1000)
        for _ in range(3):
            events = await answer_of(model, said("hi"))
            assert text_of(events) == "ok"
            assert [type(event) for event in events[1:]] == [Stopped]
        # The first round asks once; each of the others loses a request on the spare connection and asks it again.
        assert len(forgetful.requests) == 5
        assert server.connections == 3


async def test_a_small_document_is_fetched_again_and_a_post_of_others_never() -> None:
    forgetful = Forgetful(HELLO)
    async with RawServer(forgetful.talk) as server:
        for _ in range(2):
            assert (await fetch(server.url, timeout=5, limit=10)).body == b"hello"
        assert server.connections == 2
        with pytest.raises(NetError) as caught:
            await post(server.url)
        assert (caught.value.problem, caught.value.sent, caught.value.stale) == ("broken", True, True)
        assert server.connections == 2


async def test_a_new_connection_that_ends_is_not_asked_again() -> None:
    async def talk(peer: Peer) -> None:
        await peer.request()

    async with RawServer(talk) as server:
        with pytest.raises(NetError) as caught:
            await send_repeatable("GET", server.url, headers={}, timeout=5)
        assert not caught.value.stale
        assert server.connections == 1


async def test_it_is_asked_again_once_only() -> None:
    async def talk(peer: Peer) -> None:
        await peer.request()
        if peer.number == 1:
            await peer.send(HELLO)
            await peer.request()

    async with RawServer(talk) as server:
        assert (await fetch(server.url, timeout=5, limit=10)).body == b"hello"
        with pytest.raises(NetError):
            await fetch(server.url, timeout=5, limit=10)
        assert server.connections == 2


@pytest.mark.parametrize("heard", [b"H", b"HTTP/1.1 100 Continue\r\n\r\n", OK + b"content-length: 9\r\n\r\nhel"])
async def test_after_the_first_byte_of_an_answer_nothing_is_asked_again(heard: bytes) -> None:
    forgetful = Forgetful(HELLO, heard)
    async with RawServer(forgetful.talk) as server:
        assert (await fetch(server.url, timeout=5, limit=10)).body == b"hello"
        with pytest.raises(NetError):
            await fetch(server.url, timeout=5, limit=10)
        assert server.connections == 1


async def test_one_that_ended_takes_the_other_spare_ones_with_it() -> None:
    together = asyncio.Barrier(2)

    async def talk(peer: Peer) -> None:
        await peer.request()
        if peer.number <= 2:
            await together.wait()
            await peer.send(HELLO)
            await peer.request()
        else:
            await peer.send(HELLO)
            await peer.gone()

    async with RawServer(talk) as server:
        assert set(await asyncio.gather(post(server.url), post(server.url))) == {b"hello"}
        assert (await fetch(server.url, timeout=5, limit=10)).body == b"hello"
        assert server.connections == 3
        await server.until(open=1)


@pytest.mark.parametrize(("told", "connections"), [("timeout=1", 2), ("timeout=5, max=100", 1), ("max=100", 1)])
async def test_a_connection_is_not_used_up_to_the_moment_at_which_its_server_would_end_it(
    told: str, connections: int
) -> None:
    answer = OK + b"keep-alive: %s\r\ncontent-length: 5\r\n\r\nhello" % told.encode()
    async with RawServer(answer_each(answer, answer)) as server:
        for _ in range(2):
            assert await post(server.url) == b"hello"
        assert server.connections == connections
