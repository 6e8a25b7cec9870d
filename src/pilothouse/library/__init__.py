"""The library: a host for programs, in the words a program would use.

Beside a running server on the same data folder it is that server's client; otherwise it opens the folder itself.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from pilothouse.connection import connect_host
from pilothouse.host.named_topics import topic_named
from pilothouse.host.new_conversations import begin_conversation, chosen, model_name
from pilothouse.host.selection import choose
from pilothouse.library.chats import Chat
from pilothouse.library.documents import Documents
from pilothouse.library.memories import Memories
from pilothouse.library.models import Models
from pilothouse.library.registries import Registries
from pilothouse.library.replays import Replay, replayed
from pilothouse.library.servers import Servers
from pilothouse.library.topics import OwnPrompts, PromptFiles, Topics
from pilothouse.library.web import Web
from pilothouse.types import limits
from pilothouse.types.api import SearchHit
from pilothouse.types.conversations import Conversation, check_temperature
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import JsonObject
from pilothouse.types.replays import ReplayWish
from pilothouse.types.usage import UsageReport


class Host:
    """A host, open for as long as its `async with` block lasts."""

    def __init__(self, home: str | os.PathLike[str] | None = None, *, database_url: str | None = None) -> None:
        """Name the data folder and the database; by default PILOTHOUSE_HOME and PILOTHOUSE_DATABASE_URL do."""
        self._connecting: AbstractAsyncContextManager[ClientApi] = connect_host(
            Path(home).expanduser().absolute() if home is not None else None, database_url
        )
        self._api: ClientApi | None = None

    async def __aenter__(self) -> Self:
        self._api = await self._connecting.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._api = None
        await self._connecting.__aexit__(kind, error, trace)

    @property
    def api(self) -> ClientApi:
        """Return everything the host can do, for what has no shorter word here."""
        if self._api is None:
            raise RuntimeError("Use the host inside `async with Host() as host:`.")
        return self._api

    @property
    def models(self) -> Models:
        """Return the configured models."""
        return Models(self.api)

    @property
    def servers(self) -> Servers:
        """Return the MCP servers."""
        return Servers(self.api)

    @property
    def documents(self) -> Documents:
        return Documents(self.api)

    @property
    def registries(self) -> Registries:
        return Registries(self.api)

    @property
    def topics(self) -> Topics:
        """Return the topics that conversations share."""
        return Topics(self.api)

    @property
    def prompts(self) -> OwnPrompts:
        """Return the person's prompts."""
        return OwnPrompts(self.api.prompts)

    @property
    def mini_prompts(self) -> PromptFiles:
        """Return the mini prompts, which are switched on in conversations."""
        return PromptFiles(self.api.mini_prompts)

    @property
    def web(self) -> Web:
        """Return who searches the web and who makes pictures."""
        return Web(self.api)

    @property
    def memories(self) -> Memories:
        """Return what is remembered."""
        return Memories(self.api)

    async def start(
        self,
        *,
        model: str | None = None,
        system: str | None = None,
        title: str | None = None,
        servers: Sequence[str] | None = None,
        topic: str | None = None,
        prompts: ChosenPrompts | None = None,
    ) -> Chat:
        """Start a conversation; what is not given is as the active profile has it.

        `servers` names the MCP servers it uses and no others, each as "name" or "name:tool,tool"; `topic` is the name
        or the id of one that there is.
        """
        settings = chosen(model=model, system=system)
        if servers is not None:
            settings["selection"] = choose(servers)
        if topic is not None:
            settings["topic_id"] = (await topic_named(self.api, topic)).id
        if prompts is not None:
            settings |= prompts.settings()
        return Chat(self.api, await begin_conversation(self.api, settings, title=title))

    async def conversation(self, conversation_id: str) -> Chat:
        """Return a conversation by its id."""
        return Chat(self.api, (await self.api.conversations.get(LOCAL_OWNER, conversation_id, limit=1)).conversation)

    async def conversations(self) -> AsyncIterator[Conversation]:
        """Yield all conversations, most recently used first."""
        cursor = None
        while True:
            page = await self.api.conversations.list(LOCAL_OWNER, limit=limits.LIST_PAGE, cursor=cursor)
            for conversation in page.conversations:
                yield conversation
            cursor = page.next
            if cursor is None:
                return

    async def usage(self, days: int = limits.USAGE_DAYS_SHOWN) -> UsageReport:
        """Return what models were asked for in the last days, by day and model, also in conversations that are gone."""
        return await self.api.usage.report(LOCAL_OWNER, days)

    async def search(self, query: str) -> Sequence[SearchHit]:
        """Find conversations by their words, then by what they mean (`similar`)."""
        return (await self.api.conversations.search(LOCAL_OWNER, query, limit=limits.SEARCH_HITS)).hits

    async def replay(
        self,
        run: str,
        *,
        model: str | None = None,
        system: str | None = None,
        temperature: float | None = None,
        thinking: bool | None = None,
    ) -> Replay:
        """Ask a model what a finished run asked, with what its tools gave then, and wait for the end.

        No tool is executed; a call that was not recorded ends it. `run` is a run's id, or a conversation's for its last
        finished run. What is not given is as it was.
        """
        if temperature is not None:
            check_temperature(temperature)
        wish = ReplayWish(model_id=model_name(model), system_prompt=system, temperature=temperature, thinking=thinking)
        return await replayed(self.api, run, wish)


class ChosenPrompts(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation is told besides: one of the person's prompts, and the mini prompts that are on."""

    # In place of the system prompt, by its name, and what its variables are given.
    prompt: str | None = None
    values: dict[str, str] = msgspec.field(default_factory=dict)
    mini: Sequence[str] = ()

    def settings(self) -> JsonObject:
        """Return them as a conversation has them."""
        own = {"prompt": self.prompt, "prompt_values": self.values} if self.prompt is not None else {}
        return {**own, "mini_prompts": tuple(self.mini)}
