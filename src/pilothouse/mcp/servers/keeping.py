"""Servers and their secrets on their way into the file, and who may put them there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from pilothouse.mcp.servers.entries import parse_entry, secret_origin, written
from pilothouse.mcp.servers.forms import Draft
from pilothouse.mcp.servers.supervisor import Supervisor, with_entry
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.json import JsonObject


class Keeping:
    """Keeps entries with their secrets; the supervisor follows the file."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._secrets = supervisor.parts.secrets

    async def keep(self, draft: Draft, before: JsonObject | None = None) -> None:
        """Keep an entry with its secrets; the file is checked as it will be read."""
        raw = written(draft.entry, before)
        try:
            parse_entry(raw)
        except BadField as error:
            raise PilothouseError("bad_request", error.message) from None
        await asyncio.to_thread(self.put, draft)
        await self._supervisor.file.change(with_entry(raw))
        self._supervisor.reconcile()
        # Only now: until the file says otherwise, they are in use.
        await asyncio.to_thread(self.drop, draft)

    async def keep_all(self, drafts: Sequence[Draft]) -> None:
        """Keep several that are new, in one change of the file."""

        def put() -> None:
            for draft in drafts:
                self.put(draft)

        await asyncio.to_thread(put)
        await self._supervisor.file.change(lambda entries: entries.extend(written(each.entry) for each in drafts))
        self._supervisor.reconcile()

    def put(self, draft: Draft) -> None:
        """Keep the secrets of an entry."""
        origin = secret_origin(draft.entry)
        for name, value in draft.secrets.items():
            self._secrets.put(name, value, origin)

    def drop(self, draft: Draft) -> None:
        """Delete the secrets that an entry does not refer to any more."""
        for name in draft.dropped:
            self.delete_own(draft.entry.id, name)

    def delete_own(self, server_id: str, name: str) -> None:
        """Delete a secret of a server."""
        # An entry written by hand may name a secret that is not its own.
        if name.startswith(f"mcp_{server_id[:40]}_"):
            self._secrets.delete(name)


def check_owner(owner: str) -> None:
    """Whoever defines a local command can run any program here: that is for the owner of this machine."""
    if owner != LOCAL_OWNER:
        raise PilothouseError(
            "forbidden",
            "Only the owner of this installation may define or start a local command.",
            fix="Ask them to add the server, or add one by its URL.",
        )
