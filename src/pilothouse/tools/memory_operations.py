"""The tool `memory_operations`: memories are searched, stored, changed, forgotten and counted."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import ClassVar, get_args

import msgspec

from pilothouse.tools.arguments import (
    BadArgument,
    optional_float,
    optional_int,
    optional_string,
    require_string,
    success,
)
from pilothouse.tools.consolidated import Consolidated, Operation
from pilothouse.tools.making import ToolParts
from pilothouse.types import limits
from pilothouse.types.access import Access, Taint
from pilothouse.types.authority import PIPED, SERVER, source_name
from pilothouse.types.conversations import Conversation
from pilothouse.types.durations import age_of
from pilothouse.types.invisible import on_one_line
from pilothouse.types.json import JsonObject, plain
from pilothouse.types.lazy import Lazy
from pilothouse.types.memories import (
    Memory,
    MemoryDraft,
    MemoryKeeper,
    MemoryKept,
    MemoryMatch,
    MemoryOrigin,
    MemoryPatch,
    MemoryWords,
)
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput
from pilothouse.types.records import Records
from pilothouse.types.remembered import MemoryUse
from pilothouse.types.scopes import EVERYWHERE, Scope, ScopeKind, scopes_seen, usual_scope
from pilothouse.types.settings import Settings
from pilothouse.types.tool_names import MEMORY

LANE = "memory"
_DATA = (Path(__file__).parent / "memory_results.md").read_text().strip()
_TEXT: JsonObject = {"type": "string"}
_TAGS: JsonObject = {"type": "array", "items": {"type": "string"}}
_SCOPE: JsonObject = {"type": "string", "enum": list(get_args(ScopeKind))}
_SAID_BY = {
    "person": "the person's word",
    "agent": "an agent's note",
    "stranger": "an agent's note, perhaps in a stranger's words",
}
_WHERE = {
    "conversation": "this conversation",
    "topic": "this topic",
    "folder": "this folder",
    "everywhere": "everywhere",
}


class MemoryParts(msgspec.Struct, frozen=True):
    """What every operation is made of."""

    # Loaded at the first call.
    keeper: Lazy[MemoryKeeper]
    records: Records
    settings: Callable[[], Settings]

    async def conversation(self, context: CallContext) -> Conversation:
        """Return the conversation that a call is made in: it says which memories are seen."""
        return await self.records.conversation(context.owner, context.conversation_id, deleted=True)


class _Operation(Operation):
    """What all have in common: they touch nothing but memories, one after the other."""

    icon = "brain"

    def __init__(self, parts: MemoryParts) -> None:
        self._parts = parts

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        return Access(operation=f"{MEMORY}.{self.name}", lane=LANE)

    def about(self, arguments: Mapping[str, object]) -> str:
        said = arguments.get("title") or arguments.get("content") or arguments.get("query") or arguments.get("id") or ""
        return on_one_line(str(said)[: limits.MEMORY_TITLE_CHARS])

    async def _meant(self, arguments: JsonObject, context: CallContext, key: str = "id") -> Memory:
        """Return the memory that is named; one that this conversation does not see does not exist."""
        scopes = scopes_seen(await self._parts.conversation(context))
        return await self._parts.keeper().get(context.owner, require_string(arguments, key).strip(), scopes)


class _Search(_Operation):
    name = "search_memory"
    doing = "Searching memory"
    icon = "search"
    properties: ClassVar[JsonObject] = {
        "query": _TEXT,
        "similarity_threshold": {"type": ["number", "string"], "description": "0 to 1, usually 0.3"},
        "limit": {"type": "integer"},
    }

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return what the memories that would be found bring along: strangers' text, private data."""
        found = [match.memory for match in await self._found(arguments, context)]
        private = sorted({source for memory in found for source in memory.private})
        strange = sorted({source for memory in found if memory.tainted for source in memory.sources})
        is_strange = any(memory.tainted for memory in found)
        taints: dict[Taint, bool] = {"private": bool(private), "untrusted": is_strange}
        return Access(
            operation=f"{MEMORY}.{self.name}",
            lane=LANE,
            brings=frozenset(taint for taint, is_so in taints.items() if is_so),
            source=(private or strange or [LANE if is_strange else ""])[0],
        )

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        told = context.access.brings if context.access is not None else frozenset()
        # What came in between that brings more along than was said is left for the next search.
        found = [
            match
            for match in await self._found(arguments, context)
            if ("untrusted" in told or not match.memory.tainted) and ("private" in told or not match.memory.private)
        ]
        await self._parts.keeper().used(context.owner, [match.memory.key for match in found])
        recalled = sorted({source for match in found for source in match.memory.private})
        if not found:
            return success("Nothing is remembered about that here.")
        lines = [_line(match.memory, match.likeness) for match in found]
        return success("\n".join([*lines, _DATA]), {"recalled": recalled} if recalled else {})

    async def _found(self, arguments: JsonObject, context: CallContext) -> Sequence[MemoryMatch]:
        query = require_string(arguments, "query").strip()
        usual = self._parts.settings().memory_likeness
        likeness = optional_float(arguments, "similarity_threshold", usual)
        if not 0 <= likeness <= 1:
            raise BadArgument("`similarity_threshold` must be a number from 0 to 1.")
        most = max(1, min(optional_int(arguments, "limit", limits.MEMORY_HITS_SHOWN), limits.MEMORY_HITS))
        scopes = scopes_seen(await self._parts.conversation(context))
        found = await self._parts.keeper().search(context.owner, MemoryWords(query, scopes, likeness, most))
        return found.matches


