"""Where a gateway of the old transport takes messages: what it says, and where others take them all the same."""

from __future__ import annotations

import re
from urllib.parse import urljoin, urlsplit

_SESSION = re.compile(r"[?&](session_?id)=([^&#\s\"']+)", re.IGNORECASE)
# A bare line may hold more than the address: "endpoint /message?sessionId=1".
_WORD = re.compile(r"[^\s\"'<>]++")
_NAMED = re.compile(r"[?&]session_?id=.", re.IGNORECASE)
_LOOSE = re.compile(r"session_?id=[^\s\"'&]+", re.IGNORECASE)


def named_in(text: str) -> str:
    """Return the address with a session in a line of a stream, empty when there is none."""
    for word in _WORD.finditer(text):
        if _NAMED.search(word[0]):
            return word[0]
    # "sessionId=1", without the question mark.
    loose = _LOOSE.search(text)
    return f"?{loose[0]}" if loose else ""


def candidates(url: str, endpoint: str) -> list[str]:
    """Return where to send messages, best first: the address that was named, then where other gateways take them."""
    base = _base(url)
    session = _SESSION.search(endpoint)
    first = urljoin(url, endpoint)
    if endpoint.startswith("?"):
        first = f"{base}/sse{endpoint}"
    found = [first]
    if session:
        found.append(f"{base}/sse?sessionid={session[2]}")
    query = f"?sessionId={session[2]}" if session else ""
    found += [f"{base}/message{query}", f"{base}/rpc{query}", f"{base or url}{query}"]
    return list(dict.fromkeys(found))


def _base(url: str) -> str:
    parts = urlsplit(url)
    path = parts.path.rstrip("/").removesuffix("/sse")
    return parts._replace(path=path, query="", fragment="").geturl()
