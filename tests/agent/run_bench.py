"""A run on a real store, with its journal, for the agent's parts to work on."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from pathlib import Path
from typing import cast

import pytest_asyncio

from pilothouse.agent.calls import Calls
from pilothouse.agent.preparing import CallSetting
from pilothouse.agent.results.pipeline import Pipeline
from pilothouse.agent.tool_lookup import ToolLookup
from pilothouse.secrets.redaction import Redactor
from pilothouse.secrets.sealing import Sealer
from pilothouse.secrets.store import SecretStore
from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from pilothouse.timeline.feed import Feed
from pilothouse.timeline.journal import RunJournal
from pilothouse.types.events import ItemCreated
from pilothouse.types.items import Call, Item
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Authorizer, OpenModel, Tool
from pilothouse.types.runs import Run
from pilothouse.types.stream import StreamEvent
from tests.support.authorizers import an_authorizer
from tests.support.records import OWNER, add_run


class StreamOf:
    """A model that answers with given events and remembers what it was asked."""

    def __init__(self, *answers: Sequence[StreamEvent]) -> None:
        self.answers = list(answers)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        self.requests.append(request)
        for event in self.answers.pop(0):
            yield event

    def opened(self, *, context_window: int = 32_000) -> OpenModel:
        return OpenModel(ModelConfig(name="m", provider="scripted", id="m", context_window=context_window), self)


class Bench:
    """One claimed run and the parts it is made of."""

    def __init__(self, store: Store, feed: Feed, run: Run, items: Sequence[Item], home: Path) -> None:
        self.store = store
        self.run = run
        self.feed = feed
        self.journal = RunJournal(store, feed, run, items, lambda: None)
        self.redactor = Redactor()
        self.authorizer: Authorizer = an_authorizer()
        secrets = SecretStore(home / "secrets", learn=self.redactor.learn, find=lambda: None)
        self.results = Pipeline(self.redactor, store.keep_result, Sealer(secrets))

    def calls(self, *tools: Tool, context_window: int = 32_000, unattended: bool = False) -> Calls:
        setting = CallSetting(
            self.run.conversation_id, self.run.id, "/srv/project", unattended, context_window, owner=self.run.owner
        )
        return Calls(setting, ToolLookup(tools), self.authorizer, self.results, self.journal)

    async def wish(self, tool: str, arguments: object, call_id: str = "call_1", **data: object) -> Call:
        """Write a call that the model has asked for."""
        about: JsonObject = {"turn": "1.1", "tool": tool, "callId": call_id, "arguments": arguments} | data
        item = self.journal.new("tool_call", status="waiting", data=about | {"phase": "args_received", "phases": {}})
        await self.journal.write(ItemCreated(item=item))
        return self.call(item.id)

    def call(self, item_id: str) -> Call:
        """Return a call as the run sees it."""
        return cast(Call, self.item(item_id))

    def item(self, item_id: str) -> Item:
        """Return an item as the run sees it."""
        return next(item for item in self.journal.items if item.id == item_id)

    async def kept(self) -> list[Item]:
        """Return all items as the database has them after the next write, which must be what the run sees."""
        await self.journal.write(promised=False)
        kept = list((await self.store.items(OWNER, self.run.conversation_id, None, 1000)).items)
        assert [item for item in kept if item.status != "streaming"] == [
            item for item in self.journal.items if item.status != "streaming"
        ]
        return kept


@pytest_asyncio.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    feed = Feed()
    opened = open_store(tmp_path, None, feed.publish)
    conversation_id, _ = await add_run(opened.store, "What is it?")
    run = await opened.store.claim_next(conversation_id, "p_test")
    assert run is not None
    made = Bench(opened.store, feed, run, await opened.store.history(conversation_id), tmp_path)
    yield made
    await made.journal.close()
    await opened.close()
