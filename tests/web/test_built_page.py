"""The page's files go out in the form that the browser takes, and not twice."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

from pilothouse.web.built_page import PAGE_FOLDER, load_page
from pilothouse.web.run import ServerOptions
from tests.support.in_process_server import run_server

SCRIPT = b"export const words = '" + b"again and " * 200 + b"';"
BROTLI = b"what brotli would make of it"
ADDRESS = "/assets/index-abcdefgh.js"


@pytest_asyncio.fixture
async def served(tmp_path: Path) -> AsyncIterator[httpx2.AsyncClient]:
    """A server with a small page of its own."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "icon.svg").write_text("<svg/>")
    (folder / "assets/index-abcdefgh.js").write_bytes(SCRIPT)
    (folder / "assets/index-abcdefgh.js.gz").write_bytes(gzip.compress(SCRIPT))
    (folder / "assets/index-abcdefgh.js.br").write_bytes(BROTLI)
    async with run_server(tmp_path, options=ServerOptions(page=folder)) as server:
        yield server.http


async def raw(http: httpx2.AsyncClient, method: str, address: str, **headers: str) -> tuple[httpx2.Response, bytes]:
    """Return an answer and its bytes as they came."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    async with http.stream(method, address, headers=given) as answer:
        return answer, b"".join([piece async for piece in answer.aiter_raw()])


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip, deflate", "gzip"),
        ("br;q=0, GZIP;q=0.5", "gzip"),
        ("*", "br"),
        ("*;q=0, gzip", "gzip"),
        ("gzip;q=0", ""),
        ("gzip; q=0.000, br;q=0.0", ""),
        ("identity", ""),
        ("deflate", ""),
        ("", ""),
        (";,;;q=,=,gzip;q=x;", "gzip"),
    ],
)
@pytest.mark.slow
async def test_a_file_goes_out_in_the_smallest_form_that_the_browser_takes(
    served: httpx2.AsyncClient, accepted: str, coding: str
) -> None:
    bodies = {"br": BROTLI, "gzip": gzip.compress(SCRIPT), "": SCRIPT}
    answer, body = await raw(served, "GET", ADDRESS, accept_encoding=accepted)
    assert (answer.status_code, answer.headers.get("content-encoding", "")) == (200, coding)
    assert gzip.decompress(body) == SCRIPT if coding == "gzip" else body == bodies[coding]
    assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answer.headers["content-length"] == str(len(body))
    assert answer.headers["vary"] == "Accept-Encoding"
    assert "immutable" in answer.headers["cache-control"]


async def test_the_head_of_a_file_says_what_getting_it_would(served: httpx2.AsyncClient) -> None:
    for accepted in ("gzip", "identity"):
        got, _ = await raw(served, "GET", ADDRESS, accept_encoding=accepted)
        head, body = await raw(served, "HEAD", ADDRESS, accept_encoding=accepted)
        assert body == b""
        for name in ("content-length", "content-type", "etag", "vary"):
            assert head.headers[name] == got.headers[name]
        assert head.headers.get("content-encoding") == got.headers.get("content-encoding")


async def test_what_a_browser_has_is_not_sent_again_and_each_form_has_its_mark(served: httpx2.AsyncClient) -> None:
    marks = {}
    for accepted in ("br", "gzip", "identity"):
        answer, _ = await raw(served, "GET", ADDRESS, accept_encoding=accepted)
        marks[accepted] = answer.headers["etag"]
    assert len(set(marks.values())) == 3
    for known in (marks["gzip"], f'"other", W/{marks["gzip"]}', "*"):
        answer, body = await raw(served, "GET", ADDRESS, accept_encoding="gzip", if_none_match=known)
        assert (answer.status_code, body, answer.headers["vary"]) == (304, b"", "Accept-Encoding")
        assert answer.headers["etag"] == marks["gzip"]
    for known in (marks["br"], '"another"', "gzip", '"'):
        assert (await raw(served, "GET", ADDRESS, accept_encoding="gzip", if_none_match=known))[0].status_code == 200


async def test_a_file_without_another_form_is_plain_and_the_forms_have_no_address(served: httpx2.AsyncClient) -> None:
    answer, body = await raw(served, "GET", "/icon.svg", accept_encoding="gzip, br")
    assert (body, answer.headers.get("content-encoding"), answer.headers.get("vary")) == (b"<svg/>", None, None)
    assert answer.headers["cache-control"] == "no-cache"
    for ending in (".gz", ".br"):
        assert (await served.get(ADDRESS + ending)).status_code == 404
    answer, body = await raw(served, "GET", "/settings/models", accept_encoding="gzip, br")
    assert (body, answer.headers["cache-control"]) == (b"<!doctype html>", "no-store")


def test_the_built_page_is_a_third_of_itself_on_the_wire() -> None:
    page = load_page()
    document = page["/index.html"].forms["identity"].decode()
    first = ["/index.html", *re.findall(r'(?:src|href)="(/[^"]+)"', document)]
    plain = sum(len(page[address].forms["identity"]) for address in first)
    for coding in ("gzip", "br"):
        sent = sum(len(page[address].forms.get(coding, page[address].forms["identity"])) for address in first)
        assert sent < plain * 0.4, (coding, sent, plain)
    for address, file in page.items():
        if "gzip" in file.forms:
            assert gzip.decompress(file.forms["gzip"]) == file.forms["identity"], address
            assert file.tags["gzip"].startswith(f'"{hashlib.sha256(file.forms["identity"]).hexdigest()[:32]}')
        # A font is compressed already.
        assert len(file.forms) == 1 or not address.endswith(".woff2")
    assert not [path for path in PAGE_FOLDER.rglob("*.gz.*")]