class _Writing(_Operation):
    """What changes memories: asked about where strangers may have had a word in it."""

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        access = Access(operation=f"{MEMORY}.{self.name}", lane=LANE)
        if not context.seen.untrusted:
            return access
        why = f"This conversation has read what strangers wrote ({_named(context.seen.untrusted)}), {self._danger}"
        return msgspec.structs.replace(access, dangerous=why, preview=await self._preview(arguments, context))

    _danger = "and what is kept may be their words."

    async def _preview(self, arguments: JsonObject, context: CallContext) -> JsonObject:
        """Return what the person should see before they decide: all that is kept, for whom, and from where."""
        scope = await self._scope(arguments, context)
        return {
            "memory": {
                "title": on_one_line(optional_string(arguments, "title")),
                "text": optional_string(arguments, "content")[: limits.MEMORY_CHARS],
                "scope": scope.kind,
                "sources": _named(context.seen.untrusted),
            }
        }

    async def _scope(self, arguments: JsonObject, context: CallContext) -> Scope:
        return _scope_of(optional_string(arguments, "scope"), await self._parts.conversation(context))


class _Store(_Writing):
    name = "store_memory"
    doing = "Remembering"
    properties: ClassVar[JsonObject] = {
        "content": {**_TEXT, "description": "one fact, in a whole sentence"},
        "title": {**_TEXT, "description": "a few words"},
        "tags": _TAGS,
        "scope": _SCOPE,
        "replaces": {**_TEXT, "description": "id of a memory that is not true any more"},
    }

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        older = await self._meant(arguments, context, "replaces") if arguments.get("replaces") else None
        strange = context.seen.untrusted
        draft = MemoryDraft(
            text=require_string(arguments, "content"),
            title=optional_string(arguments, "title"),
            tags=_tags(arguments) or (),
            scope=await self._scope(arguments, context),
            says="stranger" if strange else "agent",
            sources=tuple(sorted(strange)),
            private=tuple(sorted(context.seen.private)),
            origin=MemoryOrigin(conversation_id=context.conversation_id, item_id=context.call_id),
            replaces=older.key if older is not None else "",
        )
        kept = await self._parts.keeper().keep(context.owner, draft)
        shown = _shown(kept.memory)
        shown = msgspec.structs.replace(
            shown, outcome=kept.outcome, replaced=draft.replaces, doubts=len(kept.contradicts)
        )
        return success(_told(kept), {"memory": plain(shown)})


class _Update(_Writing):
    name = "update_memory"
    doing = "Changing a memory"
    properties: ClassVar[JsonObject] = {"id": _TEXT, "content": _TEXT, "title": _TEXT, "tags": _TAGS, "scope": _SCOPE}

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        memory = await self._meant(arguments, context)
        text, title = optional_string(arguments, "content"), optional_string(arguments, "title")
        scope = await self._scope(arguments, context) if arguments.get("scope") else None
        tags = _tags(arguments)
        if not (text or title or scope or tags is not None):
            raise BadArgument("Say what changes: `content`, `title`, `tags` or `scope`.")
        if text or title:
            # With other words it is the agent who says it: it is kept anew, and the old one can come back.
            draft = MemoryDraft(
                text=text or memory.text,
                title=title or memory.title,
                tags=memory.tags if tags is None else tags,
                scope=scope or memory.scope,
                says="stranger" if context.seen.untrusted or memory.tainted else "agent",
                sources=tuple(sorted(context.seen.untrusted | set(memory.sources))),
                private=tuple(sorted(context.seen.private | set(memory.private))),
                origin=MemoryOrigin(conversation_id=context.conversation_id, item_id=context.call_id),
                replaces=memory.key,
            )
            kept = await self._parts.keeper().keep(context.owner, draft)
        else:
            patch = MemoryPatch(tags=tags, scope=scope)
            kept = MemoryKept(memory=await self._parts.keeper().change(context.owner, memory.key, patch))
        after = kept.memory
        replaced = memory.key if after.key != memory.key else ""
        shown = msgspec.structs.replace(
            _shown(after), outcome="changed", replaced=replaced, doubts=len(kept.contradicts)
        )
        said = [f"Changed: “{after.title}” [{after.short}].", *_contradictions(kept)]
        return success("\n".join(said), {"memory": plain(shown)})


