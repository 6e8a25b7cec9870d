"""How a server of a registry could be added: asked for anew where the copy is old, else from the copy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import msgspec

from pilothouse.mcp.proposals import server_json, smithery
from pilothouse.mcp.proposals.downloads import BundleAddress, KeepsBundles, downloaded, of_package
from pilothouse.mcp.registry import addresses, entries
from pilothouse.mcp.registry.asking import RegistryTrouble
from pilothouse.mcp.registry.book import Registry, RegistryBook
from pilothouse.mcp.registry.clients import client_of
from pilothouse.mcp.registry.entries import Entry
from pilothouse.mcp.registry.local_copy import Kept, LocalCopy
from pilothouse.mcp.registry.notes import day, key_hint
from pilothouse.mcp.registry.searching import warnings_about
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject, an_object, objects_in
from pilothouse.types.proposals import Proposal, Recognised
from pilothouse.types.servers import OfficialSource, RegistrySource, SmitherySource, Source


class Offers:
    """Makes proposals of what registries say about a server."""

    def __init__(self, book: RegistryBook, copy: LocalCopy, bundles: Callable[[], KeepsBundles]) -> None:
        self._book = book
        self._copy = copy
        self._bundles = bundles

    async def of(self, registry: Registry, name: str) -> Recognised:
        """Return how a server could be added; raise `not_found` where there is none."""
        name = name.strip()[: limits.REGISTRY_NAME_CHARS]
        kept = await asyncio.to_thread(self._copy.find, registry.id, name)
        away = ""
        if not _is_fresh(registry, kept):
            try:
                kept = await self._asked(registry, kept, name)
            except RegistryTrouble as trouble:
                _raise_unless_kept(registry, kept, trouble, name)
                away = f"{registry.subject} {trouble.words}."
        if kept is None:
            raise _absent(registry, name)
        warnings = await asyncio.to_thread(warnings_about, self._copy, kept)
        proposals = await self._with_bundle(registry, kept, _proposals(registry, kept, warnings))
        of = f" as of {day(_known_at(registry, kept))}" if away else ""
        title = " ".join(filter(None, (kept.entry.name, kept.entry.version)))
        what = f"{title}, from {_place(registry)}{of}."
        return Recognised(what=f"{what} {away}".strip(), proposals=proposals)

    async def _with_bundle(
        self, registry: Registry, kept: Kept, proposals: tuple[Proposal, ...]
    ) -> tuple[Proposal, ...]:
        """Fetch the bundle of a server that cannot be had in another way: who asks for it means that."""
        entry = kept.entry
        if registry.kind != "official" or entry.status == "deleted" or any(each.server for each in proposals):
            return proposals
        packages = objects_in(an_object(entry.raw.get("server")).get("packages"))
        for at, (raw, offered) in enumerate(zip(packages, proposals, strict=False)):
            address = _address_of(raw) if offered.kind == "mcpb" else None
            if address is not None:
                made = await downloaded(address, self._bundles(), near=registry.url)
                told = (*offered.warnings, *made.warnings)
                made = msgspec.structs.replace(made, source=offered.source, warnings=told)
                return (*proposals[:at], made, *proposals[at + 1 :])
        return proposals

    async def _asked(self, registry: Registry, kept: Kept | None, name: str) -> Kept | None:
        """Ask the registry itself, and keep what it says."""
        client = client_of(registry.kind, registry.url, await self._book.key(registry))
        # Before the request: an answer that arrives after a change of address must not bring the old one back.
        await asyncio.to_thread(self._copy.state, registry.id, registry.url)
        said = await client.details(_sent_name(registry, kept) or name)
        read = entries.official if registry.kind == "official" else entries.smithery
        entry = await asyncio.to_thread(read, said)
        if entry is None or entry.name != name:
            raise RegistryTrouble("odd", "answered with something that is not this server")
        await asyncio.to_thread(self._keep, registry, kept, entry, said)
        return await asyncio.to_thread(self._copy.find, registry.id, name)

    def _keep(self, registry: Registry, kept: Kept | None, entry: Entry, said: JsonObject) -> None:
        if registry.kind == "official" or kept is None:
            self._copy.keep(registry.id, registry.url, [entry])
        if registry.kind == "smithery":
            self._copy.keep_details(registry.id, registry.url, entry.name, said, entry)


def _address_of(raw: JsonObject) -> BundleAddress | None:
    try:
        return of_package(raw)
    except BadField:
        return None


def _is_fresh(registry: Registry, kept: Kept | None) -> bool:
    if kept is None:
        return False
    return time.time() - _known_at(registry, kept) < limits.REGISTRY_REFRESH_EVERY


def _known_at(registry: Registry, kept: Kept) -> float:
    return kept.seen_at if registry.kind == "official" else kept.details_at


def _raise_unless_kept(registry: Registry, kept: Kept | None, trouble: RegistryTrouble, name: str) -> None:
    """Raise unless the copy can answer for a registry that does not."""
    if trouble.why == "absent":
        raise _absent(registry, name) from None
    if kept is not None and (registry.kind == "official" or kept.details is not None):
        return
    message = f"{registry.subject} {trouble.words}."
    if trouble.why == "key":
        raise PilothouseError("no_key", message, fix=key_hint(registry)) from None
    raise PilothouseError("server_failed", message, fix="Try again in a while.") from None


def _absent(registry: Registry, name: str) -> PilothouseError:
    shown = entries.text(name, limits.REGISTRY_NAME_CHARS)
    return PilothouseError("not_found", f"{registry.subject} has no server “{shown}”.", fix="Search for it.")


def _sent_name(registry: Registry, kept: Kept | None) -> str:
    """Return a server's name as its registry spells it: what is shown of it has nothing that cannot be seen."""
    if kept is None:
        return ""
    raw = an_object(kept.entry.raw.get("server")) if registry.kind == "official" else kept.entry.raw
    name = raw.get("name") if registry.kind == "official" else raw.get("qualifiedName")
    return name if isinstance(name, str) else ""


