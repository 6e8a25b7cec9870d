"""Bodies as they were before somebody compressed them, in pieces that stay small however much one byte unfolds to.

We ask for no compression; some gateways compress all the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from pilothouse.net.errors import NetError
from pilothouse.types import limits

_NAMES = ("gzip", "x-gzip", "deflate")
# The headers of zlib and of gzip are told apart by themselves; "deflate" also comes without any.
_WITH_HEADER = 47
_BARE = -15
_GZIP = 0x1F8B


class Decompressor:
    """Unpacks one body."""

    def __init__(self, *, may_be_bare: bool) -> None:
        # What came before anyone could tell how it begins.
        self._head: bytes | None = b"" if may_be_bare else None
        self._zlib = zlib.decompressobj(_WITH_HEADER)

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        """Yield what some more bytes unfold to; the next ones may be given when it is at its end."""
        if self._head is not None:
            packed = self._head = self._head + packed
            if len(packed) < 2:
                return
            if not _has_header(int.from_bytes(packed[:2])):
                self._zlib = zlib.decompressobj(_BARE)
            self._head = None
        # What follows the end of what was compressed belongs to nothing.
        while packed and not self._zlib.eof:
            try:
                piece = self._zlib.decompress(packed, limits.UNPACK_BYTES)
            except zlib.error:
                raise NetError("broken", "its compressed answer is damaged", sent=True) from None
            if piece:
                yield piece
            packed = self._zlib.unconsumed_tail


def decompressor(coding: str) -> Decompressor | None:
    """Return what unpacks a body with this `content-encoding`, None for one as it is; raise NetError."""
    name = coding.strip().lower() or "identity"
    if name == "identity":
        return None
    if name not in _NAMES:
        shown = "".join(character for character in name[:20] if character.isprintable())
        raise NetError("unreadable", f"it compresses its answer as “{shown}” although it was asked not to", sent=True)
    return Decompressor(may_be_bare=name == "deflate")


def _has_header(begin: int) -> bool:
    return begin == _GZIP or ((begin >> 8) & 0x0F == zlib.DEFLATED and begin % 31 == 0)
