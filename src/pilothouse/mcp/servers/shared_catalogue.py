"""What was approved of servers' tools and words, shared by several processes on one database, and lists of tools.

A definition that one of them saw first is the one that all compare with, and what the person accepted or refused at
one holds at all. What a local server offers is known only where it was started: the others have that list, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pilothouse.mcp.client.fingerprints import same_words
from pilothouse.mcp.client.missing_keys import Lack
from pilothouse.mcp.servers.catalogue import CHECKS, About, Approved, Catalogue, Kept
from pilothouse.types.json import JsonObject, convert, plain
from pilothouse.types.ports import JsonStore
from pilothouse.types.servers import ServerEntry
from pilothouse.types.shared import OpenJson

# Rows of the database, by the names that files of a data folder would have.
APPROVALS = "tools.json"
LISTS = "lists.json"


class Approval(msgspec.Struct, frozen=True):
    """What was approved of one server; None for words until they were first heard."""

    tools: dict[str, Approved] = {}
    words: JsonObject | None = None
    refused: str = ""


class SharedCatalogue(Catalogue):
    """Knows the tools of all servers as this process was told, and what of them all processes have approved.

    Where this process has no list of a local server, that of another one counts; where it starts `programs`, its own
    does. Whatever lists, approves or forgets something waits for the database: not for the event loop.
    """

    def __init__(self, folder: Path, home: Path, open_json: OpenJson, *, programs: bool = True) -> None:
        super().__init__(folder)
        self._approvals: JsonStore[dict[str, Approval]] = open_json(home / APPROVALS, _parsed, dict)
        self._lists: JsonStore[dict[str, Kept]] = open_json(home / LISTS, _parsed_lists, dict)
        self._programs = programs
        # What both gave when they were last put together.
        self._together: dict[str, tuple[Kept, Approval | None, Kept]] = {}

    def kept(self, entry: ServerEntry) -> Kept:
        own, approval = self._listed(entry), self._approvals.value.get(entry.id)
        known = self._together.get(entry.id)
        if known is None or known[0] is not own or known[1] is not approval:
            known = self._together[entry.id] = (own, approval, _joined(own, approval))
        return known[2]

    def learn(
        self, entry: ServerEntry, tools: Sequence[JsonObject], facts: Kept, words: JsonObject | None = None
    ) -> bool:
        news = super().learn(entry, tools, facts, words)
        self._share(entry)
        return news

    def lacks(self, entry: ServerEntry, lacks: Sequence[Lack]) -> bool:
        news = super().lacks(entry, lacks)
        if news:
            self._share(entry)
        return news

    def forget(self, server_id: str) -> None:
        super().forget(server_id)
        self._together.pop(server_id, None)
        for rows in (self._approvals, self._lists):
            if server_id in rows.value:
                rows.update(lambda raw: raw.pop(server_id, None))

    def _listed(self, entry: ServerEntry) -> Kept:
        own = super().kept(entry)
        if entry.transport != "stdio" or (self._programs and own.listed_at is not None):
            return own
        other = self._lists.value.get(entry.id)
        return other if other is not None and (other.source, other.checks) == (own.source, CHECKS) else own

    def _share(self, entry: ServerEntry) -> None:
        """Let others have the list of a local server, unless they have the same."""
        # What is approved of it has a row of its own.
        kept = msgspec.structs.replace(super().kept(entry), approved={})
        known = self._lists.value.get(entry.id)
        if entry.transport == "stdio" and (
            known is None or msgspec.structs.replace(known, listed_at=kept.listed_at) != kept
        ):
            self._lists.update(lambda raw: raw.update({entry.id: plain(kept)}))

    def _keep(self, server_id: str, kept: Kept, *, durable: bool = False) -> None:
        super()._keep(server_id, kept, durable=durable)
        news = _news(self._approvals.value.get(server_id, Approval()), kept)
        if news == Approval():
            return

        def changed(raw: JsonObject) -> None:
            before = convert(raw.get(server_id, {}), Approval)
            raw[server_id] = plain(_with(before, news, decided=durable))

        self._approvals.update(changed)


def _news(known: Approval, kept: Kept) -> Approval:
    """Return what of a list is approved otherwise than is known."""
    tools = {name: each for name, each in kept.approved.items() if known.tools.get(name) != each}
    about = kept.about
    if about is None or (known.words is not None and about.refused == known.refused and _same(known.words, about)):
        return Approval(tools)
    return Approval(tools, about.approved, about.refused)


def _same(words: JsonObject, about: About) -> bool:
    return same_words(words, about.approved)


def _with(before: Approval, news: Approval, *, decided: bool) -> Approval:
    """Return what is approved with news: what the person `decided` counts, of the rest what another process had."""
    if decided:
        words, refused = (before.words, before.refused) if news.words is None else (news.words, news.refused)
        return Approval({**before.tools, **news.tools}, words, refused)
    words, refused = (news.words, news.refused) if before.words is None else (before.words, before.refused)
    return Approval({**news.tools, **before.tools}, words, refused)


def _joined(own: Kept, approval: Approval | None) -> Kept:
    if approval is None:
        return own
    about = own.about
    if about is not None and approval.words is not None:
        # Where only moments and versions differ, that is accepted.
        words = about.now if same_words(approval.words, about.now) else approval.words
        about = About(words, about.now, approval.refused, about.partial)
    return msgspec.structs.replace(own, approved={**own.approved, **approval.tools}, about=about)


def _parsed_lists(raw: JsonObject) -> dict[str, Kept]:
    return convert(raw, dict[str, Kept])


def _parsed(raw: JsonObject) -> dict[str, Approval]:
    return convert(raw, dict[str, Approval])


def approvals_in(folder: Path) -> JsonObject:
    """Return what the lists in a folder have approved, for the first process that shares it."""
    found: JsonObject = {}
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        # A list that cannot be read can be had again.
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            kept = msgspec.json.decode(file.read_bytes(), type=Kept)
            found[file.stem] = plain(_news(Approval(), kept))
    return found
