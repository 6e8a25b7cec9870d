"""A chat with a scripted model over the real core: its own home, its own database."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from pilothouse.types.api import (
    ConversationPatch,
    ConversationSnapshot,
    MessageAccepted,
    ModelInput,
    NewConversation,
    NewMessage,
)
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.items import Item, ItemKind
from pilothouse.types.models import ModelView
from pilothouse.types.runs import ENDED, Run
from pilothouse.wiring import OpenHost, Role, open_host
from tests.support import invariants
from tests.support.feed_reader import FeedReader

ME = LOCAL_OWNER
# Ample also for the built-in model, which answers as fast as the rest of the machine lets it.
PATIENCE = 60.0


class Chat:
    """One conversation and what a person does in it."""

    def __init__(self, host: OpenHost, conversation_id: str, script: Path) -> None:
        self.host = host
        self.api = host.api
        self.id = conversation_id
        self.script = script

    def write(self, turns: Sequence[Any], **more: Any) -> None:
        """Change the script; the next message is answered from it."""
        self.script.write_text(json.dumps({"turns": list(turns), **more}))

    async def use(self, model: ModelInput) -> ModelView:
        """Add a model, and have it answer from now on."""
        added = await self.api.models.add(ME, model)
        now = (await self.snapshot()).conversation.settings
        chosen = msgspec.structs.replace(now, model_id=added.id)
        await self.api.conversations.update(ME, self.id, ConversationPatch(settings=chosen))
        return added

    async def send(self, text: str = "Hello", **fields: Any) -> MessageAccepted:
        return await self.api.runs.post_message(ME, self.id, NewMessage(text=text, **fields))

    async def say(self, text: str = "Hello", **fields: Any) -> Run:
        """Send a message and wait until its run ends or asks something."""
        return await self.settled((await self.send(text, **fields)).run_id)

    async def settled(self, run_id: str) -> Run:
        """Wait for a run to end or to ask something."""
        while True:
            await self.follow(run_id)
            run = await self.api.runs.get(ME, run_id)
            # A reader who begins at the first event may see, between two batches, that the run once waited.
            if run.status in ENDED or run.status == "waiting":
                return run

    async def follow(self, run_id: str, after: int = 0, folded: FeedReader | None = None) -> FeedReader:
        """Read the conversation's events until the run ends or asks something."""
        folded = folded or FeedReader()
        async with asyncio.timeout(PATIENCE), aclosing(await self.api.conversations.events(ME, self.id, after)) as feed:
            async for batch in feed:
                folded.take(batch)
                if folded.ended(run_id):
                    return folded
        raise AssertionError("the feed ended")

    async def until_streaming(self, text: str = "") -> None:
        """Wait until an answer is on its way and has this text."""
        folded = FeedReader()
        async with asyncio.timeout(PATIENCE), aclosing(await self.api.conversations.events(ME, self.id, 0)) as feed:
            async for batch in feed:
                folded.take(batch)
                open_ = [item for item in folded.list() if item.kind == "response" and item.status == "streaming"]
                if any(text in item.text for item in open_):
                    return

    async def snapshot(self) -> ConversationSnapshot:
        return await self.api.conversations.get(ME, self.id, limit=500)

    async def items(self, *kinds: ItemKind) -> list[Item]:
        return [item for item in (await self.snapshot()).items if not kinds or item.kind in kinds]

    async def texts(self, *kinds: ItemKind) -> list[str]:
        return [item.text for item in await self.items(*kinds)]


def database_of(home: Path) -> str:
    """Return the URL of the database in a home."""
    return f"sqlite:///{home / 'pilothouse.db'}"


@asynccontextmanager
async def open_chat(
    home: Path,
    turns: Sequence[Any] = ("Hello.",),
    *,
    settings: dict[str, Any] | None = None,
    database_url: str | None = None,
    role: Role = "server",
    at_rest: bool = True,
) -> AsyncIterator[Chat]:
    """Open a host with one conversation, and check the database when it is closed."""
    home.parent.mkdir(parents=True, exist_ok=True)
    script = home.parent / "script.json"
    script.write_text(json.dumps({"turns": list(turns)}))
    async with open_host(home, database_url, role=role) as host:
        # Asking about everything, unless a test is about something else.
        chosen = ConversationSettings(**{"model_id": f"scripted:{script}", "mode": "ask", **(settings or {})})
        conversation = await host.api.conversations.create(ME, NewConversation(settings=chosen))
        yield Chat(host, conversation.id, script)
    invariants.check(database_url or database_of(home), at_rest=at_rest)


async def wait_for_runs(chat: Chat) -> None:
    """Wait until no run of the conversation is at work."""
    for run in (await chat.snapshot()).runs:
        if run.status not in ENDED:
            await chat.settled(run.id)
