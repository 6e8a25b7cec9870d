"""A chat with branches whose model is a scripted endpoint; what it was sent is kept for each run."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pilothouse.types.api import ConversationPatch, ModelInput
from pilothouse.types.branch_views import BranchChoice
from pilothouse.types.errors import PilothouseError
from pilothouse.types.items import Item
from tests.support.chats import ME, Chat, open_chat
from tests.support.request_prefix import check_extends
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Call, Say, Text, Tokens, Wire


def text_reply(text: str) -> Reply:
    """Return an answer of these words."""
    return Reply(Say((Text([text]),)))


def call_reply(tool: str, arguments: str = "{}", number: int = 0, text: str = "") -> Reply:
    """Return an answer that calls a tool."""
    said = (Text([text]),) if text else ()
    return Reply(Say((*said, Call(f"call_{tool}_{number}", tool, arguments)), stop="tool"))


class BranchChat:
    """A chat, its model, and what that was sent for each run."""

    def __init__(self, chat: Chat, endpoint: Endpoint) -> None:
        self.chat = chat
        self.endpoint = endpoint
        self._sent: dict[str, list[bytes]] = {}

    async def say(self, text: str, *replies: Reply, **fields: Any) -> str:
        """Send a message, have it answered, and return its run."""
        return await self.followed((await self.chat.send(text, **fields)).run_id, *replies)

    async def followed(self, run_id: str, *replies: Reply) -> str:
        """Have a run answered that begins now; keep what its model was sent."""
        if replies:
            self.endpoint.answer(*replies)
        before = len(self.endpoint.requests)
        run = await self.chat.settled(run_id)
        assert run.status in ("completed", "waiting"), (run.status, run.error)
        self._sent.setdefault(run_id, []).extend(each.body for each in self.endpoint.requests[before:])
        return run_id

    def answer(self, *replies: Reply) -> None:
        """Say what comes next, before it is sent for."""
        self.endpoint.answer(*replies)

    @staticmethod
    def spending(tokens: int) -> Reply:
        """Return an answer that took so many tokens."""
        return Reply(Say((Text(["Done."]),), tokens=Tokens(input=tokens, output=10)))

    def sent(self, run_id: str) -> list[str]:
        """Return the requests of a run."""
        return [body.decode() for body in self._sent[run_id]]

    async def message(self, run_id: str) -> Item:
        """Return the message of a run."""
        run = await self.chat.api.runs.get(ME, run_id)
        return next(each for each in await all_items(self.chat) if each.id == run.message_item_id)

    async def choose(self, branch: int) -> None:
        """Go on with a branch."""
        await self.chat.api.branches.choose(ME, self.chat.id, BranchChoice(branch=branch))

    async def check_extends(self, branch: int, but: str = "") -> list[str]:
        """Fail unless each request on a path extends the one before it, save those of a run; return its runs."""
        snapshot = await self.chat.api.conversations.get(ME, self.chat.id, 500, branch)
        runs = [item.run_id or "" for item in snapshot.items if item.kind == "user_message"]
        requests = [body for run_id in runs for body in self._sent.get(run_id, ()) if run_id != but]
        for before, after in itertools.pairwise(requests):
            check_extends(before, after)
        return runs


async def all_items(chat: Chat) -> tuple[Item, ...]:
    """Return the items of all branches."""
    return (await chat.api.conversations.items(ME, chat.id, None, 500)).items


async def refusal_of(work: Any) -> PilothouseError:
    """Return how something was refused."""
    with pytest.raises(PilothouseError) as raised:
        await work
    return raised.value


@asynccontextmanager
async def open_branch_chat(
    home: Path, url: str | None, wire: Wire = "openai-compatible", **settings: Any
) -> AsyncIterator[BranchChat]:
    """Open such a chat."""
    async with Endpoint() as endpoint, open_chat(home, settings=settings, database_url=url) as chat:
        fields: dict[str, Any] = {"base_url": endpoint.url, "context_window": 1_000_000, "supports_images": True}
        await chat.use(ModelInput(name="m", id="m", provider=wire, model="m", **fields))
        # Without a title the model would be asked for one in between.
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        endpoint.answer(text_reply("Well."))
        yield BranchChat(chat, endpoint)
