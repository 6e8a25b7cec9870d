"""Bodies as they were before somebody compressed them, in pieces that stay small however much one byte unfolds to.

We ask for no compression; some gateways compress all the same.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator

import httpx2

from pilothouse.net.errors import NetError
from pilothouse.types import limits

# The headers of zlib and of gzip are told apart by themselves.
_WINDOW = {"gzip": 47, "x-gzip": 47, "deflate": 47}


async def plain_bytes(response: httpx2.Response) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a body as they come."""
    coding = str(response.headers.get("content-encoding", "identity")).strip().lower() or "identity"
    if coding != "identity" and coding not in _WINDOW:
        raise NetError("broken", f"it compresses its answer as “{coding[:20]}” although it was asked not to", sent=True)
    unpacking = zlib.decompressobj(_WINDOW[coding]) if coding in _WINDOW else None
    async for chunk in response.aiter_raw():
        if unpacking is None:
            yield chunk
            continue
        packed = chunk
        while packed:
            try:
                piece = unpacking.decompress(packed, limits.UNPACK_BYTES)
            except zlib.error:
                raise NetError("broken", "its compressed answer is damaged", sent=True) from None
            if piece:
                yield piece
            packed = unpacking.unconsumed_tail