class _Forget(_Writing):
    name = "forget_memory"
    doing = "Forgetting"
    properties: ClassVar[JsonObject] = {"id": _TEXT}
    _danger = "and one of them may want this forgotten."

    async def _preview(self, arguments: JsonObject, context: CallContext) -> JsonObject:
        memory = await self._meant(arguments, context)
        sources = _named(context.seen.untrusted)
        shown = {"title": memory.title, "text": memory.text, "scope": memory.scope.kind, "sources": sources}
        return {"memory": shown}

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        gone = await self._parts.keeper().forget(context.owner, (await self._meant(arguments, context)).key)
        shown = msgspec.structs.replace(_shown(gone), outcome="forgotten")
        return success(f"Forgotten: “{gone.title}”. The person can bring it back.", {"memory": plain(shown)})


class _Collections(_Operation):
    name = "list_collections"
    doing = "Counting memories"

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        scopes = scopes_seen(await self._parts.conversation(context))
        found = await self._parts.keeper().collections(context.owner, scopes)
        now = time.time()
        lines = [
            f"{_WHERE[each.scope.kind]}: {each.memories:,} memories, {each.bytes:,} bytes, "
            f"last changed {age_of(now - each.updated_at)} ago"
            for each in found.collections
        ]
        how = "words and meaning" if found.by_meaning else "words"
        total = f"In all {found.memories:,} memories, {found.bytes:,} bytes; they are found by {how}."
        return success("\n".join([*lines, total]), {"statistics": plain(found)})


def make(parts: ToolParts) -> Consolidated:
    """Make the tool."""
    return memory_operations(MemoryParts(parts.memory, parts.records, parts.settings))


def memory_operations(parts: MemoryParts) -> Consolidated:
    """Return the tool over this keeper."""
    description = (Path(__file__).parent / f"{MEMORY}.md").read_text().strip()
    operations = (_Search, _Store, _Collections, _Update, _Forget)
    return Consolidated(MEMORY, description, [each(parts) for each in operations])


def _scope_of(named: str, conversation: Conversation) -> Scope:
    if not named:
        return usual_scope(conversation)
    if named == EVERYWHERE.kind:
        return EVERYWHERE
    found = next((scope for scope in scopes_seen(conversation) if scope.kind == named), None)
    if found is None:
        raise BadArgument(f"This conversation has no {named}; take another scope.")
    return found


def _tags(arguments: JsonObject) -> tuple[str, ...] | None:
    given = arguments.get("tags")
    if given is None:
        return None
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise BadArgument("`tags` must be a list of texts.")
    return tuple(given)


def _shown(memory: Memory) -> MemoryUse:
    return MemoryUse(
        key=memory.key,
        title=memory.title,
        text=memory.text[: limits.MEMORY_PREVIEW_CHARS],
        scope=memory.scope.kind,
        says=memory.says,
    )


def _told(kept: MemoryKept) -> str:
    memory = kept.memory
    if kept.outcome != "kept":
        how = "word for word" if kept.outcome == "known" else "in other words"
        return f"This is remembered already, {how}: “{memory.title}” [{memory.short}]. Nothing was stored."
    stored = f"Stored in {_WHERE[memory.scope.kind]}: “{memory.title}” [{memory.short}]."
    return "\n".join([stored, *_contradictions(kept)])


def _contradictions(kept: MemoryKept) -> list[str]:
    if not kept.contradicts:
        return []
    return [
        "It may contradict what was remembered before:",
        *(_line(older) for older in kept.contradicts),
        "If one of them is not true any more, forget it: forget_memory with its id.",
    ]


def _line(memory: Memory, likeness: float | None = None) -> str:
    """Return a memory on lines of its own, with all that says how far it can be trusted."""
    alike = f", likeness {likeness:.2f}" if likeness is not None else ""
    where = f", from conversation {memory.origin.conversation_id}" if memory.origin.conversation_id else ""
    head = (
        f'<memory id="{memory.short}" title="{escape(memory.title)}"> {_SAID_BY[memory.says]}, '
        f"{age_of(time.time() - memory.updated_at)} old, {_WHERE[memory.scope.kind]}{where}{alike}"
    )
    return f"{head}\n{escape(memory.text, quote=False)}\n</memory>"


def _named(sources: frozenset[str]) -> str:
    """Return where text came from, in words."""
    names = {
        f"the server {source_name(each)}" if each.startswith(SERVER) else _PLACES.get(each, each) for each in sources
    }
    return ", ".join(sorted(names))


_PLACES = {PIPED: "what was piped in", "terminal": "a command with the network", "memory": "a memory"}
