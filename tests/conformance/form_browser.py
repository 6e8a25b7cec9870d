"""A browser without a window: follows redirects, keeps cookies, and agrees on whatever page asks."""

from __future__ import annotations

import asyncio
import http.client
from html.parser import HTMLParser
from http.cookies import SimpleCookie
from urllib.parse import urlencode, urljoin, urlsplit

PATIENCE = 20.0
STEPS = 20


class _Form(HTMLParser):
    """The first form of a page, with the button that agrees."""

    def __init__(self) -> None:
        super().__init__()
        self.action: str | None = None
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form" and self.action is None:
            self.action = told.get("action", "")
        elif tag in ("input", "button") and told.get("name") and told.get("value") != "deny":
            self.fields[told["name"]] = told.get("value", "")


class Follower:
    """Goes on until it is sent to an address that begins with `back`, which it does not open."""

    def __init__(self, back: str) -> None:
        self._back = back
        self._cookies: dict[str, dict[str, str]] = {}
        # Where it was shown a page and agreed.
        self.agreed_at: list[str] = []

    async def follow(self, url: str) -> str:
        """Return where a person who agrees to everything is sent back to."""
        return await asyncio.to_thread(self._follow, url)

    def _follow(self, url: str) -> str:
        body: dict[str, str] | None = None
        for _ in range(STEPS):
            if url.startswith(self._back):
                return url
            location, page = self._ask(url, body)
            if location:
                url, body = urljoin(url, location), None
                continue
            form = _Form()
            form.feed(page)
            assert form.action is not None, f"{url} shows no form: {page[:500]}"
            self.agreed_at.append(url)
            url, body = urljoin(url, form.action) if form.action else url, form.fields
        raise AssertionError(f"it never came back; it is at {url}")

    def _ask(self, url: str, body: dict[str, str] | None) -> tuple[str, str]:
        parts = urlsplit(url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
        kept = self._cookies.setdefault(parts.netloc, {})
        headers = {
            "cookie": "; ".join(f"{name}={value}" for name, value in kept.items()),
            "origin": f"http://{parts.netloc}",
        }
        path = parts._replace(scheme="", netloc="").geturl()
        if body is None:
            connection.request("GET", path, headers=headers)
        else:
            headers["content-type"] = "application/x-www-form-urlencoded"
            connection.request("POST", path, urlencode(body), headers)
        reply = connection.getresponse()
        page = reply.read().decode()
        for line in reply.headers.get_all("set-cookie") or ():
            kept.update({name: morsel.value for name, morsel in SimpleCookie(line).items()})
        connection.close()
        assert reply.status < 400, f"{url} answered with {reply.status}: {page[:500]}"
        return reply.headers.get("location", ""), page
