"""What a `WWW-Authenticate` header asks for."""

from __future__ import annotations

import re

import msgspec

# A parameter: quoted with its escapes, or a bare token.
_PARAMETER = re.compile(r'([A-Za-z_][\w-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')


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
        found.setdefault(name.lower(), re.sub(r"\\(.)", r"\1", quoted) or bare)
    return Challenge(
        error=found.get("error", ""),
        scopes=tuple(found.get("scope", "").split()),
        resource_metadata=found.get("resource_metadata", ""),
    )
