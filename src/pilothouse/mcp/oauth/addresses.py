"""Addresses that a server names: checked before use, and used in exactly the form that was checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit

from pilothouse.mcp.oauth.errors import OAuthError
from pilothouse.types import limits
from pilothouse.types.origins import is_loopback_host, origin_of

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?\.?|[0-9A-Fa-f:.]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_TELL = "Check the server's address, and tell its operator."
# What may stand in a path or a query as it is; everything else is written as %XX.
_KEPT = "/:@!$&()*+,;=-._~%"


def checked(url: str, what: str) -> str:
    """Return an address written anew from its parts; raise unless it is https, or http on this machine."""
    if len(url) > limits.SIGN_IN_URL_CHARS:
        raise OAuthError(
            f"The server names an address of {len(url)} characters as its {what}; none is so long.", fix=_TELL
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _refused(what, url) from None
    host = parts.hostname or ""
    if _CONTROL.search(url) or not _HOST.fullmatch(host) or "@" in parts.netloc or "\\" in parts.netloc:
        raise _refused(what, url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback_host(host)):
        raise _refused(what, url)
    shown = f"[{host}]" if ":" in host else host
    netloc = shown if port is None else f"{shown}:{port}"
    return urlunsplit(SplitResult(parts.scheme, netloc, _encoded(parts.path), _encoded(parts.query, "?"), ""))


def with_query(url: str, parameters: Mapping[str, str]) -> str:
    """Return a checked address with more parameters; it must not set one of them itself."""
    parts = urlsplit(url)
    if {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)} & parameters.keys():
        raise _refused("authorization endpoint", url)
    query = "&".join(filter(None, (parts.query, urlencode(parameters, quote_via=quote))))
    return urlunsplit(parts._replace(query=query))


def canonical(url: str) -> str:
    """Return a server's address as its tokens name it: scheme and host in small letters, no fragment."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower(), fragment=""))


def covers(resource: str, url: str) -> bool:
    """Return whether a resource is this address or lies above it on the same origin."""
    if not origin_of(resource) or origin_of(resource) != origin_of(url):
        return False
    above = urlsplit(resource).path.rstrip("/") + "/"
    return f"{urlsplit(url).path.rstrip('/')}/".startswith(above)


def same_issuer(one: str, other: str) -> bool:
    """Return whether two issuers are the same text; only the slash after a bare host makes no difference."""
    return one == other or (one.rstrip("/") == other.rstrip("/") and not urlsplit(one).path.strip("/"))


def well_known(url: str, name: str) -> str:
    """Return where a document about an address is kept: its path moves behind `/.well-known/`."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    return urlunsplit((parts.scheme, parts.netloc, f"/.well-known/{name}{path}", "", ""))


def root(url: str) -> str:
    """Return an address without path and query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def _encoded(text: str, more: str = "") -> str:
    return quote(_STRAY_PERCENT.sub("%25", text), safe=_KEPT + more)


def _refused(what: str, url: str) -> OAuthError:
    shown = quote(url[:80], safe=_KEPT + "?#[]' ")
    return OAuthError(
        f"The server names “{shown}” as its {what}; only https addresses are used for signing in.",
        fix=_TELL,
    )
