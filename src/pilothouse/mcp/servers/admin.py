"""The servers as a person changes and inspects them."""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from collections.abc import Mapping, Sequence, Set

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.oauth.challenge import Challenge
from pilothouse.mcp.oauth.errors import OAuthError, SignInNeeded
from pilothouse.mcp.servers import trial, views
from pilothouse.mcp.servers.catalogue import source_of
from pilothouse.mcp.servers.checking import Checks
from pilothouse.mcp.servers.entries import (
    checked,
    entry_id,
    own_name,
    same_slug,
    secret_refs,
    written,
)
from pilothouse.mcp.servers.forms import Draft, drafted
from pilothouse.mcp.servers.given_keys import given_ids, lines_changed
from pilothouse.mcp.servers.keeping import Keeping, check_owner
from pilothouse.mcp.servers.keys import keys_of, same_id
from pilothouse.mcp.servers.names import slug
from pilothouse.mcp.servers.server import SHARED, Server
from pilothouse.mcp.servers.supervisor import Supervisor, signed_in_to, with_entry
from pilothouse.mcp.servers.views import listed
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.host_servers import Servers
from pilothouse.types.json import JsonObject
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.selection import ServerName
from pilothouse.types.server_checks import ServerCheck, ServerChecked
from pilothouse.types.server_keys import ServerKey
from pilothouse.types.server_traffic import TrafficPage, TrafficSwitch
from pilothouse.types.servers import (
    AboutDecided,
    ConsentGiven,
    ServerEntry,
    ServerInput,
    ServerList,
    ServerLog,
    ServerPatch,
    ServersSwitch,
    ServerTest,
    ServerView,
    StatusReport,
    ToolConfirmed,
    ToolList,
    ToolTimes,
    ToolTrial,
    ToolTry,
)
from pilothouse.types.sign_ins import ProgramSignIn, SignInAnswer, SignInStart, SignInStarted

# What a patch changes as it stands there.
_PATCHED = ("off_tools", "read_only", "cannot_send", "sandbox", "network", "times")


