"""Bodies as they were before somebody compressed them, in pieces that stay small however much one byte unfolds to.

We ask for no compression; some gateways compress all the same.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from pilothouse.net.errors import NetError
from pilothouse.types import limits

# The headers of zlib and of gzip are told apart by themselves.
_WINDOW = {"gzip": 47, "x-gzip": 47, "deflate": 47}


class Unpacking:
    """Unpacks one body."""

    def __init__(self, window: int) -> None:
        self._unpacking = zlib.decompressobj(window)

    def pieces(self, packed: bytes) -> Iterator[bytes]:
        """Yield what some more bytes unfold to; the next ones may be given when it is at its end."""
        # What follows the end of what was compressed belongs to nothing.
        while packed and not self._unpacking.eof:
            try:
                piece = self._unpacking.decompress(packed, limits.UNPACK_BYTES)
            except zlib.error:
                raise NetError("broken", "its compressed answer is damaged", sent=True) from None
            if piece:
                yield piece
            packed = self._unpacking.unconsumed_tail


def unpacking(coding: str) -> Unpacking | None:
    """Return what unpacks a body with this `content-encoding`, None for one as it is; raise NetError."""
    name = coding.strip().lower() or "identity"
    if name == "identity":
        return None
    if name not in _WINDOW:
        shown = "".join(character for character in name[:20] if character.isprintable())
        raise NetError("broken", f"it compresses its answer as “{shown}” although it was asked not to", sent=True)
    return Unpacking(_WINDOW[name])
