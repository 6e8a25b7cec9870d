"""Server-sent events as the standard cuts them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pilothouse.net.errors import NetError
from pilothouse.net.sse import BARE, Event, Events


def parsed(*chunks: bytes) -> list[Event]:
    events = Events()
    return [event for chunk in chunks for event in events.feed(chunk)] + events.rest()


@pytest.mark.case("F-20", "TRN-18", "TRN-19", "TST-04")
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [Event("", b"a")]),
        (b"data:a\n\n", [Event("", b"a")]),
        (b"data:  a\n\n", [Event("", b" a")]),
        (b"data\n\n", [Event("", b"")]),
        (b"data: a\ndata: b\n\n", [Event("", b"a\nb")]),
        (b"event: message\r\ndata: a\r\n\r\n", [Event("message", b"a")]),
        (b"event: message\rdata: a\r\r", [Event("message", b"a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [Event("", b"a")]),
        (b": only\n: comments\n\n\n", []),
        (b"data: a", [Event("", b"a")]),
        (b"id: 7\ndata: a\n\ndata: b\n\n", [Event("", b"a", "7"), Event("", b"b", "7")]),
        (b"id: 7\n\n", [Event("", b"", "7")]),
        (b"id: a\0b\ndata: x\n\n", [Event("", b"x")]),
        (b"retry: 1500\ndata: x\n\n", [Event("", b"x", "", 1.5)]),
        (b"retry: soon\ndata: x\n\n", [Event("", b"x")]),
        (b"colour: red\ndata: x\n\n", [Event("", b"x")]),
        (b"/message?sessionId=1\n\n", [Event(BARE, b"/message?sessionId=1")]),
        (b"data: \xe2\x82\xac\n\n", [Event("", "€".encode())]),
    ],
)
def test_a_stream_is_cut_as_the_standard_says(stream: bytes, events: list[Event]) -> None:
    assert parsed(stream) == events
    assert parsed(*(stream[at : at + 1] for at in range(len(stream)))) == events


@given(some.lists(some.binary(max_size=8).filter(bool), max_size=30))
def test_where_a_stream_is_cut_does_not_matter(chunks: list[bytes]) -> None:
    assert parsed(*chunks) == parsed(b"".join(chunks))


@pytest.mark.case("F-20", "NET-08")
@pytest.mark.parametrize("piece", [b"data: " + b"x" * 1000 + b"\n", b"x" * 1000])
def test_an_event_without_an_end_is_given_up(piece: bytes) -> None:
    events = Events(limit=100_000)

    def flood() -> None:
        for _ in range(200):
            events.feed(piece)

    with pytest.raises(NetError, match="more than"):
        flood()


def test_comments_do_not_add_up() -> None:
    events = Events(limit=10_000)
    for _ in range(1000):
        events.feed(b": still here, still here\n")
    assert events.feed(b"data: x\n\n") == [Event("", b"x")]


def test_a_large_event_takes_time_linear_to_its_size() -> None:
    events = Events()
    began = time.process_time()
    for _ in range(1000):
        events.feed(b"x" * 65536)
    # Copying what there is at every piece would be 30 GB.
    assert time.process_time() - began < 2