def _place(registry: Registry) -> str:
    subject = registry.subject
    return f"t{subject[1:]}" if subject.startswith("The ") else subject


def _proposals(registry: Registry, kept: Kept, warnings: Sequence[str]) -> tuple[Proposal, ...]:
    entry, source = kept.entry, _source(registry, kept.entry)
    if registry.kind == "official":
        made = server_json.proposals_of(an_object(entry.raw.get("server")), source)
    else:
        tools = _tools(kept.details or {})
        offered = smithery.proposals_of(kept.details or {}, source)
        made = tuple(msgspec.structs.replace(each, notes=(*tools, *each.notes)) for each in offered)
    note = f" {entry.status_note}" if entry.status_note else ""
    if entry.status == "deprecated":
        warnings = [f"{registry.subject} says that it is not to be used any more.{note}", *warnings]
    told = [msgspec.structs.replace(each, warnings=(*warnings, *each.warnings)) for each in made]
    if entry.status != "deleted":
        return tuple(told)
    problem = f"{registry.subject} has deleted it.{note}"
    return tuple(msgspec.structs.replace(each, server=None, fields=(), problem=problem) for each in told)


def _tools(details: JsonObject) -> tuple[str, ...]:
    """Return the tools that a server is said to have, in a sentence."""
    tools = objects_in(details.get("tools"))
    names = [name for each in tools if (name := entries.text(each.get("name"), limits.TOOL_NAME_CHARS))]
    if not names:
        return ()
    more = f" and {len(names) - limits.REGISTRY_TOOLS} more" if len(names) > limits.REGISTRY_TOOLS else ""
    return (f"Its tools: {', '.join(names[: limits.REGISTRY_TOOLS])}{more}.",)


def _source(registry: Registry, entry: Entry) -> Source:
    if registry.id == addresses.OFFICIAL:
        return OfficialSource(name=entry.name, version=entry.version)
    if registry.id == addresses.SMITHERY:
        return SmitherySource(qualified_name=entry.name)
    return RegistrySource(registry=registry.id, name=entry.name, version=entry.version)
