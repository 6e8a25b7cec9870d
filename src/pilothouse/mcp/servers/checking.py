"""A server tried before it is kept: started or reached once with what was typed, and gone without a trace."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.start_errors import MissingKeys, NeedsConsent, places_to_give
from pilothouse.mcp.client.traffic import Traffic
from pilothouse.mcp.oauth.errors import SignInNeeded
from pilothouse.mcp.packages.pins import Pin, asked_for
from pilothouse.mcp.servers.capacity import Capacity
from pilothouse.mcp.servers.catalogue import Catalogue
from pilothouse.mcp.servers.consent import Agreed, Consents
from pilothouse.mcp.servers.entries import parse_entry, secret_origin, written
from pilothouse.mcp.servers.folders import ServerFolders
from pilothouse.mcp.servers.forms import Draft, drafted
from pilothouse.mcp.servers.given_keys import given_ids, lines_changed
from pilothouse.mcp.servers.history import History
from pilothouse.mcp.servers.keys import keys_of, line_of
from pilothouse.mcp.servers.names import slug
from pilothouse.mcp.servers.secret_detection import readable
from pilothouse.mcp.servers.server import SHARED, Server
from pilothouse.mcp.servers.supervisor import Supervisor
from pilothouse.mcp.servers.views import counted
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.lazy import Lazy
from pilothouse.types.ports import Secrets
from pilothouse.types.server_checks import CheckedTool, ServerCheck, ServerChecked
from pilothouse.types.server_keys import ServerKey
from pilothouse.types.servers import Consent, ServerEntry

_GIVE = "Give it, and check again."
_OTHERWISE = "give it in another way, and check again."


class TypedSecrets:
    """Secrets that were typed and are not kept, before those that are; implements the port `Secrets`."""

    def __init__(self, kept: Secrets, typed: Mapping[str, str], origin: str) -> None:
        self._kept = kept
        self._typed = typed
        self._origin = origin

    def put(self, name: str, value: str, origin: str) -> None:
        """Keep nothing."""

    def get(self, name: str, origin: str) -> str | None:
        if name in self._typed and origin == self._origin:
            return self._typed[name]
        return self._kept.get(name, origin)

    def delete(self, name: str) -> None:
        """Delete nothing."""

    def origin_of(self, name: str) -> str | None:
        return self._origin if name in self._typed else self._kept.origin_of(name)

    def confirm(self, name: str, origin: str) -> None:
        """Bind nothing."""


class OneConsent(Consents):
    """What the person agreed to for one check; nothing of it is kept."""

    def __init__(self, kept: Consents, fingerprint: str, given: frozenset[str], asked: frozenset[str]) -> None:
        self._kept_ones = kept
        self._fingerprint = fingerprint
        # Lines about keys that this very check gives: who types a key agrees that the program gets it.
        self._given = given
        # Those among them that the server asked for, which its kept consent is not asked again for.
        self._asked = asked
        self.now: Agreed | None = None

    def look(self, entry: ServerEntry, known: Agreed | None = None, pin: Pin | None = None) -> Agreed:
        self.now = self._kept_ones.look(entry, known, pin)
        return self.now

    def shown(self, entry: ServerEntry, now: Agreed, before: Agreed | None) -> Consent:
        return self._kept_ones.shown(entry, now, before)

    def agreed(self, server_id: str) -> Agreed | None:
        return self._kept_ones.agreed(server_id)

    def allows(self, now: Agreed, before: Agreed | None) -> bool:
        """Return whether the person agreed to what would be started, but for the keys that they gave with it."""
        if before is not None and before.allows_but_for(self._asked, now):
            return True
        return self._fingerprint in (now.fingerprint(), now.without(self._given).fingerprint())

    def give(self, server_id: str, agreed: Agreed) -> None:
        """Keep nothing."""

    def withdraw(self, server_id: str) -> None:
        """Withdraw nothing."""


class CheckedServer(Server):
    """A server that is in no list."""

    keeps_package = False

    async def _look(self) -> tuple[Agreed | None, Agreed]:
        agreed, now = await super()._look()
        consents = self.parts.consents()
        is_agreed = isinstance(consents, OneConsent) and consents.allows(now, agreed)
        return now if is_agreed else agreed, now

    def gave_up(self, error: ChannelError) -> None:
        """Tell nobody: whoever checks is told."""


class Checks:
    """Tries servers for forms."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._parts = supervisor.parts
        self._turns = asyncio.Semaphore(limits.CHECKS)

    async def check(self, body: ServerCheck) -> ServerChecked:
        """Return how a server does with what was typed; whatever happens, nothing of it stays."""
        before = self._supervisor.find(body.id) if body.id else None
        draft = drafted(body.server, before.id if before else str(uuid.uuid4()), before.entry if before else None)
        try:
            parse_entry(written(draft.entry))
        except BadField as error:
            raise PilothouseError("bad_request", error.message) from None
        for value in draft.secrets.values():
            # Before it is used: it must be masked wherever it turns up.
            self._parts.learn(value)
        async with self._turns:
            return await self._supervisor.trying(self._tried(draft, self._consent(body, draft, before)))

    def _consent(self, body: ServerCheck, draft: Draft, before: Server | None) -> OneConsent:
        asked: frozenset[str] = frozenset()
        if before is not None:
            given = given_ids(body.server, draft.secrets, draft.entry)
            asked = lines_changed(before.entry, draft.entry, given, before.lacks.known())
        return OneConsent(self._parts.consents(), body.fingerprint, _key_lines(body, draft.entry), asked)

    async def _tried(self, draft: Draft, consent: OneConsent) -> ServerChecked:
        began, folders = time.monotonic(), self._parts.folders.aside()
        server = self._server(draft, folders, consent)
        try:
            if asked_for(draft.entry.package):
                await asyncio.to_thread(folders.borrow, self._parts.folders, server.id)
            told = await self._outcome(server)
        finally:
            await self._supervisor.stop(server)
            if draft.entry.config.sandbox or asked_for(draft.entry.package):
                await asyncio.to_thread(self._forget, folders, folders.owner(server.id))
            if asked_for(draft.entry.package):
                # Who checks a server may add it then, and nothing is fetched twice.
                self._supervisor.afterwards(self._parts.packages().index.empty, limits.CHECKED_PACKAGES_KEPT)
        started = consent.now.fingerprint() if consent.now is not None and told.consent is None else ""
        return msgspec.structs.replace(told, seconds=round(time.monotonic() - began, 3), fingerprint=started)

    def _server(self, draft: Draft, folders: ServerFolders, consent: OneConsent) -> CheckedServer:
        shared, entry = self._parts, draft.entry
        parts = msgspec.structs.replace(
            shared,
            secrets=TypedSecrets(shared.secrets, draft.secrets, secret_origin(entry)),
            consents=Lazy(lambda: consent),
            catalogue=Catalogue(None),
            traffic=Traffic(shared.redact),
            folders=folders,
            changed=lambda: None,
            notice=lambda level, code, text: None,
            # One more than may run beside it: it takes nobody's place.
            capacity=Capacity(lambda: 1),
        )
        return CheckedServer(entry, slug(entry.name), parts, History(shared.redact))

    def _forget(self, folders: ServerFolders, owner: str) -> None:
        folders.remove()
        self._parts.opener().forget_scratch(owner)

    async def _outcome(self, server: CheckedServer) -> ServerChecked:
        try:
            async with asyncio.timeout(limits.TRY_TIMEOUT):
                await server.connection(SHARED).get()
        except TimeoutError:
            message = f"“{server.name}” did not answer within {limits.TRY_TIMEOUT:g} s."
            return ServerChecked(ok=False, message=message, keys=_keys(server))
        except NeedsConsent:
            message = f"“{server.name}” is started once you agree to its command."
            return ServerChecked(ok=False, message=message, consent=server.asking, keys=_keys(server))
        except ChannelError as error:
            needed = isinstance(error, SignInNeeded)
            return ServerChecked(
                ok=False,
                message=self._parts.redact(error.message),
                fix="" if needed else _fix(server, error),
                needs_sign_in=needed,
                keys=_keys(server),
            )
        tools = server.listed(part=slice(limits.CHECKED_TOOLS))
        count = len(server.parts.catalogue.kept(server.entry).tools)
        return ServerChecked(
            ok=True,
            message=f"“{server.name}” answers and offers {counted(count)}.",
            tools=tuple(CheckedTool(name=each.name, title=each.title, description=each.description) for each in tools),
            tool_count=count,
            keys=_keys(server),
        )


def _fix(server: Server, error: ChannelError) -> str:
    """Return the way back; it is in no list, and what the person typed is in front of them."""
    if isinstance(error, MissingKeys):
        return _GIVE
    return error.fix.replace(places_to_give(server.name), _OTHERWISE)


def _keys(server: Server) -> tuple[ServerKey, ...]:
    return keys_of(readable(server.entry), server.lacks.known())


def _key_lines(body: ServerCheck, entry: ServerEntry) -> frozenset[str]:
    """Return the lines of the consent that are about keys given with this check."""
    given = [key_id for key_id, key in body.server.keys.items() if key is not None]
    return frozenset(line_of(key_id, entry.config.keys.get(key_id)) for key_id in given)
