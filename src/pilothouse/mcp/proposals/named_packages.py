"""A package that was typed by its name: what npm and PyPI have under it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Protocol

import msgspec

from pilothouse.mcp.proposals import commands
from pilothouse.mcp.proposals.recognising import PackageKind, PackageNamed
from pilothouse.mcp.proposals.texts import shown
from pilothouse.types.errors import PilothouseError
from pilothouse.types.proposals import Proposal, Recognised

_REGISTRIES: dict[PackageKind, str] = {"npm": "npm", "pypi": "PyPI"}
_SERVER = re.compile(r"(?i)\bmcp\b|model context protocol|mcp")


class Facts(Protocol):
    """What a registry of packages says about one of them."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def programs(self) -> tuple[str, ...]: ...
    @property
    def deprecated(self) -> str: ...


class Index(Protocol):
    """Asks the registries of packages as this machine is set up for them."""

    async def newest(self, kind: PackageKind, name: str, version: str = "") -> Facts | None: ...


async def looked_up(package: PackageNamed, words: str, index: Index) -> Recognised:
    """Return what there is under a name; where there is nothing, that is the sentence."""
    asked = await asyncio.gather(*(_asked(kind, package, index) for kind in package.kinds))
    found = [(kind, facts) for kind, facts, _ in asked if facts is not None]
    problems = [problem for _, _, problem in asked if problem]
    if found:
        names = " and ".join(_REGISTRIES[kind] for kind, _ in found)
        what = f"The package {package.name} of {names}."
    else:
        what = _nothing(package, problems)
    proposals = tuple(_proposal(kind, facts) for kind, facts in found)
    return Recognised(what=" ".join((what, *problems)) if found else what, proposals=proposals, words=words)


async def _asked(kind: PackageKind, package: PackageNamed, index: Index) -> tuple[PackageKind, Facts | None, str]:
    try:
        return kind, await index.newest(kind, package.name, package.version), ""
    except PilothouseError as error:
        return kind, None, str(error)


def _nothing(package: PackageNamed, problems: Sequence[str]) -> str:
    if problems:
        return problems[0]
    where = " or ".join(_REGISTRIES[kind] for kind in package.kinds)
    if package.version:
        return f"There is no version {package.version} of a package {package.name} on {where}."
    return f"There is no package {package.name} on {where}."


def _proposal(kind: PackageKind, facts: Facts) -> Proposal:
    pinned = f"{facts.name}@{facts.version}" if kind == "npm" else f"{facts.name}=={facts.version}"
    argv = ("npx", "-y", pinned) if kind == "npm" else ("uvx", pinned)
    made = commands.proposal_of(commands.Line(argv))
    warnings = []
    if facts.deprecated:
        warnings.append(f"Its authors say that it should not be used any more: {shown(facts.deprecated, 200)}")
    if not _SERVER.search(f"{facts.name} {facts.description}"):
        warnings.append("Nothing in its name or description says that it is an MCP server.")
    made = msgspec.structs.replace(
        made,
        runs=f"{_REGISTRIES[kind]} {facts.name} {facts.version}",
        description=shown(facts.description),
        warnings=tuple(warnings),
    )
    if facts.programs:
        return made
    problem = f"The package {facts.name} has no program that could be started."
    return msgspec.structs.replace(made, server=None, problem=problem)
