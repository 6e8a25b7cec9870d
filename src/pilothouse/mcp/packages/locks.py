"""Locks: which packages a server brings, each at one version and with one content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

import msgspec

from pilothouse.mcp.packages.pins import PackageKind, Pin
from pilothouse.types import limits
from pilothouse.types.json import JsonObject


class Lock(msgspec.Struct, frozen=True):
    """A resolved package, before and after it is installed."""

    pin: Pin
    # As its own installer takes it: package-lock.json, or requirements with hashes.
    text: str

    def is_whole(self) -> bool:
        """Return whether the text is the one that was pinned."""
        return digest_of("npm" if self.pin.kind == "npm" else "pypi", self.text) == self.pin.digest

    def versions(self) -> dict[str, str]:
        """Return the packages, each with its versions."""
        return _npm_versions(self.text) if self.pin.kind == "npm" else _pypi_versions(self.text)


def digest_of(kind: PackageKind, text: str) -> str:
    """Return the same for the same packages with the same content, wherever they are fetched from."""
    bound: object
    if kind == "npm":
        places = npm_packages(text)
        bound = sorted((place, *_content(each)) for place, each in places.items())
    else:
        bound = sorted(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return hashlib.sha256(msgspec.json.encode(bound)).hexdigest()


def npm_packages(text: str) -> dict[str, JsonObject]:
    """Return what an npm lock has, by its place below the folder; the folder itself excepted."""
    try:
        lock = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    found = lock.get("packages") if isinstance(lock, dict) else None
    found = found if isinstance(found, dict) else {}
    return {place: each for place, each in found.items() if place and isinstance(each, dict)}


def unpinned(text: str) -> Iterator[str]:
    """Yield the places of an npm lock whose content nobody vouches for."""
    for place, each in npm_packages(text).items():
        if not each.get("integrity") and not each.get("inBundle"):
            yield place


def _content(package: Mapping[str, object]) -> tuple[str, str]:
    """Return what decides on the content: its hash, else where it comes from."""
    content = package.get("integrity") or (package.get("resolved"), package.get("link"), package.get("inBundle"))
    return str(package.get("version")), str(content)


def _npm_versions(text: str) -> dict[str, str]:
    found: dict[str, set[str]] = {}
    for place, each in npm_packages(text).items():
        found.setdefault(place.rpartition("node_modules/")[2], set()).add(str(each.get("version", "")))
    return {name: ", ".join(sorted(versions)) for name, versions in found.items()}


def _pypi_versions(text: str) -> dict[str, str]:
    lines = (line.split()[0].partition("==") for line in text.splitlines() if line[:1].isalnum())
    return {name.partition("[")[0]: version for name, _, version in lines}


def differences(before: Lock | None, now: Lock) -> Iterator[str]:
    """Yield in short what another lock brings, but for the package itself."""
    if before is None:
        return
    old, new = before.versions(), now.versions()
    for each in (old, new):
        each.pop(now.pin.name, None)
    changed = [
        f"{name} {old[name]} → {new[name]}" for name in sorted(new.keys() & old.keys()) if new[name] != old[name]
    ]
    for what, names in (
        ("New packages", sorted(new.keys() - old.keys())),
        ("Packages that are gone", sorted(old.keys() - new.keys())),
        ("Packages at another version", changed),
    ):
        if names:
            more = len(names) - limits.PACKAGES_NAMED
            rest = f" and {more} more" if more > 0 else ""
            yield f"{what}: {', '.join(names[: limits.PACKAGES_NAMED])}{rest}."
