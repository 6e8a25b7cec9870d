"""The built page: a fixed set of files, looked up by name and never by path."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from pilothouse.types.errors import PilothouseError
from pilothouse.web.problems import problem_response
from pilothouse.web.sessions import Access

PAGE_FOLDER = Path(__file__).parent / "page"
# Addresses that the page itself understands; each gets the same document.
PAGE_ROUTES = re.compile(
    r"/|/c/[A-Za-z0-9_-]{1,64}|/settings(?:/[a-z-]{1,32})?|/tools|/status|/traffic|/waiting|/oauth/callback"
    r"|/topics|/topic/[A-Za-z0-9_-]{1,64}"
)
# The build puts a hash of the content into these names, so they never change.
HASHED = re.compile(r"/assets/.+-[A-Za-z0-9_-]{8,}\.[a-z0-9]+")
MISSING = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>Pilothouse</title>"
    "<p>The page is not built yet; run <code>scripts/build-page</code> and reload.</p></html>"
)
# The build puts a file in these forms beside itself; the smallest first.
_FORMS = {".br": "br", ".gz": "gzip"}
_PLAIN = "identity"
# No browser names more.
_MOST_CODINGS = 32


class PageFile(msgspec.Struct, frozen=True):
    """One file of the built page, in the forms that it can be sent in."""

    media_type: str
    # By the name of the coding, the one to prefer first; the plain one is always there, and last.
    forms: Mapping[str, bytes]
    # Marks for the content in each form: a browser that has it already is not sent it again.
    tags: Mapping[str, str]


def load_page(folder: Path = PAGE_FOLDER) -> dict[str, PageFile]:
    """Return the page's files by the address each is served at; empty when it is not built."""
    if not (folder / "index.html").is_file():
        return {}
    there = {path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")}
    return {
        f"/{path.relative_to(folder).as_posix()}": _page_file(path)
        for path in sorted(there)
        if path.suffix not in _FORMS or path.with_suffix("") not in there
    }


def _page_file(path: Path) -> PageFile:
    beside = {coding: path.with_name(path.name + ending) for ending, coding in _FORMS.items()}
    forms = {coding: file.read_bytes() for coding, file in beside.items() if file.is_file()}
    forms[_PLAIN] = path.read_bytes()
    mark = hashlib.sha256(forms[_PLAIN]).hexdigest()[:32]
    return PageFile(_media_type(path), forms, {coding: f'"{mark}-{coding}"' for coding in forms})


def _media_type(path: Path) -> str:
    # The system's table may say anything about .js; a module with the wrong type does not run.
    known = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
    return known.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"


class Pages:
    """Serves the page to whoever passed the guard; it holds no data, so it needs no token."""

    def __init__(self, files: Mapping[str, PageFile], access: Access) -> None:
        self._files = files
        self._access = access

    async def __call__(self, request: Request) -> Response:
        """Return the file, the page, or a sentence."""
        path = request.scope["path"]
        is_document = PAGE_ROUTES.fullmatch(path) is not None
        file = self._files.get("/index.html" if is_document else path)
        if file is None and is_document:
            return HTMLResponse(MISSING, status_code=503)
        if file is None:
            return problem_response(PilothouseError("not_found", "There is nothing at this address."))
        if is_document or path == "/index.html":
            return self._clearing(request, _sent(file, request, "no-store"))
        return _sent(file, request, "public, max-age=31536000, immutable" if HASHED.fullmatch(path) else "no-cache")

    def _clearing(self, request: Request, answer: Response) -> Response:
        """Have a browser that comes for the first time since the server started forget what its cache holds of it.

        Whoever listened here meanwhile may have put scripts there, under the names of ours.
        """
        name = self._access.seen_cookie_name
        if request.cookies.get(name) != self._access.start:
            answer.headers["clear-site-data"] = '"cache"'
            answer.headers["set-cookie"] = f"{name}={self._access.start}; Path=/; SameSite=Strict"
        return answer


def _sent(file: PageFile, request: Request, cache: str) -> Response:
    """Return a file in the best form that the browser takes, or that it has it already."""
    taken = _codings(",".join(request.headers.getlist("accept-encoding")))
    coding = next((coding for coding in file.forms if taken.get(coding, taken.get("*", False))), _PLAIN)
    tag = file.tags[coding]
    headers = {"cache-control": cache, "etag": tag}
    if len(file.forms) > 1:
        headers["vary"] = "Accept-Encoding"
    known = request.headers.get("if-none-match", "")
    if known.strip() == "*" or tag in re.findall(r'"[^"]*"', known):
        return Response(status_code=304, headers=headers)
    if coding != _PLAIN:
        headers["content-encoding"] = coding
    return Response(file.forms[coding], media_type=file.media_type, headers=headers)


def _codings(header: str) -> dict[str, bool]:
    """Return which codings a browser named, and whether it takes each: with a weight of nothing it does not."""
    found: dict[str, bool] = {}
    for word in header.lower().split(",")[:_MOST_CODINGS]:
        name, *parameters = (part.strip() for part in word.split(";"))
        refused = any(re.fullmatch(r"q\s*=\s*0(\.0*)?", parameter) for parameter in parameters)
        found[name] = not refused
    return found
