"""One connection: every way to frame an answer, and what a server gets wrong."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pilothouse.net.errors import NetError
from pilothouse.net.http_connection import HttpConnection
from pilothouse.types import limits
from tests.net.answers import CHUNKED, EMPTY, OK, REQUEST, Got, connected, got, taken_apart, until, whole
from tests.support.raw_server import Peer, RawServer, answer_and_close, answer_each

CLOSED = "the other side closed the connection"
NOT_HTTP = "its answer is not HTTP"

ENDLESS = {
    "a head": (OK, b"x-more: of the same\r\n"),
    "a line of a head": (OK + b"x-long: ", b"x" * 1000),
    "the name of a header": (OK, b"x" * 1000),
    "a first line": (b"HTTP/1.1 200 ", b"OK" * 500),
    "announcements": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" * 10),
    "announcements with bodies": (b"", b"HTTP/1.1 199 X\r\ncontent-length: 500\r\n\r\n" + b"x" * 500),
    "a trailer": (CHUNKED + b"1\r\na\r\n0\r\n", b"x-more: of the same\r\n"),
    "a line of a trailer": (CHUNKED + b"0\r\nx-long: ", b"x" * 1000),
    "what is said about a piece": (CHUNKED + b"1;", b"x" * 1000),
    "the size of a piece": (CHUNKED, b"0" * 1000),
    "blank lines": (b"", b"\r\n" * 500),
}

WHOLE = {
    "a length": (whole(b"hello"), b"hello"),
    "a length of nothing": (EMPTY, b""),
    "pieces": (CHUNKED + b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", b"hello"),
    "pieces in capitals": (OK + b"TRANSFER-ENCODING: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"hello"),
    "pieces with more about them": (CHUNKED + b'5;a=b;c="d"\r\nhello\r\n0;e\r\n\r\n', b"hello"),
    "pieces with padded sizes": (CHUNKED + b"5  \r\nhello\r\n000\r\n\r\n", b"hello"),
    "pieces and a trailer": (CHUNKED + b"5\r\nhello\r\n0\r\nx-sum: 1\r\n\r\n", b"hello"),
    "pieces and a length": (
        OK + b"content-length: 9\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"hello",
    ),
    "bare line feeds": (b"HTTP/1.1 200 OK\ncontent-length: 5\n\nhello", b"hello"),
    "one announcement": (b"HTTP/1.1 100 Continue\r\n\r\n" + whole(b"hello"), b"hello"),
    "two announcements": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + whole(b"hello"),
        b"hello",
    ),
    "an offer to change the language": (
        OK + b"connection: upgrade\r\nupgrade: h2\r\ncontent-length: 5\r\n\r\nhello",
        b"hello",
    ),
    "no words beside the status": (b"HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nhello", b"hello"),
}

NONSENSE = {
    "another language": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "HTTP/2": b"\0\0\x12\4\0\0\0\0\0\0\3\0\0\0\x80",
    "TLS": b"\x15\x03\x03\x00\x02\x02\x46",
    "a page without a head": b"<html>\n",
    "a change of the language": b"HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nxyz",
    "a status that is none": b"HTTP/1.1 099 Low\r\ncontent-length: 0\r\n\r\n",
    "no status": b"HTTP/1.1 000 None\r\ncontent-length: 0\r\n\r\n",
    "two lengths": OK + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab",
    "a length below nothing": OK + b"content-length: -1\r\n\r\n",
    "a length beyond all": OK + b"content-length: 99999999999999999999\r\n\r\n",
    "pieces that are packed": OK + b"transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "an unknown framing": OK + b"transfer-encoding: identity\r\n\r\nhello",
    "a zero in a header": OK + b"x: a\0b\r\ncontent-length: 0\r\n\r\n",
    "an escape in a header": OK + b"x: a\x1b[31mb\r\ncontent-length: 0\r\n\r\n",
    "a carriage return in a header": OK + b"x: a\rb: c\r\ncontent-length: 0\r\n\r\n",
    "a space before a colon": OK + b"x : a\r\ncontent-length: 0\r\n\r\n",
}


@pytest.mark.parametrize("kind", WHOLE)
async def test_a_whole_answer_is_read_to_its_end(kind: str) -> None:
    answer, body = WHOLE[kind]
    async with RawServer(answer_each(answer)) as server, connected(server) as connection:
        assert (await got(connection))[::2] == (200, body, "")
        assert not connection.headers.get("link")


@pytest.mark.parametrize("kind", WHOLE)
async def test_an_answer_is_the_same_wherever_it_is_cut_in_two(kind: str) -> None:
    answer, body = WHOLE[kind]
    once = await taken_apart([answer])
    assert once.body == body
    for at in range(1, len(answer)):
        assert await taken_apart([answer[:at], answer[at:]]) == once


@pytest.mark.parametrize("kind", WHOLE)
async def test_an_answer_may_come_byte_by_byte(kind: str) -> None:
    answer, _ = WHOLE[kind]
    assert await taken_apart([bytes([one]) for one in answer]) == await taken_apart([answer])


@pytest.mark.parametrize("status", [204, 304])
async def test_some_answers_have_no_body_whatever_they_say(status: int) -> None:
    answer = b"HTTP/1.1 %d X\r\ncontent-length: 5\r\n\r\n" % status
    async with RawServer(answer_each(answer, whole(b"next"))) as server, connected(server) as connection:
        assert (await got(connection))[::2] == (status, b"", "")
        assert connection.is_spare
        assert (await got(connection)).body == b"next"


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async with RawServer(answer_and_close(OK + b"\r\nhello")) as server, connected(server) as connection:
        assert (await got(connection))[::2] == (200, b"hello", "")
        assert not connection.is_spare


@pytest.mark.parametrize(
    "answer",
    [whole(b"hello")[:-1], CHUNKED + b"5\r\nhel", CHUNKED + b"5\r\nhello\r\n", CHUNKED + b"5\r\nhello\r\n0\r\n"],
)
async def test_a_body_that_is_cut_short_is_told(answer: bytes) -> None:
    async with RawServer(answer_and_close(answer)) as server, connected(server) as connection:
        answered = await got(connection)
        assert answered.status == 200
        assert b"hello".startswith(answered.body)
        assert (answered.is_whole, answered.why) == (False, CLOSED)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 2", OK, b"HTTP/1.1 100 Continue\r\n\r\n"])
async def test_an_end_before_the_head_is_told(answer: bytes) -> None:
    async with RawServer(answer_and_close(answer)) as server, connected(server) as connection:
        assert await got(connection) == Got(0, {}, b"", False, CLOSED)


@pytest.mark.parametrize("answer", [b"", OK, whole(b"hello")[:-1], OK + b"\r\nhel"])
async def test_a_reset_is_told_wherever_it_comes(answer: bytes) -> None:
    reset = asyncio.Event()

    async def talk(peer: Peer) -> None:
        await peer.request()
        await peer.send(answer)
        await reset.wait()
        peer.reset()

    async with RawServer(talk) as server, connected(server) as connection:
        asking = asyncio.create_task(connection.ask(REQUEST))
        if b"\r\n\r\n" in answer:
            await asking
            assert await connection.chunk()
        reset.set()
        with pytest.raises(NetError, match=CLOSED) as caught:
            await (connection.chunk() if asking.done() else asking)
        assert (caught.value.problem, caught.value.sent) == ("broken", True)


@pytest.mark.parametrize("kind", NONSENSE)
async def test_nonsense_is_told_at_once_and_ends_the_connection(kind: str) -> None:
    async with RawServer(answer_each(NONSENSE[kind])) as server, connected(server) as connection:
        assert await got(connection) == Got(0, {}, b"", False, NOT_HTTP)
        await server.until(open=0)


async def test_nonsense_between_pieces_breaks_the_body_off() -> None:
    async with RawServer(answer_each(CHUNKED + b"5\r\nhello\r\nzz\r\n")) as server, connected(server) as connection:
        answered = await got(connection)
        assert (answered.body, answered.is_whole, answered.why) == (b"hello", False, NOT_HTTP)


@pytest.mark.parametrize("kind", ENDLESS)
async def test_what_never_ends_is_given_up(kind: str) -> None:
    begin, more = ENDLESS[kind]
    sent = 0

    async def talk(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(begin)
        while sent < 64 << 20:
            await peer.send(more * 100)
            sent += len(more * 100)

    async with RawServer(talk) as server, connected(server) as connection:
        answered = await got(connection)
        assert not answered.is_whole
        assert answered.why in ("it sent a head of more than 64 KB", NOT_HTTP)
        await server.until(open=0)
    # What the system holds on the way comes on top of the bound.
    assert sent < 32 << 20


async def test_headers_of_one_name_are_one_list() -> None:
    answer = OK + b"X-One: a\r\nx-empty:\r\nx-one:  b \r\nX-Umlaut: \xe4\xa0\r\ncontent-length: 0\r\n\r\n"
    answered = await taken_apart([answer])
    assert answered.headers == {"x-one": "a, b", "x-empty": "", "x-umlaut": "ä\xa0", "content-length": "0"}


async def test_a_trailer_changes_no_header() -> None:
    answer = CHUNKED + b"1\r\na\r\n0\r\ntransfer-encoding: none\r\nx-late: 1\r\n\r\n"
    assert (await taken_apart([answer])).headers == {"transfer-encoding": "chunked"}


async def test_a_server_must_wait_for_a_reader_that_does_not_read() -> None:
    piece = b"x" * 65536
    size = 64 << 20
    sent = 0
    full = asyncio.Event()

    async def talk(peer: Peer) -> None:
        nonlocal sent
        await peer.request()
        await peer.send(OK + b"content-length: %d\r\n\r\n" % size)
        while sent < size:
            peer.writer.write(piece)
            sent += len(piece)
            if peer.writer.transport.get_write_buffer_size() > len(piece):
                full.set()
            await peer.writer.drain()

    tracemalloc.start()
    try:
        async with RawServer(talk) as server, connected(server) as connection:
            await connection.ask(REQUEST)
            async with asyncio.timeout(10):
                await full.wait()
            stuck = sent
            assert stuck < size
            read = 0
            largest = 0
            while (found := await connection.chunk()) is not None:
                read += len(found)
                largest = max(largest, len(found))
            assert read == size
            # One more read of the loop's may come on top.
            assert largest <= limits.HTTP_HELD_BYTES + (1 << 20)
            assert connection.is_spare
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


async def test_what_was_held_back_is_read_after_the_connection_was_closed() -> None:
    much = OK + b"content-length: 99999999\r\n\r\n" + b"x" * (4 << 20)
    async with RawServer(answer_each(much)) as server, connected(server) as connection:
        await connection.ask(REQUEST)
        await until(lambda: connection._is_paused)
        connection.close()
        assert await connection.chunk()
        with pytest.raises(NetError, match="was ended"):
            await connection.chunk()


async def test_pieces_of_one_moment_come_as_one() -> None:
    answered = CHUNKED + b"".join(b"1\r\n%c\r\n" % one for one in b"hello") + b"0\r\n\r\n"
    async with RawServer(answer_each(answered)) as server, connected(server) as connection:
        await connection.ask(REQUEST)
        assert await connection.chunk() == b"hello"
        assert await connection.chunk() is None
        assert await connection.chunk() is None


# --- used again ---


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"connection: close\r\ncontent-length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        whole(b"hello") + EMPTY,
        whole(b"hello") + b"H",
        whole(b"hello") + OK,
        whole(b"hello") + b"\0",
        OK + b"content-length: 9\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ],
)
async def test_a_connection_of_which_the_next_answer_is_in_doubt_is_not_used_again(answer: bytes) -> None:
    async with RawServer(answer_each(answer)) as server, connected(server) as connection:
        assert (await got(connection))[2:4] == (b"hello", True)
        assert not connection.is_spare


async def test_a_connection_with_an_old_server_that_keeps_it_is_used_again() -> None:
    answer = b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 5\r\n\r\nhello"
    async with RawServer(answer_each(answer, answer)) as server, connected(server) as connection:
        for _ in range(2):
            assert (await got(connection)).body == b"hello"
            assert connection.is_spare


async def test_nothing_is_left_of_one_answer_in_the_next() -> None:
    first = OK + b"x-first: 1\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx-late: 1\r\n\r\n"
    async with RawServer(answer_each(first, whole(b"next"))) as server, connected(server) as connection:
        assert (await got(connection)).body == b"hello"
        assert await got(connection) == Got(200, {"content-length": "4"}, b"next", True)


async def test_what_comes_unasked_ends_the_connection() -> None:
    more = asyncio.Event()

    async def talk(peer: Peer) -> None:
        await peer.request()
        await peer.send(EMPTY)
        await more.wait()
        await peer.send(whole(b"poison"))
        await peer.gone()

    async with RawServer(talk) as server, connected(server) as connection:
        assert (await got(connection)).is_whole
        before = connection.is_spare
        more.set()
        await server.until(connections=1, open=0)
        assert (before, connection.is_spare) == (True, False)
        assert await got(connection) == Got(200, {"content-length": "0"}, b"", False, CLOSED)


async def test_a_greeting_before_the_request_is_not_taken_for_its_answer() -> None:
    async def talk(peer: Peer) -> None:
        await peer.send(whole(b"poison"))
        await peer.gone()

    async with RawServer(talk) as server, connected(server) as connection:
        await server.until(connections=1, open=0)
        with pytest.raises(NetError, match=CLOSED) as caught:
            await connection.ask(REQUEST)
        assert not caught.value.sent


async def test_a_connection_that_ended_before_the_request_is_told_at_once() -> None:
    async def talk(peer: Peer) -> None:
        return

    async with RawServer(talk) as server, connected(server) as connection:
        await server.until(connections=1, open=0)
        await until(lambda: connection._state == "closed")
        async with asyncio.timeout(5):
            with pytest.raises(NetError, match=CLOSED):
                await connection.ask(REQUEST)


# --- closed on this side ---


@pytest.mark.parametrize("answer", [b"", OK, whole(b"hello")[:-5], OK + b"\r\n"])
async def test_closing_wakes_whoever_waits_for_the_answer(answer: bytes) -> None:
    async with RawServer(answer_each(answer)) as server, connected(server) as connection:
        waiting = asyncio.create_task(got(connection))
        await until(lambda: connection._state == ("body" if b"\r\n\r\n" in answer else "head"))
        connection.close()
        answered = await waiting
        assert (answered.is_whole, answered.why) == (False, "the connection was ended before its answer was there")
        await server.until(open=0)


async def test_closing_after_a_whole_answer_takes_nothing_from_it() -> None:
    async with RawServer(answer_each(whole(b"hello"))) as server, connected(server) as connection:
        await connection.ask(REQUEST)
        await until(lambda: connection._pieces)
        connection.close()
        connection.close()
        assert await connection.chunk() == b"hello"
        assert await connection.chunk() is None


@pytest.mark.slow
async def test_a_connection_that_is_over_leaves_no_garbage() -> None:
    async with RawServer(answer_each(whole(b"hello"))) as server:
        async with connected(server) as connection:
            await got(connection)
        await server.until(open=0)
    del connection
    gc.collect()
    assert not [one for one in gc.get_objects() if isinstance(one, HttpConnection)]


# --- as another reader of HTTP sees it ---

NAMES = st.sampled_from([b"X-A", b"x-a", b"Server", b"Date", b"X-Rate-Limit"])
VALUES = st.from_regex(rb"([!-~\x80-\xff]([ \t!-~\x80-\xff]{0,20}[!-~\x80-\xff])?)?", fullmatch=True)
STATUSES = st.integers(200, 599)
BODIES = st.lists(st.binary(max_size=40), max_size=5)


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    """Draw an answer in one of the framings."""
    end = draw(st.sampled_from([b"\r\n", b"\n"]))
    hints = draw(
        st.lists(st.sampled_from([b"HTTP/1.1 100 Continue", b"HTTP/1.1 103 Early Hints\r\nlink: x"]), max_size=2)
    )
    lines = [b"HTTP/1.1 %d %s" % (draw(STATUSES), draw(st.sampled_from([b"OK", b"Not At All", b""])))]
    lines += [name + b": " + value for name, value in draw(st.lists(st.tuples(NAMES, VALUES), max_size=4))]
    pieces = draw(BODIES)
    framing = draw(st.sampled_from(["length", "pieces", "both", "end"]))
    if framing in ("length", "both"):
        lines.append(b"content-length: %d" % sum(map(len, pieces)))
    if framing in ("pieces", "both"):
        lines.append(b"Transfer-Encoding: chunked")
        about = draw(st.sampled_from([b"", b";a=b", b";a;b=c"]))
        trailer = draw(st.sampled_from([b"", b"x-late: 1\r\n"]))
        body = b"".join(b"%x%s\r\n%s\r\n" % (len(one), about, one) for one in pieces if one)
        body += b"0\r\n" + trailer + b"\r\n"
    else:
        body = b"".join(pieces)
    return b"".join(hint + b"\r\n\r\n" for hint in hints) + end.join(lines) + end * 2 + body


def as_h11_sees_it(answer: bytes) -> Got:
    """Return what h11 makes of an answer after which the connection ends."""
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    reader.send(h11.EndOfMessage())
    reader.receive_data(answer)
    reader.receive_data(b"")
    status, headers, body = 0, dict[str, str](), b""
    try:
        while not isinstance(event := reader.next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Response):
                status = event.status_code
                for name, value in event.headers:
                    key, text = name.decode("latin-1"), value.decode("latin-1")
                    headers[key] = f"{headers[key]}, {text}" if key in headers else text
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.ConnectionClosed):
                return Got(status, headers, body, False)
    except h11.RemoteProtocolError:
        return Got(status, headers, body, False)
    return Got(status, headers, body, True)


@settings(max_examples=150)
@given(answer=answers(), data=st.data())
@pytest.mark.slow
async def test_any_answer_in_any_slices_is_what_h11_says_it_is(answer: bytes, data: st.DataObject) -> None:
    shown = answer[: data.draw(st.integers(0, len(answer)))] if data.draw(st.booleans()) else answer
    cuts = sorted(data.draw(st.sets(st.integers(0, len(shown)), max_size=6)))
    slices = [shown[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(shown)], strict=True) if begin < end]
    mine, theirs = await taken_apart(slices, ends=True), as_h11_sees_it(shown)
    assert mine[:4] == theirs[:4]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Draw an answer in which something was put into the place of something else."""
    answer = draw(answers())
    begin = draw(st.integers(0, len(answer)))
    return answer[:begin] + draw(st.binary(max_size=8)) + answer[begin + draw(st.integers(0, 8)) :]


@pytest.mark.slow
@settings(max_examples=100)
@given(answer=st.binary(max_size=60) | damaged())
async def test_whatever_comes_is_an_answer_or_told_as_none(answer: bytes) -> None:
    mine = await taken_apart([answer], ends=True)
    assert mine == await taken_apart([bytes([one]) for one in answer], ends=True)
    assert mine.is_whole or mine.why in (CLOSED, NOT_HTTP)
    assert mine.status >= 200 or not mine.is_whole
