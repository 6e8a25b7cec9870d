"""Conversations that become files, and files that become conversations."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

import msgspec

from pilothouse.agent import closing
from pilothouse.timeline import transcripts
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation
from pilothouse.types.events import Event
from pilothouse.types.exchange import Download, ExportFormat, Imported
from pilothouse.types.host import Exchange
from pilothouse.types.items import Item
from pilothouse.types.records import Records
from pilothouse.types.runs import ACTIVE, Run

# Some items of an owner's conversation after a position, at most so many.
Pages = Callable[[str, str, int, int], Awaitable[Sequence[Item]]]
_UNFIT = re.compile(r"[^\w-]+")


class ExchangeService(Exchange):
    """Conversations as files, out of the store and into it."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def export_conversation(
        self, owner: str, conversation_id: str, format_: ExportFormat = "json", all_branches: bool = False
    ) -> Download:
        conversation = await self._records.conversation(owner, conversation_id)
        name = _UNFIT.sub("-", conversation.title)[:60].strip("-") or conversation_id
        if format_ == "markdown":
            return Download(name=f"{name}.md", chunks=self._markdown(conversation, all_branches=all_branches))
        chunks = await self._records.export(owner, conversation_id)
        return Download(name=f"{name}.jsonl", chunks=chunks)

    async def import_conversations(self, owner: str, body: AsyncIterator[bytes]) -> Imported:
        return await self._records.import_conversations(owner, body, stopped)

    async def _markdown(self, conversation: Conversation, *, all_branches: bool) -> AsyncGenerator[bytes, None]:
        yield transcripts.heading(conversation).encode()
        yield transcripts.about_branches(conversation, all_of_them=all_branches).encode()
        if not (all_branches and conversation.branches):
            async for piece in self._told(partial(self._records.items_after, branch=conversation.branch), conversation):
                yield piece
            return
        for node in await self._records.branch_nodes(conversation):
            yield transcripts.branch_heading(node).encode(errors="replace")
            async for piece in self._told(partial(_in_branch, self._records, node.number), conversation):
                yield piece

    @staticmethod
    async def _told(pages: Pages, conversation: Conversation) -> AsyncGenerator[bytes, None]:
        after = -1
        while items := await pages(conversation.owner, conversation.id, after, limits.SNAPSHOT_ITEMS):
            yield "".join(transcripts.told(items)).encode(errors="replace")
            after = items[-1].position


async def _in_branch(
    records: Records, branch: int, owner: str, conversation_id: str, after: int, limit: int
) -> Sequence[Item]:
    return await records.items_in(owner, conversation_id, branch, after, limit)


def stopped(run: Run, items: Sequence[Item]) -> tuple[Run, list[Event]] | None:
    """Return a run of elsewhere as stopped: whoever imports it did not ask for it."""
    if run.status not in ACTIVE:
        return None
    return msgspec.structs.replace(run, status="cancelled", process=None), closing.cancelled(items)
