"""An answer as programs have it: events as they come, its text, and the questions that it waits with."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from pilothouse.host.following import Following, Texts
from pilothouse.types.api import Answer as Reply
from pilothouse.types.api import PartData
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, ItemUpdated
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.item_data import CompactionData, ResponseData, SummaryData
from pilothouse.types.items import CLOSED, Item, ItemStatus, is_a, read
from pilothouse.types.json import JsonObject
from pilothouse.types.runs import ENDED, CutReason, Run, RunError, RunStatus
from pilothouse.types.sources import Source, each_once
from pilothouse.types.stream import Usage
from pilothouse.types.usage import TokenUsage


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
    def message_id(self) -> str:
        """Return the id of the message that it answers."""
        return self._following.run.message_item_id

    @property
    def branch(self) -> int:
        """Return the branch in which it stands."""
        return self._following.run.branch

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
