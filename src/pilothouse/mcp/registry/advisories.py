"""What is known to be wrong with a package: asked before it is installed, and never taken for granted."""

from __future__ import annotations

import time
from typing import Literal

import msgspec

from pilothouse.mcp.registry import addresses
from pilothouse.mcp.registry.entries import text
from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, an_object, encode, objects_in

PackageKind = Literal["npm", "pypi"]
_ECOSYSTEMS: dict[PackageKind, str] = {"npm": "npm", "pypi": "PyPI"}
# Ids of packages that do harm on purpose begin so; others are mistakes in packages that mean well.
_MALICIOUS = "MAL-"
_SHOWN = 3


class KnownAbout(msgspec.Struct, frozen=True):
    """What is known about one version of a package."""

    # Why it must not be installed: it is known to be malicious.
    malicious: str = ""
    # What a person should know, a sentence each; also that nobody could be asked.
    warnings: tuple[str, ...] = ()


class AdvisoryFeed:
    """Asks the feed of advisories, and remembers for a while what it said; what it did not say is asked again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[PackageKind, str, str], tuple[float, KnownAbout]] = {}

    async def look(self, kind: PackageKind, name: str, version: str) -> KnownAbout:
        """Return what is known about a version of a package; without a version, about any of them."""
        place, now = (kind, name, version), time.monotonic()
        at, known = self._kept.get(place, (0.0, None))
        if known is not None and now - at < limits.ADVISORY_LASTS:
            return known
        vulns = await _asked(kind, name, version)
        if isinstance(vulns, str):
            return KnownAbout(warnings=(f"Nobody could be asked whether {name} is known to be malicious: {vulns}.",))
        known = _known(name, vulns)
        # The oldest goes first.
        while len(self._kept) >= limits.ADVISORIES_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[place] = (now, known)
        return known


async def _asked(kind: PackageKind, name: str, version: str) -> list[JsonObject] | str:
    """Return the advisories about a package, or why nobody says which there are."""
    wanted: JsonObject = {"package": {"name": name, "ecosystem": _ECOSYSTEMS[kind]}}
    if version:
        wanted["version"] = version
    try:
        got = await fetch(
            f"{addresses.address(addresses.ADVISORIES)}/v1/query",
            headers={"accept": "application/json", "content-type": "application/json"},
            content=encode(wanted),
            timeout=limits.ADVISORY_TIMEOUT,
            limit=limits.ADVISORY_BYTES,
        )
    except NetError as error:
        return error.why
    if got.status != 200:
        return f"it answered with status {got.status}"
    try:
        answer = msgspec.json.decode(got.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        return "it answered with something that is not JSON"
    return [each for each in objects_in(an_object(answer).get("vulns")) if not each.get("withdrawn")]


def _known(name: str, vulns: list[JsonObject]) -> KnownAbout:
    ids = [each for vuln in vulns if (each := text(vuln.get("id"), limits.REGISTRY_TITLE_CHARS))]
    bad = [each for each in ids if each.startswith(_MALICIOUS)]
    if bad:
        return KnownAbout(malicious=f"{name} is known to be malicious ({', '.join(bad[:_SHOWN])}).")
    if not ids:
        return KnownAbout()
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return KnownAbout(warnings=(f"{name} has known weaknesses: {', '.join(ids[:_SHOWN])}{more}.",))
