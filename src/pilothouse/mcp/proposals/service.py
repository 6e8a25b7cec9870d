"""The box that takes anything."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_finding import Proposals
from pilothouse.types.proposals import AnyText, FilledProposal, Recognised
from pilothouse.types.servers import ServerInput


class ProposalService(Proposals):
    """Explains before anything is kept; nothing is started."""

    async def recognise(self, owner: str, body: AnyText) -> Recognised:
        raise PilothouseError("bad_request", "TODO")

    async def recognise_bundle(self, owner: str, body: AsyncIterator[bytes]) -> Recognised:
        raise PilothouseError("bad_request", "TODO")

    async def fill(self, owner: str, body: FilledProposal) -> ServerInput:
        raise PilothouseError("bad_request", "TODO")
