"""Requests to addresses that a server, a registry or a document named, and not the person.

Such an address is looked up once, every address behind the name must be out in the open, and the connection goes
to the address that was checked. Redirects are followed by hand, each step checked like the first.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from urllib.parse import urljoin, urlsplit

import httpx2

from pilothouse.net.addresses import Place, checked, literal, place_of, resolve
from pilothouse.net.certificates import no_tls, roots
from pilothouse.net.errors import NetError, fault
from pilothouse.net.httpx_client import HttpxSource
from pilothouse.net.proxies import proxy_for
from pilothouse.net.reply import Fetched, Method, Reply
from pilothouse.types import limits

REDIRECTING = {301, 302, 303, 307, 308}
# Where nobody typed an address: no host is the same as this one.
_NOWHERE = Place("https", "", 443)
# What may follow to another origin; anything else could be a credential.
_HARMLESS = {"accept", "accept-language", "mcp-protocol-version", "user-agent"}


async def request(
    method: Method,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    content: bytes | None = None,
    timeout: float = limits.GUARDED_TIMEOUT,
    near: str,
) -> Fetched:
    """Send a request and read its answer of at most GUARDED_BYTES; `near` is the address that the person typed.

    Raise NetError when the address leads inside, or anything else goes wrong.
    """
    typed = place_of(near)
    sending = dict(headers or {})
    try:
        async with asyncio.timeout(timeout):
            for _ in range(limits.REDIRECTS + 1):
                place = _web_place(url)
                address = await _address(url, place, typed)
                got = await _once(method, _Hop(url, place, address), sending, content)
                target = got.headers.get("location", "")
                if got.status not in REDIRECTING or not target:
                    return got
                following = urljoin(url, target)
                sending = _for_next(method, place, _web_place(following), sending)
                url = following
    except TimeoutError:
        raise NetError("silent", f"nothing came for {timeout:g} s", sent=True) from None
    raise NetError("refused", f"it sent us on more than {limits.REDIRECTS} times")


@contextlib.asynccontextmanager
async def stream(url: str, *, near: str) -> AsyncIterator[Reply]:
    """Open what an address leads to, for whoever bounds its bytes and its time; `near` as for `request`.

    Raise NetError when the address leads inside, or anything else goes wrong.
    """
    typed = place_of(near)
    for _ in range(limits.REDIRECTS + 1):
        place = _web_place(url)
        async with _opened("GET", _Hop(url, place, await _address(url, place, typed)), {}, None) as reply:
            target = reply.headers.get("location", "")
            if reply.status not in REDIRECTING or not target:
                yield reply
                return
            following = urljoin(url, target)
            _for_next("GET", place, _web_place(following), {})
            url = following
    raise NetError("refused", f"it sent us on more than {limits.REDIRECTS} times")


@contextlib.asynccontextmanager
async def open_once(url: str, *, headers: Mapping[str, str], near: str = "") -> AsyncIterator[Reply]:
    """Open exactly this address, wherever it would send us on; without `near` nothing inside is reached.

    Raise NetError when the address leads inside, or anything else goes wrong.
    """
    place = _web_place(url)
    typed = place_of(near) if near else _NOWHERE
    async with _opened("GET", _Hop(url, place, await _address(url, place, typed)), headers, None) as reply:
        yield reply


async def check(url: str, *, near: str) -> None:
    """Raise NetError when an address that a stranger named leads inside; a name that is not known leads nowhere."""
    try:
        await _address(url, _web_place(url), place_of(near))
    except NetError as error:
        if error.problem in ("refused", "url"):
            raise


def _web_place(url: str) -> Place:
    place = place_of(url)
    if place.scheme not in ("http", "https"):
        raise NetError("url", "it is not a web address")
    return place


class _Hop:
    """One step: where to, and the address that was checked for it."""

    def __init__(self, url: str, place: Place, address: str | None) -> None:
        self.place = place
        parts = urlsplit(url)
        target = place.host if address is None else address
        name = f"[{target}]" if ":" in target else target
        self.url = parts._replace(netloc=f"{name}:{place.port}", fragment="").geturl()
        self.host = place.authority
        self.proxy = proxy_for(url)


async def _address(url: str, place: Place, near: Place) -> str | None:
    """Return the checked address, or None where only the person's own proxy can look the name up."""
    try:
        return await checked(place, near=near, ask=resolve)
    except NetError as error:
        if error.problem in ("unknown", "unresolved") and proxy_for(url) and not literal(place.host):
            return None
        raise


async def _once(method: Method, hop: _Hop, headers: Mapping[str, str], content: bytes | None) -> Fetched:
    async with _opened(method, hop, headers, content) as reply:
        body = await reply.read(limits.GUARDED_BYTES + 1, limits.GUARDED_TIMEOUT)
    if len(body) > limits.GUARDED_BYTES:
        raise NetError("large", f"it sent more than {limits.GUARDED_BYTES // 1024} KB", sent=True)
    return Fetched(reply.status, body, reply.headers)


@contextlib.asynccontextmanager
async def _opened(method: Method, hop: _Hop, headers: Mapping[str, str], content: bytes | None) -> AsyncIterator[Reply]:
    transport = httpx2.AsyncHTTPTransport(verify=roots() if hop.place.scheme == "https" else no_tls(), proxy=hop.proxy)
    async with httpx2.AsyncClient(transport=transport, trust_env=False, timeout=None) as client:
        try:
            sending = client.build_request(
                method,
                hop.url,
                headers={"accept-encoding": "identity", **headers, "host": hop.host},
                content=content,
                # Anything but the typed name would be checked against the certificate otherwise.
                extensions={"sni_hostname": hop.place.host},
            )
            sending.extensions["timeout"] = {"connect": limits.CONNECT_TIMEOUT}
            reply = Reply(HttpxSource(await client.send(sending, stream=True, follow_redirects=False)))
        except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError, ValueError):
            raise NetError("url", "the address or a header is not valid") from None
        except httpx2.HTTPError as error:
            raise fault(error, hop.place.host) from None
        try:
            yield reply
        finally:
            await reply.aclose()


def _for_next(method: Method, here: Place, there: Place, headers: Mapping[str, str]) -> dict[str, str]:
    """Return what to send to the next address; raise NetError when it must not be followed."""
    if here.scheme == "https" and there.scheme != "https":
        raise NetError("refused", f"{here.host} sent us on to an address without encryption")
    if here == there:
        return dict(headers)
    if method != "GET":
        raise NetError("refused", f"{here.host} wanted the request sent on to {there.host}")
    return {name: value for name, value in headers.items() if name.lower() in _HARMLESS}
