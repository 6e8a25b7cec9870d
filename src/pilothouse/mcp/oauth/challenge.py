"""What a server says when it refuses a request for want of a token (the WWW-Authenticate header)."""

from __future__ import annotations

import re

import msgspec

# A parameter: quoted with its escapes, or a bare token. It begins where a word does, so that each is tried once.
_PARAMETER = re.compile(r'(?<![\w-])[\d-]*+([A-Za-z_][\w-]*+)\s*+=\s*+(?:"((?:[^"\\]++|\\.)*+)"|([^\s,"]++))')
_ESCAPE = re.compile(r"\\(.)")


class Challenge(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that OAuth gives the header; empty where the server said nothing."""

    error: str = ""
    scopes: tuple[str, ...] = ()
    resource_metadata: str = ""


def parse_challenge(header: str) -> Challenge:
    """Read a header of any shape; what is not understood is left out."""
    found: dict[str, str] = {}
    for name, quoted, bare in _PARAMETER.findall(header):
        # Of several challenges the first that says something counts.
        found.setdefault(name.lower(), _ESCAPE.sub(r"\1", quoted) or bare)
    return Challenge(
        error=found.get("error", ""),
        scopes=tuple(found.get("scope", "").split()),
        resource_metadata=found.get("resource_metadata", ""),
    )
