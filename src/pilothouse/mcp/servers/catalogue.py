"""The tools of every server as they were last listed: kept on disk, so that they are offered before it runs."""

from __future__ import annotations

import contextlib
import hashlib
import re
import time
from collections import Counter
from collections.abc import Sequence, Set
from pathlib import Path

import msgspec

from pilothouse.mcp.client.fingerprints import about, definition, differences, digest, fingerprint, same_words
from pilothouse.mcp.client.missing_keys import Lack
from pilothouse.mcp.servers.entries import SECRET, command_of, connecting, seconds_of, secret_name
from pilothouse.mcp.servers.names import qualified_name, wire_name
from pilothouse.types import durable_files, limits
from pilothouse.types.json import JsonObject, an_object
from pilothouse.types.servers import AboutChange, Era, ServerEntry, ServerTool, ToolState, Wire
from pilothouse.types.spelling import to_file

# Of the checks that a kept list went through; another number makes it go through them again.
CHECKS = 3


class Approved(msgspec.Struct, frozen=True):
    """A tool's definition as it was first seen or last accepted."""

    fingerprint: str
    definition: JsonObject


class Listed(msgspec.Struct, frozen=True):
    """A tool as the server listed it."""

    tool: JsonObject
    fingerprint: str
    # Why it is set aside; empty for a good one.
    reason: str = ""
    warnings: tuple[str, ...] = ()


class About(msgspec.Struct, frozen=True):
    """What a server says about itself: as it was first seen or last accepted, as it is now, and what was refused."""

    approved: JsonObject = {}
    now: JsonObject = {}
    # Of the words that the person does not want.
    refused: str = ""
    # An earlier version kept its instructions only: the rest is as good as approved when it is first heard.
    partial: bool = False

    def heard(self, now: JsonObject) -> About:
        """Return this with what the server says now; where only moments and versions differ, that is accepted."""
        said = {key: value for key, value in now.items() if self.partial and key != "instructions"}
        approved = {**said, **self.approved}
        return About(now if same_words(approved, now) else approved, now, self.refused)


