"""A picture's size is read from its first bytes, and no bytes can make that fail."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse.types.media import picture_type
from pilothouse.types.pictures import UNKNOWN, picture_size
from tests.support.pictures import a_png

HEADS = {
    "image/png": a_png(0, width=640, height=480),
    "image/gif": b"GIF89a" + struct.pack("<HH", 640, 480) + b"\x00\x00\x00",
    "image/jpeg": b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc4\x00\x03x\xff\xc2\x00\x11\x08"
    + struct.pack(">HH", 480, 640)
    + b"\x03",
    "image/webp": b"RIFF\x00\x00\x00\x00WEBPVP8X"
    + bytes(8)
    + (639).to_bytes(3, "little")
    + (479).to_bytes(3, "little"),
}
LOSSY = b"RIFF\x00\x00\x00\x00WEBPVP8 " + bytes(10) + struct.pack("<HH", 640, 480)
LOSSLESS = b"RIFF\x00\x00\x00\x00WEBPVP8L" + bytes(5) + struct.pack("<I", 639 | 479 << 14)


@pytest.mark.parametrize("media_type", HEADS)
def test_a_picture_says_how_large_it_is(media_type: str) -> None:
    assert picture_type(HEADS[media_type]) == media_type
    assert picture_size(media_type, HEADS[media_type]) == (640, 480)


@pytest.mark.parametrize("data", [LOSSY, LOSSLESS])
def test_all_kinds_of_webp_are_known(data: bytes) -> None:
    assert picture_size("image/webp", data) == (640, 480)


def test_what_is_no_picture_has_no_size() -> None:
    assert picture_size("image/svg+xml", b"<svg/>") == UNKNOWN
    assert picture_size("image/png", base64.b64decode("iVBORw0KGgo=")) == UNKNOWN


@given(st.sampled_from(sorted(HEADS)), st.integers(0, 40), st.binary(max_size=200))
def test_no_bytes_make_looking_at_them_fail(media_type: str, cut: int, rest: bytes) -> None:
    width, height = picture_size(media_type, HEADS[media_type][:cut] + rest)
    assert 0 <= width < 2**31
    assert 0 <= height < 2**31
