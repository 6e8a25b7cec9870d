"""The library: a host for programs, in the words a program would use.

Beside a running server on the same data folder it is that server's client; otherwise it opens the folder itself.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from pilothouse.connection import connect_host
from pilothouse.host.following import Following, Texts, all_items
from pilothouse.host.named_topics import topic_named
from pilothouse.host.new_conversations import begin_conversation, chosen, model_name
from pilothouse.host.selection import choose
from pilothouse.library.documents import Documents
from pilothouse.library.memories import Memories
from pilothouse.library.models import Models
from pilothouse.library.registries import Registries
from pilothouse.library.replays import Replay, replayed
from pilothouse.library.servers import Servers
from pilothouse.library.topics import OwnPrompts, PromptFiles, Topics
from pilothouse.library.web import Web
from pilothouse.types import limits
from pilothouse.types.api import Answer as Reply
from pilothouse.types.api import (
    CompactionWish,
    ConversationPatch,
    ImageInput,
    NewMessage,
    PartData,
    SearchHit,
)
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.documents import Document
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, ItemUpdated
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.item_data import CompactionData, ResponseData, SummaryData
from pilothouse.types.items import CLOSED, Item, ItemStatus, is_a, read
from pilothouse.types.json import JsonObject
from pilothouse.types.replays import ReplayWish
from pilothouse.types.runs import ENDED, CutReason, Run, RunError, RunStatus
from pilothouse.types.selection import Selection
from pilothouse.types.sources import Source, each_once
from pilothouse.types.stream import Usage
from pilothouse.types.usage import ContextLedger, TokenUsage, UsageReport


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


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What one message may use: these servers and no others, and what of them needs no question."""

    # Each as "name" or "name:tool,tool"; None leaves it to the conversation.
    servers: Sequence[str] | None = None
    # Each as "server.tool" or "server.*".
    allow: Sequence[str] = ()

    def selection(self) -> Selection | None:
        """Return the servers as the core takes them."""
        return None if self.servers is None else choose(self.servers)


class Chat:
    """A conversation."""

    def __init__(self, api: ClientApi, conversation: Conversation) -> None:
        self._api = api
        self.id = conversation.id

    async def send(
        self,
        text: str,
        *,
        images: Sequence[ImageInput | Document] = (),
        model: str | None = None,
        tools: Tools | None = None,
        attended: bool = False,
        thinking: bool | None = None,
    ) -> Answer:
        """Send a message and return its answer, which is on its way; with `attended` it may wait for a person.

        Documents that were added may go with it as images do.
        `thinking` asks the model to think first, or not to; a model that cannot be asked says so in a notice.
        """
        after = (await self.info()).last_seq
        tools = tools or Tools()
        body = NewMessage(
            text=text,
            images=tuple(each for each in images if isinstance(each, ImageInput)),
            documents=tuple(each.id for each in images if isinstance(each, Document)),
            model_id=model_name(model),
            unattended=not attended,
            selection=tools.selection(),
            allow=tuple(tools.allow),
            thinking=thinking,
        )
        accepted = await self._api.runs.post_message(LOCAL_OWNER, self.id, body)
        return Answer(self._api, await self._api.runs.get(LOCAL_OWNER, accepted.run_id), after)

    async def compact(self, keep: str = "", *, attended: bool = False) -> Answer:
        """Sum up what was said so far, and above all what `keep` names; the text of the answer is the summary.

        From then on the model reads the summary; `items` has everything as before. With `attended` it may wait for a
        person at a budget.
        """
        after = (await self.info()).last_seq
        wish = CompactionWish(keep=keep, unattended=not attended)
        accepted = await self._api.runs.compact(LOCAL_OWNER, self.id, wish)
        return Answer(self._api, await self._api.runs.get(LOCAL_OWNER, accepted.run_id), after)

    async def info(self) -> Conversation:
        """Return its title, settings and state as they are now."""
        return (await self._api.conversations.get(LOCAL_OWNER, self.id, limit=1)).conversation

    async def items(self) -> tuple[Item, ...]:
        """Return everything in it, in order."""
        return await all_items(self._api, self.id)

    async def context(self) -> ContextLedger:
        """Return what fills the model's window, and what the answers took."""
        return await self._api.conversations.context(LOCAL_OWNER, self.id)

    async def part(self, item: Item, index: int) -> bytes:
        """Return the bytes of an image or a file of an item: `item.data.content` tells which there are."""
        return (await self._api.runs.part(LOCAL_OWNER, item.id, index)).data

    async def update(self, *, title: str | None = None, settings: ConversationSettings | None = None) -> Conversation:
        """Rename it or change its settings."""
        return await self._api.conversations.update(
            LOCAL_OWNER, self.id, ConversationPatch(title=title, settings=settings)
        )

    async def delete(self) -> None:
        """Delete it; the page can bring it back for a while."""
        await self._api.conversations.delete(LOCAL_OWNER, self.id)