class Fallback(msgspec.Struct, frozen=True):
    """A server that asks by itself, which needs the handshake era; of which entry that is known."""

    entry: str
    # It does not speak that era either.
    refused: bool = False


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is remembered of a server from one start to the next."""

    # Of the command or address the list came from; another one is another server.
    source: str = ""
    checks: int = CHECKS
    listed_at: float | None = None
    tools: tuple[Listed, ...] = ()
    approved: dict[str, Approved] = {}
    era: Era = "auto"
    fallback: Fallback | None = None
    wire: Wire = "auto"
    # Where a remote server answered; a bare host may answer at /mcp.
    url: str = ""
    protocol_version: str = ""
    server_version: str = ""
    # None until it was first asked.
    about: About | None = None
    # Keys that it said it lacks.
    lacks: tuple[Lack, ...] = ()
    # Of lists that were kept before what a server says was approved.
    instructions: str = ""


class Catalogue:
    """Knows the tools of all servers; the files are in one folder, one for each server."""

    def __init__(self, folder: Path | None) -> None:
        # None for a list that is not to outlive us.
        self._folder = folder
        self._kept: dict[str, Kept] = {}
        # The entry whose source the kept list was last compared with.
        self._checked: dict[str, ServerEntry] = {}

    def kept(self, entry: ServerEntry) -> Kept:
        """Return what is remembered of a server as it is configured now."""
        kept = self._kept.get(entry.id)
        if kept is None:
            kept = self._kept[entry.id] = self._read(entry.id)
        elif self._checked.get(entry.id) is entry:
            # Asked at every call; only another entry can have another source.
            return kept
        if kept.source != source_of(entry):
            # Another command or address: nothing that was learned holds, but what was approved is remembered.
            kept = self._kept[entry.id] = Kept(source=source_of(entry), approved=kept.approved, about=kept.about)
        self._checked[entry.id] = entry
        return kept

    def known(self, entry: ServerEntry) -> bool:
        """Return whether this server's tools were listed before."""
        return self.kept(entry).listed_at is not None

    def learn(
        self, entry: ServerEntry, tools: Sequence[JsonObject], facts: Kept, words: JsonObject | None = None
    ) -> bool:
        """Take up a new list and what else was found out; return whether the tools or what it says changed."""
        before = self.kept(entry)
        words = words or {}
        said = before.about.heard(words) if before.about is not None else About(words, words)
        listed = _inspected(tools)
        approved = dict(before.approved)
        for each in listed:
            name = each.tool.get("name")
            if not each.reason and isinstance(name, str) and len(approved) < limits.SCHEMA_PIECES:
                # What is seen for the first time is as good as approved: its calls still ask the person.
                approved.setdefault(name, Approved(each.fingerprint, definition(each.tool)))
        now = msgspec.structs.replace(
            facts, source=source_of(entry), listed_at=time.time(), tools=listed, approved=approved, about=said
        )
        if before.era == now.era == "handshake" and before.server_version != now.server_version:
            # Another version of the server may ask as the modern era wants it.
            now = msgspec.structs.replace(now, era="auto" if now.fallback else now.era, fallback=None)
        self._keep(entry.id, now)
        return (now.tools, now.about) != (before.tools, before.about)

    def remember(self, entry: ServerEntry, wire: Wire, url: str) -> None:
        """Keep how and where a remote server answered."""
        kept = self.kept(entry)
        if (kept.wire, kept.url) != (wire, url):
            self._keep(entry.id, msgspec.structs.replace(kept, wire=wire, url=url))

    def fallback(self, entry: ServerEntry) -> Fallback | None:
        """Return what is known of a server that asks by itself; nothing once its entry is another one."""
        known = self.kept(entry).fallback
        return known if known is not None and known.entry == _connecting(entry) else None

    def fall_back(self, entry: ServerEntry) -> bool:
        """Keep that a server needs the handshake era; return False when it is known not to speak it."""
        known = self.fallback(entry)
        if known is None:
            made = Fallback(_connecting(entry))
            self._keep(entry.id, msgspec.structs.replace(self.kept(entry), fallback=made))
        return known is None or not known.refused

    def cannot_fall_back(self, entry: ServerEntry) -> None:
        """Keep that a server refused the handshake era."""
        made = Fallback(_connecting(entry), refused=True)
        self._keep(entry.id, msgspec.structs.replace(self.kept(entry), fallback=made))

    def accept(self, entry: ServerEntry, name: str, wanted: str) -> bool:
        """Approve a tool's definition if it is still the one the person saw."""
        kept = self.kept(entry)
        each = next((each for each in kept.tools if each.tool.get("name") == name), None)
        if each is None or each.reason or each.fingerprint != wanted:
            return False
        approved = {**kept.approved, name: Approved(each.fingerprint, definition(each.tool))}
        self._keep(entry.id, msgspec.structs.replace(kept, approved=approved), durable=True)
        return True

    def about_change(self, entry: ServerEntry) -> AboutChange | None:
        """Return what a server says about itself and the person has not accepted; None when there is nothing."""
        said = self.kept(entry).about
        if said is None or said.now == said.approved:
            return None
        return AboutChange(
            fingerprint=digest(said.now),
            changes=differences(said.approved, said.now),
            approved=said.approved,
            now=said.now,
            refused=said.refused == digest(said.now),
        )

    def decide_about(self, entry: ServerEntry, wanted: str, *, accept: bool) -> bool:
        """Accept or refuse what a server says about itself, if it is still what the person saw."""
        kept = self.kept(entry)
        if kept.about is None or digest(kept.about.now) != wanted:
            return False
        said = About(kept.about.now, kept.about.now) if accept else msgspec.structs.replace(kept.about, refused=wanted)
        self._keep(entry.id, msgspec.structs.replace(kept, about=said), durable=True)
        return True

    def lacks(self, entry: ServerEntry, lacks: Sequence[Lack]) -> bool:
        """Keep which keys a server said it lacks; return whether that is news."""
        kept = self.kept(entry)
        lacks = tuple(lacks)[: limits.LACKS_MOST]
        if kept.lacks == lacks:
            return False
        self._keep(entry.id, msgspec.structs.replace(kept, lacks=lacks))
        return True

    def forget(self, server_id: str) -> None:
        self._kept.pop(server_id, None)
        self._checked.pop(server_id, None)
        if self._folder is not None:
            self._path(self._folder, server_id).unlink(missing_ok=True)

    def names(self, entry: ServerEntry, prefix: str) -> frozenset[str]:
        """Return every name that the tools of a server go by."""
        plain = (str(each.tool.get("name") or "") for each in self.kept(entry).tools)
        return frozenset(
            made for name in plain for made in (name, qualified_name(prefix, name), wire_name(prefix, name))
        )

    def tools(
        self, entry: ServerEntry, prefix: str, names: Set[str] = frozenset(), part: slice = slice(None)
    ) -> list[ServerTool]:
        """Return the tools of a server with the state of each; `names` are the telling ones of all servers' tools."""
        kept, own = self.kept(entry), self.names(entry, prefix) if names else frozenset()
        return [_view(entry, prefix, each, kept, _mentions(each.tool, names, own)) for each in kept.tools[part]]

    def counts(self, entry: ServerEntry) -> Counter[ToolState]:
        """Return how many tools of a server are in which state."""
        kept = self.kept(entry)
        return Counter(tool_state(entry, each, kept) for each in kept.tools)

    def state(self, entry: ServerEntry, name: str) -> tuple[ToolState | None, str]:
        """Return the state and the fingerprint of a tool as it is now; None when the server has no such tool."""
        kept = self.kept(entry)
        each = next((each for each in kept.tools if each.tool.get("name") == name), None)
        return (tool_state(entry, each, kept), each.fingerprint) if each is not None else (None, "")

    def _read(self, server_id: str) -> Kept:
        if self._folder is None:
            return Kept()
        try:
            kept = msgspec.json.decode(self._path(self._folder, server_id).read_bytes(), type=Kept)
        except (OSError, msgspec.MsgspecError):
            # It can be had again: the server is asked.
            return Kept()
        return kept if kept.checks == CHECKS else _taken_over(kept)

    def _keep(self, server_id: str, kept: Kept, *, durable: bool = False) -> None:
        """Keep a list; what the person decided about it is on disk then."""
        self._kept[server_id] = kept
        if self._folder is None:
            return
        # A list that cannot be kept is asked for again at the next start.
        with contextlib.suppress(OSError):
            durable_files.make_folder(self._folder)
            durable_files.replace(self._path(self._folder, server_id), msgspec.json.encode(kept), durable=durable)

    def _path(self, folder: Path, server_id: str) -> Path:
        plain = re.sub(r"[^A-Za-z0-9_-]", "-", server_id)[:64]
        return folder / f"{plain}.json"


