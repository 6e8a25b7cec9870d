"""What an index says about a package, as text of strangers; and how an installed one is started."""

from __future__ import annotations

import msgspec

from pilothouse.mcp.packages.pins import PackageKind
from pilothouse.mcp.servers.consent_warnings import visible
from pilothouse.types import limits


class PackageFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A package at one version, as its index describes it."""

    kind: PackageKind
    name: str
    version: str
    description: str = ""
    licence: str = ""
    programs: tuple[str, ...] = ()
    # Why it should not be used any more; empty while nobody says so.
    deprecated: str = ""


class Advisories(msgspec.Struct, frozen=True):
    """What is publicly known against a package at one version."""

    # The advisory's id and sentence where the package is known to be malicious: it is not installed.
    malicious: str = ""
    # Known weaknesses, or that nobody could be asked: a sentence each.
    warnings: tuple[str, ...] = ()


class Unpacked(msgspec.Struct, frozen=True):
    """An installed package: what is started, before the arguments, and where its own programs are."""

    command: tuple[str, ...]
    path: tuple[str, ...] = ()
    # Variables that it needs, which a declared one overrides.
    variables: dict[str, str] = {}
    # What stands for "${__dirname}" in arguments and variables.
    folder: str = ""


def clean(text: object) -> str:
    """Return a stranger's text on one line, with nothing invisible, within a bound."""
    plain = " ".join(str(text).split()) if text is not None and text is not False else ""
    return visible(plain[: limits.PACKAGE_TEXT_CHARS])


def listed(number: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{number} {one if number == 1 else many}"
