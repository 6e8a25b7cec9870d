"""The keys that a server said it lacks, from when it fails, starts or answers, until someone gives them."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.missing_keys import Lack, lacking_header, lacking_in_call
from pilothouse.mcp.client.start_errors import MissingKeys
from pilothouse.mcp.servers.keys import key_places, same_id

if TYPE_CHECKING:
    from pilothouse.mcp.servers.server import Server

_UNAUTHORIZED = 401


class Lacks:
    """What one server lacks; kept with its list of tools."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def known(self) -> tuple[Lack, ...]:
        """Return the keys that it said it lacks."""
        return self._server.parts.catalogue.kept(self._server.entry).lacks

    def learned_from(self, error: ChannelError) -> bool:
        """Keep which keys a start failed for want of; return whether a key file was for one, and is read from now on.

        That is an entry of the oldest form, which names a file and not what it is for.
        """
        entry = self._server.entry
        if isinstance(error, MissingKeys):
            self._keep(error.lacks)
            return not key_places(entry) and bool(key_places(entry, error.lacks))
        if not self._server.local and error.status == _UNAUTHORIZED:
            wanted = f"header:{lacking_header(error.message)}"
            given = [*(f"header:{name}" for name in entry.config.headers), *key_places(entry)]
            # One that was given and is refused is not missing.
            self._keep(() if any(same_id(wanted, each) for each in given) else (Lack(wanted),))
        return False

    def started_without(self, lacks: Sequence[Lack]) -> None:
        """Keep which keys it started without; what its calls lack stays known."""
        entry, known = self._server.entry, self.known()
        read = key_places(entry, known).keys() - entry.config.keys.keys()
        self._keep((*lacks, *(each for each in known if each.tool or each.id in read)))

    def answered(self, tool: str, failure: str | None) -> None:
        """Keep which keys the answer of a tool says are lacking; a good one says that none is."""
        server = self._server
        found = lacking_in_call(server.entry.package.identifier, failure) if failure and server.local else ()
        if found or not failure:
            others = (each for each in self.known() if each.tool != tool)
            self._keep((*others, *(msgspec.structs.replace(each, tool=tool) for each in found)))

    def given(self, key_ids: Set[str]) -> None:
        """Hear which keys the person gave."""
        self._keep([each for each in self.known() if not any(same_id(each.id, one) for one in key_ids)])

    def _keep(self, lacks: Sequence[Lack]) -> None:
        server = self._server
        told = {each.id: msgspec.structs.replace(each, about=server.parts.redact(each.about)) for each in lacks}
        if server.current and server.parts.catalogue.lacks(server.entry, tuple(told.values())):
            server.parts.changed()