def source_of(entry: ServerEntry) -> str:
    """Return the same for entries that lead to the same server."""
    where = entry.config.url if entry.transport == "http" else "\0".join(command_of(entry))
    return hashlib.sha256(where.encode()).hexdigest()[:32]


def place_of(entry: ServerEntry) -> str:
    """Return the same for entries of which one permission holds: a local server's variables can lead it elsewhere."""
    # Where a key comes from leads nobody elsewhere: it counts as a pasted one does.
    read = [each.removeprefix("env:") for each in entry.config.keys if each.startswith("env:")]
    env = {**entry.config.env, **{name: f"{SECRET}{secret_name(entry.id, 'env', name)}" for name in read}}
    source, around = source_of(entry), (sorted(env.items()), entry.config.cwd)
    if entry.transport == "http" or not any(around):
        return source
    return hashlib.sha256(source.encode() + msgspec.json.encode(around)).hexdigest()


def _connecting(entry: ServerEntry) -> str:
    """Return the same for entries that are connected to in the same way."""
    return hashlib.sha256(msgspec.json.encode(to_file(connecting(entry)), order="sorted")).hexdigest()[:32]


def tool_state(entry: ServerEntry, each: Listed, kept: Kept) -> ToolState:
    """Return whether a tool is offered, and if not, why."""
    name = str(each.tool.get("name"))
    if each.reason:
        return "quarantined"
    approved = kept.approved.get(name)
    if approved is not None and approved.fingerprint != each.fingerprint:
        return "changed"
    annotations = each.tool.get("annotations") or {}
    if name in entry.config.off_tools or (entry.config.read_only and annotations.get("readOnlyHint") is not True):
        return "off"
    return "offered"


