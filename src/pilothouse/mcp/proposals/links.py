"""Links that install a server in another program: `cursor://…`, `vscode:mcp/install?…` and what leads to them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from pilothouse.types.errors import BadField

_SCHEMES = re.compile(r"(?i)(cursor|vscode|vscode-insiders|lmstudio|goose|kiro):")
_WEB = re.compile(
    r"(?i)https://(?:"
    r"(?:www\.)?cursor\.com/(?:[a-z-]{2,5}/)?(?:install-mcp|link/mcp/install|link/mcp%2finstall)"
    r"|(?:insiders\.)?vscode\.dev/redirect"
    r"|kiro\.dev/launch/mcp/add"
    r")(?=[/?]|$)"
)
_NAMES = {"cursor": "Cursor", "vscode": "VS Code", "vscode-insiders": "VS Code", "lmstudio": "LM Studio",
          "goose": "goose", "kiro": "Kiro"}  # fmt: skip
_BROKEN = "The link to install a server is broken: what it carries cannot be read. Copy it again, or paste the command."
# A link may lead to another once or twice.
_STEPS = 3


class Carried(msgspec.Struct, frozen=True):
    """What an install link carries: JSON of one entry, or the words of a command."""

    host: str
    name: str = ""
    text: str = ""
    inputs: str = ""
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = {}


def is_link(text: str) -> bool:
    """Return whether a text is a link that installs something."""
    return _SCHEMES.match(text) is not None or _WEB.match(text) is not None


def carried(link: str, steps: int = _STEPS) -> Carried:
    """Return what a link carries; raise a BadField for one that is broken."""
    if steps < 0 or re.search(r"\s", link):
        raise BadField((), _BROKEN)
    try:
        parts = urlsplit(link)
    except ValueError:
        raise BadField((), _BROKEN) from None
    scheme = parts.scheme.lower()
    if scheme == "https":
        scheme = (
            "vscode" if "vscode.dev" in parts.netloc.lower() else "kiro" if "kiro" in parts.netloc.lower() else "cursor"
        )
    query = _query(parts.query)
    if inner := query.get("url"):
        if not is_link(inner):
            raise BadField((), _BROKEN)
        return carried(inner, steps - 1)
    if scheme == "goose":
        return _goose(parts.query, query)
    if not query.get("config") and scheme.startswith("vscode"):
        return Carried(_NAMES[scheme], text=_json(unquote(parts.query)))
    if not query.get("config"):
        raise BadField((), _BROKEN)
    inputs = query.get("inputs", "")
    return Carried(_NAMES[scheme], query.get("name", ""), _json(query["config"]), _json(inputs) if inputs else "")


def _query(text: str) -> dict[str, str]:
    try:
        return {name: values[0] for name, values in parse_qs(text, max_num_fields=100).items()}
    except ValueError:
        raise BadField((), _BROKEN) from None


def _json(text: str) -> str:
    """Return JSON that is written out or in base64, with whatever became of its plus signs."""
    plain = text.strip()
    if plain.startswith(("{", "[")):
        return plain
    if unquote(plain).startswith(("{", "[")):
        return unquote(plain)
    packed = re.sub(r"\s", "+", plain).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        made = base64.b64decode(packed + "=" * (-len(packed) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        raise BadField((), _BROKEN) from None
    if not made.lstrip().startswith(("{", "[")):
        raise BadField((), _BROKEN)
    return made


def broken() -> BadField:
    """Return the sentence about a link that carries something else than a server."""
    return BadField((), _BROKEN)


def _goose(raw: str, query: Mapping[str, str]) -> Carried:
    command = query.get("cmd", "")
    if not command:
        raise BadField((), _BROKEN)
    many = parse_qs(raw, max_num_fields=100)
    env = {each.partition("=")[0]: "" for each in many.get("env", [])}
    return Carried("goose", query.get("name", ""), argv=(command, *many.get("arg", [])), env=env)
