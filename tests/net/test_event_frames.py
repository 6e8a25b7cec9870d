"""AWS's frames: taken out whole whatever the pieces they come in, and believed only within bounds."""

from __future__ import annotations

import base64
import json
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pilothouse.net.errors import NetError
from pilothouse.net.event_frames import EventFrames
from tests.models.aws_frames import chunk, event, exception, frame

# Published with AWS's own decoder: an empty frame, every type of header, a string and a payload, an error.
EMPTY = b"\x00\x00\x00\x10\x00\x00\x00\x00\x05\xc2H\xeb}\x98\xc8\xff"
ALL_TYPES = (
    b"\x00\x00\x00\x62\x00\x00\x00\x52\x03\xb5\xcb\x9c"
    b"\x010\x00\x011\x01\x012\x02\x02\x013\x03\x00\x03"
    b"\x014\x04\x00\x00\x00\x04\x015\x05\x00\x00\x00\x00\x00\x00\x00\x05"
    b"\x016\x06\x00\x05bytes\x017\x07\x00\x04utf8"
    b"\x018\x08\x00\x00\x00\x00\x00\x00\x00\x08\x019\x090123456789abcdef"
    b"\x63\x35\x36\x71"
)
ERROR = (
    b"\x00\x00\x00\x52\x00\x00\x00\x42\xbf\x23\x63\x7e"
    b"\x0d:message-type\x07\x00\x05error"
    b"\x0b:error-code\x07\x00\x04code"
    b"\x0e:error-message\x07\x00\x07message"
    b"\x6b\x6c\xea\x3d"
)
WITH_PAYLOAD = (
    b"\x00\x00\x00=\x00\x00\x00 \x07\xfd\x83\x96\x0ccontent-type\x07\x00\x10"
    b"application/json{'foo':'bar'}\x8d\x9c\x08\xb1"
)
DAMAGED = [
    WITH_PAYLOAD.replace(b"content-type", b"content+type"),
    WITH_PAYLOAD.replace(b"foo", b"FOO"),
    b"\x01" + WITH_PAYLOAD[1:],
]


def test_frames_that_aws_publishes_are_read() -> None:
    frames = EventFrames()
    assert frames.feed(EMPTY + ALL_TYPES + WITH_PAYLOAD) == []
    (told,) = frames.feed(ERROR)
    assert json.loads(told)["error"] == {"type": "code", "message": "message", "code": 500}
    assert frames.rest() == []


def test_our_own_writer_of_frames_writes_what_aws_publishes() -> None:
    assert frame({}, b"") == EMPTY
    assert frame({"content-type": "application/json"}, b"{'foo':'bar'}") == WITH_PAYLOAD


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_damaged_frame_is_noticed_by_its_checksums(damaged: bytes) -> None:
    with pytest.raises(NetError, match="checksum"):
        EventFrames().feed(damaged)


@given(some.lists(some.integers(1, 40), min_size=1))
def test_documents_come_out_the_same_whatever_pieces_the_bytes_come_in(sizes: list[int]) -> None:
    data = (
        chunk({"type": "message_start"}) + event("metadata", {"usage": {}}) + exception("throttlingException", "slow")
    )
    frames, out, at = EventFrames(), [], 0
    while at < len(data):
        size = sizes[at % len(sizes)]
        out += frames.feed(data[at : at + size])
        at += size
    assert [json.loads(each) for each in out] == [
        {"type": "message_start"},
        {"metadata": {"usage": {}}},
        {"type": "error", "error": {"type": "throttlingException", "message": "slow", "code": 429}},
    ]
    assert frames.rest() == []


def test_a_frame_longer_than_allowed_is_refused_at_its_beginning() -> None:
    head = (64 * 1024 * 1024).to_bytes(4, "big") + (0).to_bytes(4, "big")
    with pytest.raises(NetError, match="more than") as refused:
        EventFrames().feed(head + crc32(head).to_bytes(4, "big"))
    assert refused.value.problem == "large"


def test_lengths_that_cannot_be_and_headers_that_are_cut_are_refused() -> None:
    short = (16).to_bytes(4, "big") + (5).to_bytes(4, "big")
    with pytest.raises(NetError, match="shorter"):
        EventFrames().feed(short + crc32(short).to_bytes(4, "big"))
    for headers in (b"\x05ab", b"\x01a\x07\x00\xff", b"\x01a\x63", b"\x01a"):
        with pytest.raises(NetError, match="header"):
            EventFrames().feed(frame(headers, b""))


def test_a_stream_cut_inside_a_frame_is_not_taken_for_finished() -> None:
    frames = EventFrames()
    frames.feed(chunk({"type": "message_start"})[:-3])
    with pytest.raises(NetError, match="broke off"):
        frames.rest()


@pytest.mark.parametrize("payload", [b"{", b'{"bytes": "%%%"}', b'{"bytes": 3}', b"[]"])
def test_a_chunk_that_holds_something_else_breaks_the_stream(payload: bytes) -> None:
    with pytest.raises(NetError, match="something else"):
        EventFrames().feed(frame({":message-type": "event", ":event-type": "chunk"}, payload))


def test_an_event_is_named_by_letters_only() -> None:
    assert EventFrames().feed(frame({":message-type": "event", ":event-type": 'a":1,"b'}, b"{}")) == []
    whole = base64.b64encode(b'{"a":1}').decode()
    assert EventFrames().feed(chunk(json.loads(base64.b64decode(whole)))) == [b'{"a":1}']