def _inspected(tools: Sequence[JsonObject]) -> tuple[Listed, ...]:
    # Imported when a list is taken up: a kept one is offered without.
    from pilothouse.mcp.servers import quarantine  # noqa: PLC0415

    listed = []
    for tool, reason in zip(tools, quarantine.reasons(tools), strict=True):
        try:
            made = Listed(tool, fingerprint(tool), reason, () if reason else quarantine.warnings(tool))
        except (OverflowError, ValueError, RecursionError):
            # Numbers and texts that JSON does not have: it could not even be kept.
            name = str(tool.get("name") or "").encode(errors="replace").decode()
            made = Listed({"name": name[: limits.TOOL_NAME_CHARS]}, "", "Its definition cannot be read.")
        listed.append(made)
    return tuple(listed)


def _taken_over(kept: Kept) -> Kept:
    """Return what an earlier version kept as this one does: what was approved stays so, with what counts now."""
    tools = _inspected([each.tool for each in kept.tools])
    approved = dict(kept.approved)
    for before, now in zip(kept.tools, tools, strict=True):
        name = str(before.tool.get("name"))
        if not now.reason and name in approved and approved[name].fingerprint == before.fingerprint:
            approved[name] = Approved(now.fingerprint, definition(now.tool))
    words = about({}, kept.instructions)
    said = About(words, words, partial=True) if kept.listed_at is not None else None
    return msgspec.structs.replace(kept, checks=CHECKS, tools=tools, approved=approved, about=kept.about or said)


def _mentions(tool: JsonObject, names: Set[str], own: Set[str]) -> tuple[str, ...]:
    if not names:
        return ()
    from pilothouse.mcp.servers.quarantine import mentions  # noqa: PLC0415

    return mentions(tool, names, own)


def _view(entry: ServerEntry, prefix: str, each: Listed, kept: Kept, mentions: tuple[str, ...]) -> ServerTool:
    tool, state = each.tool, tool_state(entry, each, kept)
    name = str(tool.get("name") or "")
    approved = kept.approved.get(name) if state == "changed" else None
    reason = each.reason
    if approved is not None:
        reason = f"Its definition changed: {'; '.join(differences(approved.definition, definition(tool)))}."
    output = tool.get("outputSchema")
    warnings = dict.fromkeys((*each.warnings, *mentions))
    return ServerTool(
        server_id=entry.id,
        server=entry.name,
        name=name,
        qualified_name=qualified_name(prefix, name),
        wire_name=wire_name(prefix, name),
        title=str(tool.get("title") or ""),
        description=str(tool.get("description") or ""),
        input_schema=an_object(tool.get("inputSchema")),
        output_schema=output if isinstance(output, dict) else None,
        annotations=an_object(tool.get("annotations")),
        fingerprint=each.fingerprint,
        state=state,
        reason=reason,
        warnings=tuple(warnings),
        approved=approved.definition if approved is not None else None,
        now=definition(tool) if approved is not None else None,
        seconds=seconds_of(entry, name),
    )