class Answer:
    """The answer to one message; iterate over it for typed events, or ask for its text."""

    def __init__(self, api: ClientApi, run: Run, after: int) -> None:
        self._api = api
        self._following = Following(api, run, after)
        self._texts = Texts()
        self._responses: dict[str, list[str]] = {}
        # Which of them goes on where the one before it was cut.
        self._continues: dict[str, bool] = {}
        # How many pictures each of them has.
        self._pictures: dict[str, int] = {}
        # Summaries of large results, which are paid for too.
        self._summaries: set[str] = set()
        self._usage = Usage()
        self._sources: list[Source] = []
        self._cost: float | None = None
        self._questions: dict[str, Item] = {}

    @property
    def run_id(self) -> str:
        """Return the id of the run that makes it."""
        return self._following.run.id

    @property
    def status(self) -> RunStatus:
        """Return how far it is, as of the last event that was read."""
        return self._following.run.status

    @property
    def error(self) -> RunError | None:
        """Return why it failed."""
        return self._following.run.error

    @property
    def cut(self) -> CutReason | None:
        """Return why its text is not at its end: the limit of tokens, the model's window, or a pause; else None."""
        return self._following.run.cut

    @property
    def usage(self) -> Usage:
        """Return the tokens that all its requests took so far."""
        return self._usage

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return what it cites, each once and in order; addresses and titles are a stranger's words."""
        return tuple(each_once(self._sources))

    @property
    def cost(self) -> float | None:
        """Return about what all its requests cost so far, in dollars; None where no price is known."""
        return self._cost

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        """Yield events until it ends or waits for a person; each piece of text comes once."""
        if self._following.over:
            return
        async with aclosing(self._following.events()) as events:
            async for _sent, event in events:
                fresh = self._take(event)
                if fresh is not None:
                    yield fresh

    def _take(self, event: Event) -> Event | None:
        match event:
            case ItemDelta():
                text = self._texts.fresh(event)
                if not text:
                    return None
                if event.item_id in self._responses:
                    self._responses[event.item_id].append(text)
                return msgspec.structs.replace(event, text=text)
            case ItemCreated(item=item) if item.run_id == self.run_id:
                self._begun(item)
            case ItemCompleted(item_id=item_id) if item_id in self._questions:
                del self._questions[item_id]
            case ItemCompleted(item_id=item_id) if item_id in self._summaries:
                self._pay(read(SummaryData, event.data))
            case ItemCompleted(item_id=item_id) if item_id in self._responses:
                self._answered(item_id, event.status, read(ResponseData, event.data))
            case ItemUpdated(item_id=item_id) if item_id in self._responses and "content" in event.data:
                self._pictures[item_id] = len(read(ResponseData, event.data).content)
        return event

    def _begun(self, item: Item) -> None:
        self._texts.begin(item.id, item.text)
        if item.kind == "question":
            self._questions[item.id] = item
        elif item.kind == "tool_summary":
            self._summaries.add(item.id)
        elif is_a(item, CompactionData) and item.data.keep is not None:
            # It was asked for: it is the answer.
            self._responses[item.id], self._continues[item.id] = [item.text], False
        elif is_a(item, ResponseData):
            self._responses[item.id] = [item.text]
            self._continues[item.id] = bool(item.data.continues)
            if item.status in CLOSED:
                # It was whole before anyone heard of it.
                self._answered(item.id, item.status, item.data)

    def _answered(self, item_id: str, status: ItemStatus, data: ResponseData) -> None:
        if status == "failed":
            # It broke off and was asked for again; what counts is the answer that stands.
            del self._responses[item_id]
        else:
            self._sources += data.sources
        self._pay(data)

    def _pay(self, data: ResponseData | SummaryData) -> None:
        self._usage = _sum(self._usage, data.usage)
        self._cost = _added(self._cost, data.cost)

    async def stream(self) -> AsyncGenerator[str, None]:
        """Yield the answer's text as it comes, without thinking."""
        async for event in self:
            if isinstance(event, ItemDelta) and event.item_id in self._responses:
                yield event.text

    async def pictures(self) -> list[PartData]:
        """Wait for the end and return the pictures that the model made, each with its type and its bytes."""
        async for _event in self:
            pass
        made = [(item, index) for item, count in self._pictures.items() for index in range(count)]
        return [await self._api.runs.part(LOCAL_OWNER, item, index) for item, index in made if item in self._responses]

    async def text(self) -> str:
        """Wait for the end and return the whole text; raise a PilothouseError when there is no answer."""
        async for _event in self:
            pass
        if self.status != "completed":
            raise self._failure()
        text = ""
        for item_id, parts in self._responses.items():
            said = "".join(parts)
            text += f"\n\n{said}" if text and said and not self._continues[item_id] else said
        return text

    def _failure(self) -> PilothouseError:
        if self.error is not None:
            return PilothouseError(self.error.code, self.error.message, fix=self.error.fix)
        if self.status == "waiting":
            return PilothouseError("needs_answer", "A question waits for an answer.", fix="Use `reply`.")
        return PilothouseError("cancelled", f"The answer was {self.status}.")

    async def go_on(self) -> None:
        """Have the model go on with an answer that was cut, or make another attempt at one that failed; iterate on."""
        self._following.go_on(await self._api.runs.resume(LOCAL_OWNER, self.run_id))

    async def cancel(self) -> None:
        """Stop it, and return when it has stopped; what came so far stays, and iterating ends."""
        following = self._following.beside(await self._api.runs.cancel(LOCAL_OWNER, self.run_id))
        if following.run.status not in ENDED:
            async for _event in following.events():
                pass
        # Iterating, which may be in the middle of it, goes on from where it is.
        self._following.run = following.run

    @property
    def question(self) -> Item | None:
        """Return the oldest question that it waits with; permission for parallel calls is asked side by side."""
        return next(iter(self._questions.values()), None)

    async def reply(
        self, choice: str | None = None, *, text: str | None = None, content: JsonObject | None = None
    ) -> None:
        """Answer the question that it waits with; when no other is open, iterate on."""
        question = self.question
        if question is None:
            raise PilothouseError("conflict", "There is no question to answer.")
        body = Reply(choice=choice, text=text, content=content)
        run = await self._api.questions.answer(LOCAL_OWNER, question.id, body)
        if run.status == "waiting":
            del self._questions[question.id]
        else:
            # A lasting permission may have answered others as well.
            self._questions.clear()
        self._following.go_on(run)


def _added(so_far: float | None, more: object) -> float | None:
    return (so_far or 0.0) + more if isinstance(more, int | float) else so_far


def _sum(so_far: Usage, more: TokenUsage | None) -> Usage:
    if more is None:
        return so_far
    return Usage(**{name: getattr(so_far, name) + count for name, count in msgspec.structs.asdict(more).items()})