class McpAdmin(Servers):
    """Changes go to the file first; the supervisor follows the file."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._parts = supervisor.parts
        self._keeping = Keeping(supervisor)
        self._checks = Checks(supervisor)

    # --- the list ---

    async def list(self, owner: str) -> ServerList:
        self._supervisor.reconcile()
        await self._supervisor.look_for_consent()
        good = [await self._shown(server) for server in self._supervisor.servers.values()]
        bad = tuple(views.bad_view(each) for each in self._supervisor.bad)
        return ServerList(servers=(*good, *bad), problem=self._supervisor.file.problem())

    def names(self) -> Mapping[str, ServerName]:
        """Return what each server is called, by the short name that stands before its tools; nothing is looked at."""
        self._supervisor.reconcile()
        good = {server.slug: ServerName(server.name, server.key) for server in self._supervisor.servers.values()}
        return {**{slug(each.name): ServerName(each.name) for each in self._supervisor.bad}, **good}

    async def add(self, owner: str, body: ServerInput) -> ServerView:
        _check_definition(owner, body)
        draft = drafted(body, str(uuid.uuid4()))
        # Said before anyone waits for an index; that takes a while, and another of this name may come meanwhile.
        self._check_name(self._named(draft, body).entry)
        await self._check_package(draft.entry)
        async with self._supervisor.naming:
            draft = self._named(draft, body)
            self._check_name(draft.entry)
            await self._keeping.keep(draft)
        return await self._view(draft.entry.id)

    async def update(self, owner: str, server_id: str, body: ServerInput) -> ServerView:
        _check_definition(owner, body)
        server = self._supervisor.find(server_id)
        before = server.entry
        draft = drafted(body, before.id, before)
        self._check_name(draft.entry)
        if draft.entry.package != before.package:
            await self._check_package(draft.entry)
        given, lacks = given_ids(body, draft.secrets, draft.entry), server.lacks.known()
        await self._check_replaced(draft.entry, given, keys_of(before, lacks))
        if owner == LOCAL_OWNER:
            await server.agree_to_keys(draft.entry, lines_changed(before, draft.entry, given, lacks))
        async with self._supervisor.naming:
            self._check_name(draft.entry)
            await self._keeping.keep(draft, self._raw(before.id))
        await self._forget_sign_in(before)
        if draft.secrets and self._supervisor.servers.get(before.id) is server:
            # No entry shows that a secret is another one.
            self._supervisor.restart(before.id)
        now = self._supervisor.find(before.id)
        now.lacks.given(given)
        if given & {each.id for each in lacks} and now.entry.enabled:
            # The person wants to see whether that was all.
            now.retry()
        return await self._view(before.id)

    async def patch(self, owner: str, server_id: str, body: ServerPatch) -> ServerView:
        entry = self._supervisor.find(server_id).entry
        said = {name: value for name in _PATCHED if (value := getattr(body, name)) is not None}
        if body.sandbox is False:
            said["network"] = True
        tool_times = _merged(entry.config.tool_times, body.tool_times or {})
        config = msgspec.structs.replace(entry.config, **said, tool_times=tool_times)
        enabled = entry.enabled if body.enabled is None else body.enabled
        try:
            changed = checked(msgspec.structs.replace(entry, enabled=enabled, config=config))
        except BadField as error:
            raise PilothouseError("bad_request", error.message) from None
        await self._supervisor.file.change(with_entry(written(changed, self._raw(entry.id))))
        return await self._view(entry.id)

    async def switch(self, owner: str, body: ServersSwitch) -> ServerList:
        check_owner(owner)
        chosen = {self._supervisor.find(each).id for each in body.ids}

        def change(entries: list[JsonObject]) -> None:
            entries[:] = [{**each, "enabled": body.enabled} if entry_id(each) in chosen else each for each in entries]

        await self._supervisor.file.change(change)
        return await self.list(owner)

    async def delete(self, owner: str, server_id: str) -> None:
        self._supervisor.reconcile()
        bad = {each.id for each in self._supervisor.bad}
        server = None if server_id in bad else self._supervisor.find(server_id)
        found = server.id if server is not None else server_id

        def remove(entries: list[JsonObject]) -> None:
            entries[:] = [each for each in entries if entry_id(each) != found]

        await self._supervisor.file.change(remove)
        self._supervisor.reconcile()
        await asyncio.to_thread(self._parts.catalogue.forget, found)
        if server is not None:
            await server.stop()
            await asyncio.to_thread(self._forget_secrets, server.entry)
            await self._forget_sign_in(server.entry)
        await self._parts.logs.forget(found)
        await asyncio.to_thread(self._parts.folders.forget, found)
        if server is not None and server.package.pin is not None:
            await self._parts.packages().index.empty()

    async def check(self, owner: str, body: ServerCheck) -> ServerChecked:
        _check_definition(owner, body.server)
        return await self._checks.check(body)

    # --- running ---

    async def consent(self, owner: str, server_id: str, body: ConsentGiven) -> ServerView:
        check_owner(owner)
        server = self._supervisor.find(server_id)
        if not server.local:
            raise PilothouseError("bad_request", f"“{server.name}” runs elsewhere and needs no consent.")
        # Who vouched for another command did not vouch for this one.
        asked = views.view(server).consent
        changes = asked.changes if asked is not None else ()
        try:
            agreed = await server.agree(body.fingerprint)
        except ChannelError as error:
            raise PilothouseError("server_failed", error.message, fix=error.fix) from None
        if not agreed:
            message = f"The command of “{server.name}” changed since you looked at it."
            raise PilothouseError("conflict", message, fix="Look at it again.")
        vouches = server.entry.config.cannot_send and not changes if body.cannot_send is None else body.cannot_send
        if vouches != server.entry.config.cannot_send:
            await self.patch(owner, server.id, ServerPatch(cannot_send=vouches))
        if server.entry.enabled:
            server.retry()
        return await self._view(server.id)

    async def begin_sign_in(self, owner: str, server_id: str, body: SignInStart) -> SignInStarted:
        server, wanted = await self._to_sign_in_to(server_id)
        return await self._parts.opener().sign_ins().begin(server, body, wanted)

    async def sign_in_program(self, owner: str, server_id: str, body: ProgramSignIn) -> ServerView:
        server, wanted = await self._to_sign_in_to(server_id)
        await self._parts.opener().sign_ins().as_program(server, body, wanted)
        return await self._signed_in(server)

    async def _to_sign_in_to(self, server_id: str) -> tuple[Server, Challenge | None]:
        """Return a server to which one can sign in, and what it wants."""
        server = self._enabled(server_id)
        if server.local:
            raise PilothouseError("bad_request", f"“{server.name}” runs here; there is nowhere to sign in.")
        wanted = server.sign_in_wanted
        if wanted is None and not server.connection(SHARED).up:
            # What it wants stands in its refusal.
            try:
                await server.connection(SHARED).get()
            except ChannelError as error:
                wanted = error.wanted if isinstance(error, OAuthError) else None
        return server, wanted

    async def finish_sign_in(self, owner: str, body: SignInAnswer) -> ServerView:
        self._supervisor.reconcile()
        sign_ins = self._parts.opener().sign_ins()
        return await self._signed_in(await sign_ins.finish(self._supervisor.servers, body.address))

    async def _signed_in(self, server: Server) -> ServerView:
        """Note that a server has tokens now, and use them."""
        try:
            await self._supervisor.file.change(signed_in_to(server.entry))
        except PilothouseError:
            self._supervisor.reconcile()
            await self._forget_sign_in(server.entry)
            raise
        self._supervisor.reconcile()
        signed_in = self._supervisor.find(server.id)
        if signed_in.entry.enabled:
            signed_in.retry()
        await self._parts.signed_in(signed_in.name)
        return await self._view(server.id)

    async def sign_out(self, owner: str, server_id: str) -> ServerView:
        server = self._supervisor.find(server_id)
        await self._parts.opener().sign_ins().end(server.entry)
        await server.disconnect()
        return await self._view(server.id)

    async def retry(self, owner: str, server_id: str) -> ServerView:
        server = self._enabled(server_id)
        server.retry()
        return await self._view(server.id)

    async def disconnect(self, owner: str, server_id: str) -> ServerView:
        server = self._supervisor.find(server_id)
        await server.disconnect()
        return await self._view(server.id)

    async def test(self, owner: str, server_id: str) -> ServerTest:
        server = self._enabled(server_id)
        began = time.monotonic()
        connection = server.connection(SHARED)
        try:
            async with asyncio.timeout(limits.TRY_TIMEOUT):
                if not connection.up:
                    connection.retry()
                await server.learn(await connection.get())
        except TimeoutError:
            return ServerTest(ok=False, message=f"“{server.name}” did not answer within {limits.TRY_TIMEOUT:g} s.")
        except ChannelError as error:
            message = self._parts.redact(error.message)
            needed = isinstance(error, SignInNeeded)
            fix = "" if needed else error.fix
            return ServerTest(ok=False, message=message, fix=fix, needs_sign_in=needed, seconds=_since(began))
        # The person has just seen that it works: calls need not wait any longer.
        server.breaker.succeeded()
        shown = views.view(server)
        return ServerTest(
            ok=True,
            message=f"“{server.name}” answers and offers {views.counted(shown.tool_count)}.",
            tools=shown.tool_count,
            protocol_version=shown.protocol_version,
            seconds=_since(began),
        )

    async def release(self, call_ids: Sequence[str]) -> None:
        """Give up calls that were paused for an answer, because their run was cancelled."""
        for server in self._supervisor.servers.values():
            for call_id in call_ids:
                await server.release(call_id)

    # --- tools ---

    async def all_tools(self, owner: str, page: Page = FIRST) -> ToolList:
        self._supervisor.reconcile()
        every = tuple(self._supervisor.servers.values())
        # Thousands of them take a while; nobody else waits for that.
        return await asyncio.to_thread(listed, every, every, page)

    async def tools(self, owner: str, server_id: str, page: Page = FIRST) -> ToolList:
        self._supervisor.reconcile()
        every = tuple(self._supervisor.servers.values())
        return await asyncio.to_thread(listed, every, (self._supervisor.find(server_id),), page)

    async def confirm_tool(self, owner: str, server_id: str, body: ToolConfirmed) -> ToolList:
        server = self._supervisor.find(server_id)
        if not await asyncio.to_thread(self._parts.catalogue.accept, server.entry, body.name, body.fingerprint):
            message = f"The tool {body.name} of “{server.name}” is not what you saw any more."
            raise PilothouseError("conflict", message, fix="Look at it again.")
        return await self.tools(owner, server.id)

    async def decide_about(self, owner: str, server_id: str, body: AboutDecided) -> ServerView:
        server = self._supervisor.find(server_id)
        decide = self._parts.catalogue.decide_about
        if not await asyncio.to_thread(decide, server.entry, body.fingerprint, accept=body.accept):
            message = f"What “{server.name}” says about itself is not what you saw any more."
            raise PilothouseError("conflict", message, fix="Look at it again.")
        return await self._view(server.id)

    async def try_tool(self, owner: str, body: ToolTry) -> ToolTrial:
        return await trial.try_tool(self._enabled(body.server_id), body)

    # --- looking ---

    async def log(self, owner: str, server_id: str) -> ServerLog:
        history = self._supervisor.find(server_id).history
        await history.recall()
        return ServerLog(lines=tuple(history.lines))

    async def status(self, owner: str) -> StatusReport:
        self._supervisor.reconcile()
        return StatusReport(servers=tuple(views.status(each) for each in self._supervisor.servers.values()))

    async def traffic(self, owner: str, after: int = 0, server: str | None = None) -> TrafficPage:
        return self._parts.traffic.page(after, server)

    async def switch_traffic(self, owner: str, body: TrafficSwitch) -> TrafficPage:
        self._parts.traffic.switch(body.recording)
        return self._parts.traffic.page(0, None)

    # --- helping ---

    async def _view(self, server_id: str) -> ServerView:
        self._supervisor.reconcile()
        server = self._supervisor.find(server_id)
        if server.entry.enabled and not server.looked:
            # Who asks about one server waits until it is known what it would start.
            with contextlib.suppress(ChannelError):
                await server.check_consent()
        return await self._shown(server)

    async def _shown(self, server: Server) -> ServerView:
        shown = views.view(server)
        if server.entry.auth_type != "oauth":
            return shown
        signed_in = await self._parts.opener().sign_ins().signed_in(server.entry)
        return msgspec.structs.replace(shown, signed_in=signed_in)

    def _enabled(self, server_id: str) -> Server:
        server = self._supervisor.find(server_id)
        if not server.entry.enabled:
            raise PilothouseError("conflict", f"“{server.name}” is switched off.", fix="Switch it on first.")
        return server

    def _raw(self, server_id: str) -> JsonObject | None:
        return next((each for each in self._supervisor.file.entries() if entry_id(each) == server_id), None)

    def _named(self, draft: Draft, body: ServerInput) -> Draft:
        """Give a server without a name one that no other has; the same server twice keeps it, and is refused."""
        self._supervisor.reconcile()
        if body.name.strip():
            return draft
        others = [server.entry for server in self._supervisor.servers.values()]
        if source_of(draft.entry) in map(source_of, others):
            return draft
        entry = msgspec.structs.replace(draft.entry, name=own_name(draft.entry, others))
        return msgspec.structs.replace(draft, entry=entry)

    def _check_name(self, entry: ServerEntry) -> None:
        twin = same_slug(entry.name, (each.entry for each in self._supervisor.servers.values()), entry.id)
        if twin is not None:
            message = f"There is already a server “{twin.name}”; their tools would have the same names."
            raise PilothouseError("bad_request", message, fix="Give it another name.")

    async def _check_package(self, entry: ServerEntry) -> None:
        """Raise for a package that is not there, before anything is kept."""
        from pilothouse.mcp.servers.consent import can_be_pinned  # noqa: PLC0415

        if await asyncio.to_thread(can_be_pinned, entry):
            await self._parts.packages().check(entry.package)
        elif entry.package.type == "docker":
            await asyncio.to_thread(_check_docker, entry.package.runtime_hint or "docker")

    async def _check_replaced(self, entry: ServerEntry, given: Set[str], before: Sequence[ServerKey]) -> None:
        """Raise why a key cannot be read from where it is to come from, while the one it replaces is still there."""
        kept = [key.id for key in before if key.source != "missing"]
        for key_id, place in entry.config.keys.items():
            if key_id in given and any(same_id(key_id, each) for each in kept):
                try:
                    await asyncio.to_thread(self._parts.opener().reader.read, entry, key_id, place)
                except ChannelError as error:
                    raise PilothouseError("bad_request", error.message, fix=error.fix) from None

    def _forget_secrets(self, entry: ServerEntry) -> None:
        self._parts.consents().withdraw(entry.id)
        for name in secret_refs(entry).values():
            self._keeping.delete_own(entry.id, name)

    async def _forget_sign_in(self, before: ServerEntry) -> None:
        """Forget what signing in brought to a server that is elsewhere now, or gone."""
        now = {server.id: server.entry.config.url for server in self._supervisor.servers.values()}
        if not before.config.url or now.get(before.id) == before.config.url:
            return
        await self._parts.opener().sign_ins().give_up(before)
        # Tokens are kept by address: another entry may be signed in there too.
        if before.config.url not in now.values():
            await self._parts.opener().forget(before)


def _merged(now: Mapping[str, ToolTimes], changes: Mapping[str, ToolTimes | None]) -> dict[str, ToolTimes]:
    """Return the times of single tools with some of them changed; one without a number is taken back."""
    times = {**now, **changes}
    return {name: each for name, each in times.items() if each is not None and each.total is not None}


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)


def _check_docker(program: str) -> None:
    """Raise for an image that nothing here could run."""
    from pilothouse.mcp.servers.programs import find_program  # noqa: PLC0415

    try:
        find_program(program, None)
    except ChannelError as error:
        message = (
            f"This server is an image, and nothing here runs images: {error.message[0].lower()}{error.message[1:]}"
        )
        raise PilothouseError("bad_request", message, fix=error.fix) from None


def _check_definition(owner: str, body: ServerInput) -> None:
    if body.command_line is not None or body.command is not None or body.bundle is not None:
        check_owner(owner)
    # Whoever names a file here has its content sent to a server of their own.
    if owner != LOCAL_OWNER and any(key is not None and key.value is None for key in body.keys.values()):
        raise PilothouseError(
            "forbidden",
            "Only the owner of this installation may name a file or a variable that a key is read from.",
            fix="Paste the key.",
        )
