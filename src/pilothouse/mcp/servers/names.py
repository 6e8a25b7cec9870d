"""Names of servers and tools: for people, for models, never two alike, and those made to look like others told."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from pilothouse.types import limits
from pilothouse.types.servers import ServerEntry
from pilothouse.types.tool_names import BUILT_IN

SEPARATOR = "__"
_OTHER = re.compile(r"[^a-z0-9_-]+")
_TELLING = re.compile(r"[_.-]|[a-z][A-Z]")
_NOT_ON_THE_WIRE = re.compile(r"[^A-Za-z0-9_-]")
# Scripts whose letters pass for each other's; a name in one of them is a name, one in several is a disguise.
_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL"})


def slug(name: str) -> str:
    """Return a server's name as a prefix; two underscores never stand together in it, nor one at its end."""
    made = re.sub("_{2,}", "_", _OTHER.sub("_", name.lower())).strip("_")
    if not made.strip("-"):
        made = f"server_{_short(name, 6)}"
    return f"{made}_server" if made in BUILT_IN else made


def slugs(entries: Iterable[ServerEntry]) -> dict[str, str]:
    """Return the prefix of each server by its id; the later of two alike gets a mark of its own."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for entry in entries:
        made = slug(entry.name)
        if made in taken:
            made = f"{made}_{_short(entry.id, 6)}"
        taken.add(made)
        found[entry.id] = made
    return found


def telling(names: Iterable[str]) -> frozenset[str]:
    """Return the names that are no ordinary words."""
    return frozenset(name for name in names if len(name) >= 6 and _TELLING.search(name))


def qualified_name(prefix: str, tool: str) -> str:
    """Return a tool's name as people see it."""
    return f"{prefix}.{tool}"


def wire_name(prefix: str, tool: str) -> str:
    """Return a tool's name as models see it; what does not fit is cut and marked, always in the same way."""
    plain = f"{prefix}{SEPARATOR}{tool}"
    fitting = _NOT_ON_THE_WIRE.sub("_", plain)
    if fitting == plain and len(plain) <= limits.WIRE_NAME_CHARS:
        return plain
    mark = _short(plain, 8)
    return f"{fitting[: limits.WIRE_NAME_CHARS - len(mark) - 1]}_{mark}"


def _short(text: str, digits: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:digits]


def mixes_scripts(text: str) -> bool:
    """Return whether a name has letters of several scripts that look alike."""
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha()}
    return len(scripts & _ALIKE) > 1


def plain_host(host: str) -> str:
    """Return a host as the network knows it: in ASCII, so that no letter passes for another."""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return ".".join(_plain_label(label) for label in host.split("."))


def _plain_label(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
