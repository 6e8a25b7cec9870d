"""Texts and bodies that are kept in few bytes.

Whoever reads a database for the first time can tell by the first byte: JSON begins with a brace, zlib with an x.
"""

from __future__ import annotations

import zlib

_ZLIB = 0x78
# Before the bytes of a text that would not become smaller; no text begins with it.
_AS_IT_IS = b"\x00"
# Shorter texts hardly shrink. Bodies are read much more often: many short ones would take longer to be unpacked than
# they save.
_LEAST_TEXT = 200
_LEAST_BODY = 1_024


def packed_body(body: bytes) -> bytes:
    """Return JSON in as few bytes as it can be kept in."""
    if len(body) < _LEAST_BODY or body[0] == _ZLIB:
        return body
    small = zlib.compress(body)
    return small if len(small) < len(body) else body


def plain_body(kept: bytes) -> bytes:
    """Return the JSON that is kept, packed or not."""
    return zlib.decompress(kept) if kept[:1] == b"x" else kept


def packed_text(text: str) -> bytes:
    """Return a text in as few bytes as it can be kept in."""
    raw = text.encode(errors="replace")
    small = zlib.compress(raw) if len(raw) >= _LEAST_TEXT else raw
    return small if len(small) < len(raw) else _AS_IT_IS + raw


def plain_text(kept: str | bytes) -> str:
    """Return the text that is kept; an earlier version kept it as it was."""
    if isinstance(kept, str):
        return kept
    return (zlib.decompress(kept) if kept[0] == _ZLIB else kept[1:]).decode()


def has_part(kept: str | bytes, part: str) -> bool:
    """Tell whether a text that is kept has these letters in it, large or small."""
    return part.lower() in plain_text(kept).lower()
