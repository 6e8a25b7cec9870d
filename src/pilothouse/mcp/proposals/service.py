"""The box that takes anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import TypeVar

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.mcp.proposals import described, mcpb, recognising
from pilothouse.mcp.proposals.downloads import KeepsBundles, downloaded
from pilothouse.mcp.proposals.filling import filled
from pilothouse.mcp.proposals.named_packages import Index, looked_up
from pilothouse.mcp.servers.keeping import check_owner
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_finding import Proposals
from pilothouse.types.invisible import whole
from pilothouse.types.proposals import AnyText, FilledProposal, Recognised
from pilothouse.types.servers import ServerInput

_Given = TypeVar("_Given")
_Returned = TypeVar("_Returned")


class ProposalService(Proposals):
    """Explains before anything is kept; nothing is started."""

    def __init__(self, helper: Helper, index: Index, bundles: KeepsBundles) -> None:
        self._helper = helper
        self._index = index
        self._bundles = bundles

    async def recognise(self, owner: str, body: AnyText) -> Recognised:
        check_owner(owner)
        text = whole(body.text)
        if len(text.encode()) > limits.RECOGNISED_BYTES:
            message = "This is too much text for a server: paste the part that is about it."
            raise PilothouseError("too_large", message)
        asked = recognising.Asked(text=text, home=str(Path.home()))
        reading = await self._read(recognising.read, asked)
        if reading.bundle is not None:
            made = await downloaded(reading.bundle, self._bundles, near=reading.bundle.url)
            return Recognised(what=f"The bundle {made.name}.", proposals=(made,))
        if reading.package is not None:
            return await looked_up(reading.package, reading.words, self._index)
        if reading.repository is not None:
            return await described.of_repository(reading.repository, lambda text: self._read(described.described, text))
        return Recognised(what=reading.what, proposals=reading.proposals, words=reading.words)

    async def recognise_bundle(self, owner: str, body: AsyncIterator[bytes]) -> Recognised:
        check_owner(owner)
        kept = await self._bundles.keep(body)
        made = mcpb.proposal_of(kept.manifest, kept.sha256, kept.warnings)
        return Recognised(what=f"The bundle {made.name}.", proposals=(made,))

    async def fill(self, owner: str, body: FilledProposal) -> ServerInput:
        check_owner(owner)
        return filled(body)

    async def _read(self, function: Callable[[_Given], _Returned], given: _Given) -> _Returned:
        """Have the helper process look at what strangers wrote."""
        try:
            return await asyncio.to_thread(self._helper.ask, function, given)
        except Unreadable as error:
            raise PilothouseError("bad_request", f"This cannot be read: {error.why}.") from None
