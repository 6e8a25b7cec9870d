"""The built page: a fixed set of files, looked up by name and never by path."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from pilothouse.server.problems import problem_response
from pilothouse.types.errors import PilothouseError

PAGE_FOLDER = Path(__file__).parent / "page"
# Addresses that the page itself understands; each gets the same document.
PAGE_ROUTES = re.compile(r"/|/c/[A-Za-z0-9_-]{1,64}|/settings(?:/[a-z-]{1,32})?|/tools|/status|/traffic|/waiting")
# The build puts a hash of the content into these names, so they never change.
HASHED = re.compile(r"/assets/.+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+")
MISSING = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Pilothouse</title>"
    "<p>The page is not built yet; run <code>scripts/build-page</code> and reload.</p></html>"
)


class PageFile(NamedTuple):
    """One file of the built page."""

    content: bytes
    media_type: str


def load_page(folder: Path = PAGE_FOLDER) -> dict[str, PageFile]:
    """Return the page's files by the address each is served at; empty when it is not built."""
    if not (folder / "index.html").is_file():
        return {}
    return {
        f"/{path.relative_to(folder).as_posix()}": PageFile(path.read_bytes(), _media_type(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def _media_type(path: Path) -> str:
    # The system's table may say anything about .js; a module with the wrong type does not run.
    known = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
    return known.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"


class Pages:
    """Serves the page to whoever passed the guard; it holds no data, so it needs no token."""

    def __init__(self, files: Mapping[str, PageFile]) -> None:
        self._files = files

    async def __call__(self, request: Request) -> Response:
        """Return the file, the page, or a sentence."""
        path = request.scope["path"]
        if PAGE_ROUTES.fullmatch(path):
            return self._document()
        file = self._files.get(path)
        if file is None:
            return problem_response(PilothouseError("not_found", "There is nothing at this address."))
        cache = "public, max-age=31536000, immutable" if HASHED.fullmatch(path) else "no-cache"
        if path == "/index.html":
            cache = "no-store"
        return Response(file.content, media_type=file.media_type, headers={"cache-control": cache})

    def _document(self) -> Response:
        file = self._files.get("/index.html")
        if file is None:
            return HTMLResponse(MISSING, status_code=503)
        return Response(file.content, media_type="text/html")
