"""How wide and high a picture says it is, from its first bytes: so that a page can keep its place free."""

from __future__ import annotations

import struct
from collections.abc import Callable

Size = tuple[int, int]
UNKNOWN: Size = (0, 0)
# Markers that begin a frame of a JPEG; the others in their range are tables.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_LOSSY, _LOSSLESS, _EXTENDED = b"VP8 ", b"VP8L", b"VP8X"


def picture_size(media_type: str, data: bytes) -> Size:
    """Return a picture's width and height; nothing of what cannot be read, or claims more than a picture has."""
    try:
        width, height = _READERS[media_type](data)
    except (KeyError, IndexError, struct.error):
        return UNKNOWN
    return (width, height) if 0 < width < 2**31 and 0 < height < 2**31 else UNKNOWN


def _png(data: bytes) -> Size:
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _gif(data: bytes) -> Size:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg(data: bytes) -> Size:
    at = 2
    while data[at] == 0xFF:
        if data[at + 1] == 0xFF:
            # Any number of these may stand before a marker.
            at += 1
            continue
        if data[at + 1] in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return UNKNOWN


def _webp(data: bytes) -> Size:
    kind = data[12:16]
    if kind == _EXTENDED:
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == _LOSSY:
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if kind == _LOSSLESS:
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return UNKNOWN


_READERS: dict[str, Callable[[bytes], Size]] = {
    "image/png": _png,
    "image/gif": _gif,
    "image/jpeg": _jpeg,
    "image/webp": _webp,
}
