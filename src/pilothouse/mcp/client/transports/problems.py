"""What went wrong on the way to a server, in one sentence and with what to try.

Of an address only the host is named: paths and queries of hosted servers often hold a token.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.start_errors import rate_limited
from pilothouse.net.addresses import Place, is_offline, place_of
from pilothouse.net.certificates import shown_by
from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.invisible import without_hidden

_PATHS = "Many servers answer at an address that ends in /mcp or /sse."
_TRUST = "trust its certificate by this SHA-256 fingerprint, in its settings or with `--trust-certificate`"
_AUTHENTICATE = "Give the key that it expects in Settings, MCP, or with `pilothouse mcp keys NAME`."
_AWAY = {502, 503, 504}
# Where JSON answers say what is wrong, the most telling first.
_SAYING = ("error_description", "error", "message", "detail", "msg", "title", "reason", "errors")
_NO_TEXT = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x1f\x7f-\x9f]")
_WORDS_CHARS = 300


async def from_net(error: NetError, url: str) -> ChannelError:
    """Return what a failed connection means; for a certificate that nobody vouches for, show which it is."""
    if error.problem == "url":
        return ChannelError(f"The address cannot be used: {error.why}.", fix="Correct it.", sent=False)
    place = place_of(url)
    if error.problem in ("unknown", "unresolved", "unreachable") and is_offline(place.host):
        return ChannelError("Network unavailable. Check connection.", sent=False)
    if error.problem == "certificate":
        return await _certificate(error, place)
    message, fix = _words(error, place)
    made = ChannelError(message, fix=fix, sent=error.sent)
    made.dropped = error.problem == "broken"
    return made


def _words(error: NetError, place: Place) -> tuple[str, str]:
    host = place.host
    match error.problem:
        case "unknown":
            return f"The name {host} is not known.", "Check the address for a typing mistake."
        case "unresolved":
            message = f"The name {host} cannot be looked up at the moment: the network's name server does not answer."
            return message, "Check your connection, and try again."
        case "unreachable":
            return (
                f"No connection to {host} on port {place.port}: {error.why}.",
                "Start the server, or correct its address.",
            )
        case "silent":
            return f"{host} does not answer: {error.why}.", "Try again, or check that the server is well."
        case "refused":
            return f"{host} leads elsewhere: {error.why}.", "Use that address if it is the right one."
        case "large":
            return f"{host} sent too much: {error.why}.", "Ask the tool for less."
        case _:
            return f"The connection to {host} broke: {error.why}.", "Try again, or check that the server is well."


async def _certificate(error: NetError, place: Place) -> ChannelError:
    fingerprint = await shown_by(place.host, place.port)
    fix = "Renew the server's certificate."
    if fingerprint:
        fix = f"If this is your server, {_TRUST}: {fingerprint}."
    problem = ChannelError(f"No safe connection to {place.host}, because {error.why}.", fix=fix, sent=False)
    problem.certificate = fingerprint
    return problem


def from_status(status: int, headers: Mapping[str, str], body: bytes, url: str) -> ChannelError:
    """Return what an answer means that is not MCP."""
    wait = _retry_after(headers.get("retry-after", ""))
    is_page = looks_like_a_page(headers, body)
    outline, fix = _status_words(status, place_of(url).host, wait, is_page)
    said = "" if is_page else _own_words(body, url)
    message = f"{outline} It says: “{said}”." if said else outline
    # What was refused at the door was not carried out.
    error = ChannelError(message, fix=fix, sent=status not in (401, 403, 404, 405, 429, 503), status=status)
    # A stranger's words are for the person, not for a model.
    error.outline = outline
    error.retry_after = wait
    return error


def _status_words(status: int, host: str, wait: float | None, page: bool) -> tuple[str, str]:
    if status == 401:
        return "Authentication failed. Check your API key.", _AUTHENTICATE
    if status == 403:
        return f"{host} refuses access (403).", "Check that this key or account may use the server."
    if status == 429:
        return rate_limited(wait or limits.RETRY_FIRST_WAIT), ""
    if status in _AWAY:
        return f"{host} is not available at the moment ({status}).", "Try again in a while."
    if page:
        return f"{host} answers with a web page, not as an MCP server.", f"Check the address. {_PATHS}"
    if status in (404, 405):
        return f"{host} has no MCP server at this address ({status}).", f"Check the path. {_PATHS}"
    if status >= 500:
        return f"{host} failed ({status}).", "Try again, or ask whoever runs the server."
    return f"{host} answers {status} and not as an MCP server does.", f"Check the address. {_PATHS}"


def _own_words(body: bytes, url: str) -> str:
    """Return what a server says about a failure, on one line and cut; empty when that is nothing readable."""
    text = body.decode("utf-8", "replace")
    with suppress(msgspec.DecodeError, RecursionError):
        text = next(_sentences(msgspec.json.decode(body)), "")
    if "\ufffd" in text:
        return ""
    # Many answers repeat what was asked for.
    for private in sorted(_private(url), key=len, reverse=True):
        text = text.replace(private, "…")
    plain = " ".join(without_hidden(_NO_TEXT.sub(" ", text))[0].split())
    return plain if len(plain) <= _WORDS_CHARS else f"{plain[:_WORDS_CHARS]}…"


def _private(url: str) -> Iterator[str]:
    """Yield the pieces of an address that may hold a token."""
    parts = urlsplit(url)
    values = [each.partition("=")[2] for each in parts.query.split("&")]
    pieces = [parts.path, parts.query, *parts.path.split("/"), *values]
    return (piece for piece in pieces if len(piece) > 3)


def _sentences(value: object) -> Iterator[str]:
    """Yield the texts of a JSON answer in which servers say what is wrong."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key in _SAYING:
            yield from _sentences(value.get(key))
    elif isinstance(value, list) and value:
        yield from _sentences(value[0])


def looks_like_a_page(headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether an answer is meant for a browser."""
    start = body[:200].lstrip().lower()
    return "html" in headers.get("content-type", "").lower() or start.startswith((b"<!doctype html", b"<html"))


def _retry_after(value: str) -> float | None:
    """Return the seconds of a Retry-After header, bounded by how long anybody waits for one server."""
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    if not math.isfinite(seconds):
        return None
    return min(max(seconds, 0.0), limits.RETRY_MAX_WAIT)
