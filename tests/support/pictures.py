"""Real pictures of any size in bytes, each with a content of its own."""

from __future__ import annotations

import random
import struct
import zlib


def a_png(size: int, *, number: int = 0, width: int = 64, height: int = 48) -> bytes:
    """Return a PNG of one colour that has about this many bytes: the rest is noise that no reader looks at."""
    colour = random.Random(number).randbytes(3)
    rows = (b"\x00" + colour * width) * height
    chunks = [
        _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        _chunk(b"IDAT", zlib.compress(rows)),
        _chunk(b"IEND", b""),
    ]
    plain = b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
    noise = random.Random(number).randbytes(max(0, size - len(plain) - 12))
    return b"\x89PNG\r\n\x1a\n" + chunks[0] + _chunk(b"noIs", noise) + chunks[1] + chunks[2]


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
