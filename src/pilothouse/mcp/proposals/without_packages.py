"""Stands where the registries of packages and the bundles come in: says that they are not there."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pilothouse.mcp.proposals.named_packages import Facts
from pilothouse.mcp.proposals.recognising import PackageKind
from pilothouse.mcp.proposals.service import Kept
from pilothouse.types.errors import PilothouseError


class WithoutPackages:
    """Knows no package and keeps no bundle."""

    async def newest(self, kind: PackageKind, name: str, version: str = "") -> Facts | None:
        raise PilothouseError("bad_request", "Packages cannot be looked up.")

    async def keep(self, chunks: AsyncIterator[bytes]) -> Kept:
        raise PilothouseError("bad_request", "Bundles cannot be read.")
