"""What is known to be wrong with a package: asked before it is installed, and never taken for granted."""

from __future__ import annotations

import time

import msgspec

from pilothouse.mcp.packages.facts import Advisories
from pilothouse.mcp.packages.pins import PackageKind
from pilothouse.mcp.registry import addresses
from pilothouse.mcp.registry.entries import text
from pilothouse.net.client import fetch
from pilothouse.net.errors import NetError
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, an_object, encode, objects_in

_ECOSYSTEMS: dict[PackageKind, str] = {"npm": "npm", "pypi": "PyPI"}
# Ids of packages that do harm on purpose begin so; others are mistakes in packages that mean well.
_MALICIOUS = "MAL-"
_SHOWN = 3
# The longest id in use has some 20 characters.
_ID = 40


class AdvisoryFeed:
    """Asks the feed of advisories, and remembers for a while what it said; what it did not say is asked again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[PackageKind, str, str], tuple[float, Advisories]] = {}

    async def look(self, kind: PackageKind, name: str, version: str) -> Advisories:
        """Return what is known about a version of a package; without a version, about any of them."""
        place, now = (kind, name, version), time.monotonic()
        at, known = self._kept.get(place, (0.0, None))
        if known is not None and now - at < limits.ADVISORY_LASTS:
            return known
        vulns = await _asked(kind, name, version)
        if isinstance(vulns, str):
            return Advisories(warnings=(f"Nobody could be asked whether {name} is known to be malicious: {vulns}.",))
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


def _known(name: str, vulns: list[JsonObject]) -> Advisories:
    told = [(text(each.get("id"), _ID), text(each.get("summary"), limits.REGISTRY_TITLE_CHARS)) for each in vulns]
    bad = [f"{each}: {words}" if words else each for each, words in told if each.startswith(_MALICIOUS)]
    if bad:
        return Advisories(malicious=f"{'; '.join(bad[:_SHOWN])}.")
    ids = [each for each, _words in told if each]
    if not ids:
        return Advisories()
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return Advisories(warnings=(f"{name} has known weaknesses: {', '.join(ids[:_SHOWN])}{more}.",))
