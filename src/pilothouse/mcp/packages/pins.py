"""What a server's package is pinned to: a part of the consent, and all that is needed to find it installed."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from pilothouse.types.servers import Package

PackageKind = Literal["npm", "pypi"]
# Names that an index knows, with what may be said of the version; anything else is left to npx and uvx.
_NPM = re.compile(r"((?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~_][\w.~-]*)(?:@([\w.^~<>=*+-]+))?")
_PYPI = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(\[[\w,.-]+\])?(?:(?:==|@)([\w.!+*-]+))?")
_EXACT = re.compile(r"v?\d[\w.!+-]*")
_STARTERS = {"npm": "npx", "pypi": "uvx"}


class Pin(msgspec.Struct, frozen=True, omit_defaults=True):
    """One package at one version, with everything that it brings."""

    kind: Literal["npm", "pypi", "mcpb"]
    name: str
    version: str
    # Of the lock: which packages, at which versions, with which content. Of a bundle: of its file.
    digest: str
    # Which of its programs is started.
    program: str
    # How many packages are installed, itself included.
    packages: int = 1
    # Whether install scripts may run; of PyPI, whether packages may be built.
    scripts: bool = False
    # What was asked for: where that is something else now, this is not what it was pinned to.
    wanted: str = ""
    # What is to be said about it, a sentence each.
    warnings: tuple[str, ...] = ()
    # The Python that it was resolved for, where that is not ours.
    python: str = ""

    def bound(self) -> tuple[str | bool, ...]:
        """Return what a consent is bound to."""
        return (self.kind, self.name, self.version, self.digest, self.program, self.scripts)


class Wanted(msgspec.Struct, frozen=True):
    """A package as a person named it."""

    kind: PackageKind
    name: str
    # Of PyPI: "[cli]".
    extras: str = ""
    # Empty for the newest; of npm also a range or a tag.
    version: str = ""
    # Empty for the one that is named like the package, or its only one.
    program: str = ""
    requirements: tuple[str, ...] = ()
    scripts: bool = False

    @property
    def text(self) -> str:
        """Return the same for the same wish."""
        return msgspec.json.encode(self).decode()

    @property
    def spoken(self) -> str:
        """Return its name and version as its own tools write them."""
        joint = "@" if self.kind == "npm" else "=="
        return f"{self.name}{self.extras}{joint}{self.version}" if self.version else f"{self.name}{self.extras}"

    @property
    def where(self) -> str:
        """Return what its index is called."""
        return "npm" if self.kind == "npm" else "PyPI"

    @property
    def is_exact(self) -> bool:
        """Return whether one version is named, and no range or tag."""
        return _EXACT.fullmatch(self.version) is not None


def wanted_of(package: Package) -> Wanted | None:
    """Return which package is to be installed; None for what an index does not have, or another starter runs."""
    if package.type not in ("npm", "pypi") or package.runtime_hint not in (None, "", _STARTERS[package.type]):
        return None
    kind: PackageKind = "npm" if package.type == "npm" else "pypi"
    found = (_NPM if kind == "npm" else _PYPI).fullmatch(package.identifier)
    if found is None:
        return None
    name, extras, version = (found[1], "", found[2]) if kind == "npm" else (found[1], found[2] or "", found[3])
    version = package.version or version or ""
    return Wanted(
        kind=kind,
        name=name,
        extras=extras,
        version="" if version == "latest" else version,
        program=package.program,
        requirements=package.requirements,
        scripts=package.scripts,
    )


def asked_for(package: Package) -> str:
    """Return what a pin of this package was asked by; empty for one that cannot be pinned."""
    if package.type == "mcpb":
        return msgspec.json.encode((package.identifier, package.runtime_hint, package.scripts)).decode()
    wanted = wanted_of(package)
    return wanted.text if wanted is not None else ""


def program_of(name: str, programs: tuple[str, ...], chosen: str = "") -> str | None:
    """Return which program of a package is started: the chosen one, the one named like it, or its only one."""
    if chosen:
        return chosen if chosen in programs else None
    plain = name.rpartition("/")[2]
    like = {plain, plain.lower(), plain.replace("_", "-").lower(), plain.replace("-", "_").lower()}
    alike = next((each for each in programs if each in like), None)
    return alike or (programs[0] if len(programs) == 1 else None)
