"""The servers as a person changes and inspects them; implements the port `ServerAdmin`."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Mapping, Sequence

import msgspec

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.mcp import importing, trial, views
from pilothouse.mcp.catalogue import source_of
from pilothouse.mcp.channel import ChannelError
from pilothouse.mcp.entries import (
    checked,
    entry_id,
    own_name,
    parse_entry,
    same_slug,
    secret_origin,
    secret_refs,
    written,
)
from pilothouse.mcp.forms import Draft, drafted
from pilothouse.mcp.listing import listed
from pilothouse.mcp.names import slug
from pilothouse.mcp.server import SHARED, Server
from pilothouse.mcp.supervisor import Supervisor, with_entry
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.servers import (
    AboutDecided,
    ConsentGiven,
    ImportedServer,
    ImportQuestion,
    ImportQuestions,
    ImportReport,
    ImportRequest,
    ManualSource,
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
    TrafficPage,
    TrafficSwitch,
)


class McpAdmin:
    """Changes go to the file first; the supervisor follows the file."""

    def __init__(self, supervisor: Supervisor, helper: Helper) -> None:
        self._supervisor = supervisor
        self._helper = helper
        self._around = supervisor.around

    # --- the list ---

    async def list(self) -> ServerList:
        """Return all servers as they are now."""
        self._supervisor.reconcile()
        await self._supervisor.look_for_consent()
        good = tuple(views.view(server) for server in self._supervisor.servers.values())
        bad = tuple(views.bad_view(each) for each in self._supervisor.bad)
        return ServerList(servers=(*good, *bad), problem=self._supervisor.file.problem())

    def names(self) -> Mapping[str, str]:
        """Return the name of each server by the short one that stands before its tools; nothing is looked at."""
        self._supervisor.reconcile()
        good = {server.slug: server.entry.name for server in self._supervisor.servers.values()}
        return {**{slug(each.name): each.name for each in self._supervisor.bad}, **good}

    async def add(self, body: ServerInput) -> ServerView:
        """Add a server; a local command starts only after consent."""
        draft = drafted(body, str(uuid.uuid4()))
        if not body.name.strip():
            draft = self._named(draft)
        self._check_name(draft.entry)
        await self._keep(draft, None)
        return await self._view(draft.entry.id)

    async def update(self, server_id: str, body: ServerInput) -> ServerView:
        """Replace a server's configuration; secrets that are not sent stay."""
        server = self._supervisor.find(server_id)
        before = server.entry
        draft = drafted(body, before.id, before)
        self._check_name(draft.entry)
        await self._keep(draft, self._raw(before.id))
        if draft.secrets and self._supervisor.servers.get(before.id) is server:
            # No entry shows that a secret is another one.
            self._supervisor.restart(before.id)
        return await self._view(before.id)

    async def patch(self, server_id: str, body: ServerPatch) -> ServerView:
        """Switch it on or off, or single tools of it; give it, or them, another time."""
        entry = self._supervisor.find(server_id).entry
        config = msgspec.structs.replace(
            entry.config,
            off_tools=entry.config.off_tools if body.off_tools is None else body.off_tools,
            read_only=entry.config.read_only if body.read_only is None else body.read_only,
            cannot_send=entry.config.cannot_send if body.cannot_send is None else body.cannot_send,
            times=entry.config.times if body.times is None else body.times,
            tool_times=_merged(entry.config.tool_times, body.tool_times or {}),
        )
        enabled = entry.enabled if body.enabled is None else body.enabled
        try:
            changed = checked(msgspec.structs.replace(entry, enabled=enabled, config=config))
        except BadField as error:
            raise PilothouseError("bad_request", error.message) from None
        await self._supervisor.file.change(with_entry(written(changed, self._raw(entry.id))))
        return await self._view(entry.id)

    async def switch(self, body: ServersSwitch) -> ServerList:
        """Switch several servers on or off, with one write."""
        chosen = {self._supervisor.find(each).id for each in body.ids}

        def change(entries: list[JsonObject]) -> None:
            entries[:] = [{**each, "enabled": body.enabled} if entry_id(each) in chosen else each for each in entries]

        await self._supervisor.file.change(change)
        return await self.list()

    async def delete(self, server_id: str) -> None:
        """Stop a server, remove it and delete every secret kept for it."""
        self._supervisor.reconcile()
        bad = {each.id for each in self._supervisor.bad}
        server = None if server_id in bad else self._supervisor.find(server_id)
        found = server.id if server is not None else server_id

        def remove(entries: list[JsonObject]) -> None:
            entries[:] = [each for each in entries if entry_id(each) != found]

        await self._supervisor.file.change(remove)
        self._supervisor.reconcile()
        self._around.catalogue.forget(found)
        if server is not None:
            await server.stop()
            await asyncio.to_thread(self._forget_secrets, server.entry)
            await self._forget_sign_in(server.entry)
        await self._around.logs.forget(found)
        await asyncio.to_thread(self._around.rooms.forget, found)

    # --- running ---

    async def consent(self, server_id: str, body: ConsentGiven) -> ServerView:
        """Agree to start exactly this command."""
        server = self._supervisor.find(server_id)
        if not server.local:
            raise PilothouseError("bad_request", f"“{server.name}” runs elsewhere and needs no consent.")
        try:
            agreed = await server.agree(body.fingerprint)
        except ChannelError as error:
            raise PilothouseError("server_failed", error.message, fix=error.fix) from None
        if not agreed:
            message = f"The command of “{server.name}” changed since you looked at it."
            raise PilothouseError("conflict", message, fix="Look at it again.")
        if server.entry.enabled:
            server.retry()
        return await self._view(server.id)

    async def retry(self, server_id: str) -> ServerView:
        """Connect now, with fresh counters."""
        server = self._enabled(server_id)
        server.retry()
        return await self._view(server.id)

    async def disconnect(self, server_id: str) -> ServerView:
        """Stop a server without switching it off; its next call starts it again."""
        server = self._supervisor.find(server_id)
        await server.disconnect()
        return await self._view(server.id)

    async def test(self, server_id: str) -> ServerTest:
        """Connect if need be and ask for the tools."""
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
            message = self._around.redact(error.message)
            return ServerTest(ok=False, message=message, fix=error.fix, seconds=_since(began))
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

    async def tools(self, server_id: str | None, page: Page = FIRST) -> ToolList:
        """Return the tools of one server or of all, as last listed."""
        self._supervisor.reconcile()
        every = tuple(self._supervisor.servers.values())
        chosen = every if server_id is None else (self._supervisor.find(server_id),)
        # Thousands of them take a while; nobody else waits for that.
        return await asyncio.to_thread(listed, every, chosen, page)

    async def confirm_tool(self, server_id: str, body: ToolConfirmed) -> ToolList:
        """Accept a tool's changed definition."""
        server = self._supervisor.find(server_id)
        if not self._around.catalogue.accept(server.entry, body.name, body.fingerprint):
            message = f"The tool {body.name} of “{server.name}” is not what you saw any more."
            raise PilothouseError("conflict", message, fix="Look at it again.")
        return await self.tools(server.id)

    async def decide_about(self, server_id: str, body: AboutDecided) -> ServerView:
        """Accept what a server says about itself now, or keep what it said before."""
        server = self._supervisor.find(server_id)
        if not self._around.catalogue.decide_about(server.entry, body.fingerprint, accept=body.accept):
            message = f"What “{server.name}” says about itself is not what you saw any more."
            raise PilothouseError("conflict", message, fix="Look at it again.")
        return await self._view(server.id)

    async def try_tool(self, body: ToolTry) -> ToolTrial:
        """Call a tool by hand."""
        return await trial.try_tool(self._enabled(body.server_id), body)

    # --- looking ---

    async def log(self, server_id: str) -> ServerLog:
        """Return what a server wrote, now and before."""
        history = self._supervisor.find(server_id).history
        await history.recall()
        return ServerLog(lines=tuple(history.lines))

    async def status(self) -> StatusReport:
        """Return latencies, errors and past states."""
        self._supervisor.reconcile()
        return StatusReport(servers=tuple(views.status(each) for each in self._supervisor.servers.values()))

    async def traffic(self, after: int, server_id: str | None) -> TrafficPage:
        """Return recorded messages after a number."""
        return self._around.traffic.page(after, server_id)

    async def switch_traffic(self, body: TrafficSwitch) -> TrafficPage:
        """Start or stop recording messages."""
        self._around.traffic.switch(body.recording)
        return self._around.traffic.page(0, None)

    # --- importing ---

    async def import_questions(self, body: ImportRequest) -> ImportQuestions:
        """Return what the servers of another program's file leave open."""
        return ImportQuestions(questions=await asyncio.to_thread(self._open_questions, body))

    async def import_file(self, body: ImportRequest) -> ImportReport:
        """Add the servers of another program's file with one write; none starts without consent."""
        self._supervisor.reconcile()
        there = {slug(server.entry.name) for server in self._supervisor.servers.values()}
        outcomes, drafts = await asyncio.to_thread(self._taken, body, there)
        if drafts:
            await self._keep_all(drafts)
        return ImportReport(servers=tuple(outcomes))

    def _open_questions(self, body: ImportRequest) -> tuple[ImportQuestion, ...]:
        return importing.questions(self._imported(body.text))

    def _taken(self, body: ImportRequest, there: set[str]) -> tuple[Sequence[ImportedServer], Sequence[Draft]]:
        """Return what becomes of each server of a file, and what to keep of them."""
        source = ManualSource(imported_from=body.origin[: limits.TITLE_CHARS] or "file")
        outcomes: list[ImportedServer] = []
        drafts: list[Draft] = []
        for each in importing.taken(self._imported(body.text), body.answers):
            outcome, draft = _weighed(each, there)
            outcomes.append(outcome)
            if draft is not None:
                there.add(slug(draft.entry.name))
                entry = msgspec.structs.replace(draft.entry, source=source)
                drafts.append(msgspec.structs.replace(draft, entry=entry))
        return outcomes, drafts

    def _imported(self, text: str) -> importing.File:
        try:
            return self._helper.ask(importing.read, text)
        except Unreadable as error:
            fix = "Choose the file that lists the MCP servers."
            raise PilothouseError("bad_request", f"The file cannot be read: {error.why}.", fix=fix) from None

    async def _keep_all(self, drafts: Sequence[Draft]) -> None:
        def put() -> None:
            for draft in drafts:
                self._put(draft)

        await asyncio.to_thread(put)
        await self._supervisor.file.change(lambda entries: entries.extend(written(each.entry) for each in drafts))
        self._supervisor.reconcile()

    # --- helping ---

    async def _view(self, server_id: str) -> ServerView:
        self._supervisor.reconcile()
        await self._supervisor.look_for_consent()
        return views.view(self._supervisor.find(server_id))

    def _enabled(self, server_id: str) -> Server:
        server = self._supervisor.find(server_id)
        if not server.entry.enabled:
            raise PilothouseError("conflict", f"“{server.name}” is switched off.", fix="Switch it on first.")
        return server

    def _raw(self, server_id: str) -> JsonObject | None:
        return next((each for each in self._supervisor.file.entries() if entry_id(each) == server_id), None)

    def _named(self, draft: Draft) -> Draft:
        """Give a server without a name one that no other has; the same server twice keeps it, and is refused."""
        self._supervisor.reconcile()
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

    async def _keep(self, draft: Draft, before: JsonObject | None) -> None:
        """Keep an entry with its secrets; the file is checked as it will be read."""
        raw = written(draft.entry, before)
        try:
            parse_entry(raw)
        except BadField as error:
            raise PilothouseError("bad_request", error.message) from None
        await asyncio.to_thread(self._put, draft)
        await self._supervisor.file.change(with_entry(raw))
        self._supervisor.reconcile()

    def _put(self, draft: Draft) -> None:
        origin = secret_origin(draft.entry)
        for name, value in draft.secrets.items():
            self._around.secrets.put(name, value, origin)
        for name in draft.dropped:
            self._delete_own(draft.entry.id, name)

    def _forget_secrets(self, entry: ServerEntry) -> None:
        self._around.consents.withdraw(entry.id)
        for name in secret_refs(entry).values():
            self._delete_own(entry.id, name)

    async def _forget_sign_in(self, entry: ServerEntry) -> None:
        def where(each: ServerEntry) -> tuple[str, str]:
            return each.auth_type, each.config.url

        # Tokens are kept by address: another entry may be signed in there too.
        if where(entry) not in [where(each.entry) for each in self._supervisor.servers.values()]:
            await self._around.opener.forget(entry)

    def _delete_own(self, server_id: str, name: str) -> None:
        # An entry written by hand may name a secret that is not its own.
        if name.startswith(f"mcp_{server_id[:40]}_"):
            self._around.secrets.delete(name)


