"""Branches as a host has them; loaded when someone asks about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pilothouse.host.dependencies import Dependencies
from pilothouse.types.records import Records

if TYPE_CHECKING:
    from pilothouse.host.service import HostService
    from pilothouse.types.host_branches import Branches


def branch_service(records: Records, host: HostService, dependencies: Dependencies) -> Branches:
    """Return who answers for branches."""
    from pilothouse.host.branches import BranchService

    return BranchService(records, host, dependencies)
