"""Parts of messages and results: bytes from anywhere, sent so that a browser only ever looks at them."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from urllib.parse import quote

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pilothouse.types.api import PartData
from pilothouse.types.exchange import Download

# What a browser decodes and cannot run; an SVG is a program, so it is not here.
_IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"})
_SOUNDS = frozenset({"audio/mpeg", "audio/mp4", "audio/ogg", "audio/wav", "audio/x-wav", "audio/webm", "audio/flac"})
# Beside the page's own policy, which holds as well: the stricter of the two wins.
_POLICY = "default-src 'none'; sandbox"
_UNFIT = re.compile(r'[^\w .()+-]|[\x00-\x1f\x7f"\\/]')


def file_response(part: PartData) -> Response:
    """Return the bytes under a type that cannot be run, to be saved; only images are shown in place."""
    media = part.media_type.partition(";")[0].strip().lower()
    shown = media if media in _IMAGES | _SOUNDS else "application/octet-stream"
    headers = {
        "content-type": shown,
        "content-disposition": _disposition("inline" if media in _IMAGES else "attachment", part.name),
        "content-security-policy": _POLICY,
    }
    return Response(part.data, headers=headers)


class DownloadResponse(Response):
    """Sends a file as it comes, to be saved; whoever leaves ends it."""

    def __init__(self, download: Download) -> None:
        super().__init__(
            headers={
                "content-type": "application/octet-stream",
                "content-disposition": _disposition("attachment", download.name),
                "content-security-policy": _POLICY,
            }
        )
        del self.headers["content-length"]
        self._chunks = download.chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream as ASGI."""
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async for chunk in self._chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        finally:
            if isinstance(self._chunks, AsyncGenerator):
                await self._chunks.aclose()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _disposition(kind: str, name: str) -> str:
    """Return the header with a name that is one, whatever the server called its file."""
    base = _UNFIT.sub("_", re.split(r"[\\/]", name)[-1]).strip(" .")[:100] or "result"
    plain = base.encode("ascii", "replace").decode().replace("?", "_")
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(base)}"
