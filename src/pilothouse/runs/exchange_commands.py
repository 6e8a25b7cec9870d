"""Commands that turn conversations into files, and files into conversations."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

import msgspec

from pilothouse.agent import leftovers
from pilothouse.runs import transcripts
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation
from pilothouse.types.events import Event
from pilothouse.types.exchange import Download, ExportFormat, Imported
from pilothouse.types.items import Item
from pilothouse.types.records import Records
from pilothouse.types.runs import ACTIVE, Run

_UNFIT = re.compile(r"[^\w-]+")


class ExchangeCommands:
    """The part of the core that exports and imports."""

    def __init__(self, records: Records) -> None:
        self._of_exchange = records

    async def export_conversation(self, owner: str, conversation_id: str, form: ExportFormat) -> Download:
        """Return a conversation as a file."""
        conversation = await self._of_exchange.conversation(owner, conversation_id)
        name = _UNFIT.sub("-", conversation.title)[:60].strip("-") or conversation_id
        if form == "markdown":
            return Download(name=f"{name}.md", chunks=self._markdown(owner, conversation))
        chunks = await self._of_exchange.export(owner, conversation_id)
        return Download(name=f"{name}.jsonl", chunks=chunks)

    async def import_conversations(self, owner: str, chunks: AsyncIterator[bytes]) -> Imported:
        """Take the conversations of an export over, all or none; nothing in them is carried out."""
        return await self._of_exchange.import_conversations(owner, chunks, stopped)

    async def _markdown(self, owner: str, conversation: Conversation) -> AsyncGenerator[bytes, None]:
        yield transcripts.heading(conversation).encode()
        after = -1
        while items := await self._of_exchange.items_after(owner, conversation.id, after, limits.SNAPSHOT_ITEMS):
            yield "".join(transcripts.told(items)).encode(errors="replace")
            after = items[-1].position


def stopped(run: Run, items: Sequence[Item]) -> tuple[Run, list[Event]] | None:
    """Return a run of elsewhere as stopped: whoever imports it did not ask for it."""
    if run.status not in ACTIVE:
        return None
    return msgspec.structs.replace(run, status="cancelled", process=None), leftovers.cancelled(items)