def _merged(now: Mapping[str, ToolTimes], changes: Mapping[str, ToolTimes | None]) -> dict[str, ToolTimes]:
    """Return the times of single tools with some of them changed; one without a number is taken back."""
    times = {**now, **changes}
    return {name: each for name, each in times.items() if each is not None and each.total is not None}


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)


def _kept_note(draft: Draft) -> str:
    """Return which keys of a file stood in it as plain text."""
    return f"Kept as a secret, no longer readable in its settings: {', '.join(draft.recognised)}."


def _weighed(found: importing.Found, there: set[str]) -> tuple[ImportedServer, Draft | None]:
    """Return what becomes of a server of another program's file, and what to keep of it."""
    if found.body is None:
        return ImportedServer(name=found.name, outcome="refused", reason=found.problem), None
    try:
        draft = drafted(found.body, str(uuid.uuid4()))
        parse_entry(written(draft.entry))
    except (PilothouseError, BadField) as error:
        return ImportedServer(name=found.name, outcome="refused", reason=error.message), None
    if slug(draft.entry.name) in there:
        reason = "A server of this name is in the list."
        return ImportedServer(name=found.name, outcome="known", reason=reason), None
    reason = "" if draft.entry.enabled else "It is switched off until you switch it on."
    notes = (*found.notes, _kept_note(draft)) if draft.recognised else found.notes
    outcome = ImportedServer(
        name=found.name, outcome="added", reason=reason, id=draft.entry.id, notes=notes, was_off=found.was_off
    )
    return outcome, draft
