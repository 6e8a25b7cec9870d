"""Keeps memories: cleaned, each once, compared with what is known already. Implements the port `MemoryKeeper`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence

import msgspec

from pilothouse.memory import texts
from pilothouse.memory.recent import RecentMemories
from pilothouse.memory.searching import MemorySearcher
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated, ItemUpdated
from pilothouse.types.ids import new_id
from pilothouse.types.item_data import CallData, ReminderData
from pilothouse.types.items import Item, is_a, new_item, patch
from pilothouse.types.memories import (
    Memory,
    MemoryCollections,
    MemoryDraft,
    MemoryKept,
    MemoryMerge,
    MemoryPatch,
    MemoryRecords,
    MemorySearch,
    MemoryWords,
)
from pilothouse.types.records import Records
from pilothouse.types.scopes import Scope

_log = logging.getLogger(__name__)
_FORGOTTEN = "The person had this memory forgotten: “{title}”. Do not store it again unless they ask for it."


class Keeper:
    """All memories of all owners; each verb is for one of them."""

    def __init__(
        self,
        kept: MemoryRecords,
        records: Records,
        recent: RecentMemories,
        searcher: MemorySearcher,
        redact: Callable[[str], str],
    ) -> None:
        self._kept = kept
        self._records = records
        self._recent = recent
        self._searcher = searcher
        # Masks what is a secret.
        self._redact = redact

    async def keep(self, owner: str, draft: MemoryDraft) -> MemoryKept:
        memory = self._without_secrets(_made(draft))
        if draft.replaces:
            return await self._replaced(owner, memory, draft.replaces)
        near = await self._compared(owner, memory)
        said = bare(memory)
        for other, likeness in near:
            if likeness >= limits.MEMORY_SAME and said <= bare(other) and _covers(other, memory):
                same = texts.squeezed(other.text) == texts.squeezed(memory.text)
                return MemoryKept(memory=other, outcome="known" if same else "alike")
        older = _doubtful(memory, near)
        memory = msgspec.structs.replace(memory, doubts=tuple(each.key for each in older))
        kept, is_new = await self._kept.add_memory(owner, memory)
        self._changed(kept)
        return (
            MemoryKept(memory=kept, outcome="kept", contradicts=older)
            if is_new
            else MemoryKept(memory=kept, outcome="known")
        )

    async def _replaced(self, owner: str, memory: Memory, key: str) -> MemoryKept:
        older = await self._kept.memory(owner, key)
        memory = msgspec.structs.replace(memory, title=_title(older, memory.title, memory.text))
        others = _doubtful(memory, await self._compared(owner, memory, older.key))
        memory = msgspec.structs.replace(memory, doubts=tuple(each.key for each in others))
        await self._kept.merge_memories(owner, memory, [older.key], time.time())
        self._changed(memory, older)
        await self._mark(owner, older, forgotten=True)
        return MemoryKept(memory=memory, contradicts=others)

    async def _compared(self, owner: str, memory: Memory, instead_of: str = "") -> list[tuple[Memory, float]]:
        """Return what is most like a memory where it would stand, and how alike; nothing where that takes too long."""
        words = MemoryWords(f"{memory.title}\n{memory.text}", (memory.scope,), limits.MEMORY_SAME_SUBJECT)
        try:
            async with asyncio.timeout(limits.MEMORY_COMPARE_TIME):
                found = await self._searcher.search(owner, words, any_words=True)
        except (TimeoutError, PilothouseError) as error:
            _log.info("a new memory was not compared with the others: %s", error)
            return []
        said = bare(memory)
        return [
            (match.memory, max(match.likeness or 0.0, texts.in_common(said, bare(match.memory))))
            for match in found.matches
            if match.memory.key not in (memory.key, instead_of)
        ]

    async def search(self, owner: str, words: MemoryWords) -> MemorySearch:
        return await self._searcher.search(owner, words)

    async def used(self, owner: str, keys: Sequence[str]) -> None:
        if keys:
            await self._kept.used_memories(owner, keys, time.time())

    async def get(self, owner: str, key: str, scopes: Sequence[Scope] | None = None) -> Memory:
        found = await self._kept.memory(owner, key)
        if scopes is not None and found.scope not in scopes:
            raise PilothouseError("not_found", "There is no such memory here.")
        return found

    async def change(self, owner: str, key: str, patch: MemoryPatch) -> Memory:
        now = time.time()
        before = await self._kept.memory(owner, key)
        said = self._without_secrets(_patched(before, patch, now))
        doubts = None
        if said.text != before.text:
            doubts = tuple(each.key for each in _doubtful(said, await self._compared(owner, said)))
        change = lambda memory: self._without_secrets(_patched(memory, patch, now, doubts))  # noqa: E731
        after = await self._kept.change_memory(owner, before.key, change)
        self._changed(after)
        return after

    async def merge(self, owner: str, wanted: MemoryMerge) -> Memory:
        """Make one memory of several; what any of them carries, the one carries."""
        found = [await self._kept.memory(owner, key) for key in dict.fromkeys(wanted.keys)]
        if len(found) < len(wanted.keys):
            raise PilothouseError("bad_request", "One of these memories is named twice.")
        memory = self._without_secrets(_merged(found, wanted))
        await self._kept.merge_memories(owner, memory, [one.key for one in found], time.time())
        self._changed(memory, *found)
        return memory

    async def forget(self, owner: str, key: str) -> Memory:
        known = (await self._kept.memory(owner, key)).key
        now = time.time()
        gone = await self._kept.change_memory(
            owner, known, lambda memory: msgspec.structs.replace(memory, forgotten_at=now)
        )
        self._changed(gone)
        await self._mark(owner, gone, forgotten=True)
        return gone

    async def restore(self, owner: str, key: str) -> Memory:
        """Remember a forgotten one again."""
        known = (await self._kept.memory(owner, key, forgotten=True)).key
        back = await self._kept.change_memory(
            owner, known, lambda memory: msgspec.structs.replace(memory, forgotten_at=None), forgotten=True
        )
        self._changed(back)
        await self._mark(owner, back, forgotten=False)
        return back

    async def told(self, owner: str, gone: Memory) -> None:
        """Tell the model of the conversation that stored it that the person had it forgotten."""
        item = await self._stored_by(owner, gone)
        if item is not None:
            text = _FORGOTTEN.replace("{title}", gone.title)
            about = patch(ReminderData, name="undone")
            reminder = new_item(item.conversation_id, "reminder", run_id=item.run_id, text=text, data=about)
            await self._records.append(item.conversation_id, [ItemCreated(item=reminder)], None)

    async def collections(self, owner: str, scopes: Sequence[Scope] | None = None) -> MemoryCollections:
        found = tuple(await self._kept.memory_sizes(owner, scopes))
        view = await self._searcher.meaning.view()
        return MemoryCollections(
            collections=found,
            memories=sum(each.memories for each in found),
            bytes=sum(each.bytes for each in found),
            by_meaning=view.state == "ready",
            meaning_note=view.message,
        )

    def _without_secrets(self, memory: Memory) -> Memory:
        """Return a memory that may be kept: it would be read again and again, and exported."""
        said = "\n".join((memory.title, memory.text, *memory.tags))
        if self._redact(said) != said:
            message = "There is a secret in this text, and secrets are not remembered."
            raise PilothouseError("bad_request", message, fix="Leave the secret out, and say where it is kept instead.")
        return memory

    def _changed(self, *memories: Memory) -> None:
        self._searcher.meaning.changed("memory")
        for memory in memories:
            self._recent.forget(memory.origin.conversation_id)

    async def _mark(self, owner: str, memory: Memory, *, forgotten: bool) -> None:
        """Show at the call that stored it whether it is remembered."""
        item = await self._stored_by(owner, memory)
        if item is None or not is_a(item, CallData):
            return
        others = tuple(key for key in item.data.undone if key != memory.key)
        undone = (*others, memory.key) if forgotten else others
        event: Event = ItemUpdated(item_id=item.id, data=patch(CallData, undone=undone))
        await self._records.append(item.conversation_id, [event], None)

    async def _stored_by(self, owner: str, memory: Memory) -> Item | None:
        if not memory.origin.item_id:
            return None
        try:
            return await self._records.item(owner, memory.origin.item_id)
        except PilothouseError as error:
            if error.code != "not_found":
                raise
            # Its conversation is gone.
            return None


def bare(memory: Memory) -> frozenset[str]:
    """Return the words that a memory says something with."""
    return texts.bare_words(f"{memory.title} {memory.text}")


def _made(draft: MemoryDraft) -> Memory:
    now, text = time.time(), texts.cleaned(draft.text)
    return Memory(
        key=new_id("m"),
        title=texts.title_of(draft.title, text),
        text=text,
        tags=texts.tags_of(draft.tags),
        scope=_checked(draft.scope),
        says=draft.says,
        tainted=draft.says == "stranger",
        sources=draft.sources[: limits.MEMORY_SOURCES],
        private=draft.private[: limits.MEMORY_SOURCES],
        origin=draft.origin,
        created_at=now,
        updated_at=now,
    )


def _checked(scope: Scope) -> Scope:
    if (scope.kind == "everywhere") != (not scope.id) or len(scope.id) > limits.MEMORY_SCOPE_CHARS:
        message = "A scope is everywhere, or a conversation, a topic or a folder that is named."
        raise PilothouseError("bad_request", message)
    return scope


def _covers(other: Memory, memory: Memory) -> bool:
    """Return whether one that is known can stand for a new one: strangers' words stand for nobody else's."""
    return not other.tainted or memory.tainted


def _doubtful(memory: Memory, near: Sequence[tuple[Memory, float]]) -> tuple[Memory, ...]:
    """Return the older ones that are about the same thing and say something else."""
    said, title = bare(memory), memory.title.casefold()
    about = [
        other
        for other, likeness in near
        if (likeness >= limits.MEMORY_SAME_SUBJECT or _shares(memory, other) or other.title.casefold() == title)
        and not said <= bare(other)
    ]
    return tuple(about[: limits.MEMORY_DOUBTS])


def _shares(one: Memory, other: Memory) -> bool:
    mine, theirs = bare(one), bare(other)
    return len(mine & theirs) > 1 and texts.in_common(mine, theirs) >= limits.MEMORY_SHARED_WORDS


def _title(before: Memory, wanted: str | None, text: str) -> str:
    """Return the title beside a text that may be another: one that was made from the text is made anew."""
    if wanted is not None and wanted != before.title:
        return texts.title_of(wanted, text)
    return texts.title_of("" if before.title == texts.title_of("", before.text) else before.title, text)


def _patched(memory: Memory, patch: MemoryPatch, now: float, doubts: tuple[str, ...] | None = None) -> Memory:
    text = memory.text if patch.text is None else texts.cleaned(patch.text)
    return msgspec.structs.replace(
        memory,
        text=text,
        title=_title(memory, patch.title, text),
        tags=memory.tags if patch.tags is None else texts.tags_of(patch.tags),
        scope=memory.scope if patch.scope is None else _checked(patch.scope),
        says="person" if patch.vouched else memory.says,
        tainted=memory.tainted and not patch.vouched,
        doubts=() if patch.settled else memory.doubts if doubts is None else doubts,
        updated_at=now,
    )


def _merged(found: Sequence[Memory], wanted: MemoryMerge) -> Memory:
    first = found[0]
    text = wanted.text or "\n".join(dict.fromkeys(one.text for one in found))
    says = {one.says for one in found}
    draft = MemoryDraft(
        text=text,
        title=wanted.title or first.title,
        tags=tuple(dict.fromkeys(tag for one in found for tag in one.tags))[: limits.MEMORY_TAGS],
        scope=wanted.scope or first.scope,
        says="stranger" if any(one.tainted for one in found) else "agent" if "agent" in says else "person",
        sources=_together(one.sources for one in found),
        private=_together(one.private for one in found),
        origin=first.origin,
    )
    return msgspec.structs.replace(_made(draft), created_at=min(one.created_at for one in found))


def _together(lists: object) -> tuple[str, ...]:
    return tuple(sorted({each for names in lists for each in names}))  # type: ignore[attr-defined]
