"""What all proposals of one server share, in whatever form a registry describes it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.mcp.proposals.blanks import Blanks
from pilothouse.mcp.proposals.texts import shown
from pilothouse.types import limits
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import PackageType, ServerInput, Source


class About(msgspec.Struct, frozen=True):
    """A server as it is described, before anyone chose a way to have it."""

    name: str
    description: str
    source: Source
    # Where it is, if it is somewhere for everyone.
    address: str = ""

    def made(
        self, kind: PackageType, runs: str, server: ServerInput, blanks: Blanks, notes: Sequence[str] = ()
    ) -> Proposal:
        """Return a way to have it, with what is to be filled in."""
        return Proposal(
            name=self.name,
            kind=kind,
            runs=shown(runs, limits.PROPOSAL_ABOUT_CHARS),
            server=server,
            source=self.source,
            fields=blanks.fields,
            auth_type=blanks.auth_type,
            description=self.description,
            notes=tuple(notes),
        )

    def without(self, problem: str, kind: PackageType, runs: str = "") -> Proposal:
        """Return a way that cannot be had, and why."""
        return Proposal(
            name=self.name,
            kind=kind,
            runs=shown(runs, limits.PROPOSAL_ABOUT_CHARS),
            server=None,
            source=self.source,
            description=self.description,
            problem=problem,
        )
