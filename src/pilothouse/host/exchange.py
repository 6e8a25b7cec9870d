"""Conversations that become files, and files that become conversations."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

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

_UNFIT = re.compile(r"[^\w-]+")


class ExchangeService(Exchange):
    """Conversations as files, out of the store and into it."""

    def __init__(self, records: Records) -> None:
        self._records = records

    async def export_conversation(self, owner: str, conversation_id: str, format_: ExportFormat = "json") -> Download:
        conversation = await self._records.conversation(owner, conversation_id)
        name = _UNFIT.sub("-", conversation.title)[:60].strip("-") or conversation_id
        if format_ == "markdown":
            return Download(name=f"{name}.md", chunks=self._markdown(owner, conversation))
        chunks = await self._records.export(owner, conversation_id)
        return Download(name=f"{name}.jsonl", chunks=chunks)

    async def import_conversations(self, owner: str, body: AsyncIterator[bytes]) -> Imported:
        return await self._records.import_conversations(owner, body, stopped)

    async def _markdown(self, owner: str, conversation: Conversation) -> AsyncGenerator[bytes, None]:
        yield transcripts.heading(conversation).encode()
        after = -1
        while items := await self._records.items_after(owner, conversation.id, after, limits.SNAPSHOT_ITEMS):
            yield "".join(transcripts.told(items)).encode(errors="replace")
            after = items[-1].position


def stopped(run: Run, items: Sequence[Item]) -> tuple[Run, list[Event]] | None:
    """Return a run of elsewhere as stopped: whoever imports it did not ask for it."""
    if run.status not in ACTIVE:
        return None
    return msgspec.structs.replace(run, status="cancelled", process=None), closing.cancelled(items)
