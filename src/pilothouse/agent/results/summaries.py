"""A large result becomes a summary, with the question in view: by a model, streamed as an item of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import msgspec

from pilothouse.agent.compaction import middle_out, only_repeats, transcript
from pilothouse.agent.history import history, until_message
from pilothouse.agent.media import Fetch, no_media
from pilothouse.agent.metering import Meter, kept_when_stopped
from pilothouse.agent.requests import request_size
from pilothouse.agent.spending import Purse, estimate
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemUpdated
from pilothouse.types.invisible import without_escapes, without_hidden
from pilothouse.types.item_data import SummaryData
from pilothouse.types.items import Call, Item, ItemStatus, patch
from pilothouse.types.json import JsonObject
from pilothouse.types.large_results import LargeResults
from pilothouse.types.messages import Message, ModelRequest, TextBlock
from pilothouse.types.models import ModelConfig
from pilothouse.types.origins import is_loopback
from pilothouse.types.ports import Journal, OpenModel
from pilothouse.types.stream import CUT, Failed, Stopped, StreamEvent, TextDelta

_REQUEST = (Path(__file__).parent / "summary_request.md").read_text().strip()
_ENTERED = (Path(__file__).parent / "summary_entered.md").read_text().strip()
_CUT = (Path(__file__).parent / "summary_cut.md").read_text().strip()
_STOPPED = "the person stopped it"
_EMPTY = "the model wrote nothing"
_LONGER = "what the model wrote is no shorter than the result"
_STUCK = "the model only repeated itself"
_SLOW = f"the model took more than {limits.SUMMARY_TIME:g} s"
_DECLINED = "the model declined"
_BROKE = "the model's answer broke off"
_BUDGET = "it could have passed the budget"


async def _none_other(model_id: str) -> OpenModel:
    raise PilothouseError("not_found", f"There is no model “{model_id}”.")


class Summarising(msgspec.Struct, frozen=True):
    """Who sums up a run's large results, and what the person set about that."""

    settings: LargeResults
    # The conversation's own model.
    opened: OpenModel
    # Gives a model that the person named for summaries.
    open: Callable[[str], Awaitable[OpenModel]] = _none_other
    # Gives what was kept of a result, where the process that had it is gone.
    fetch: Fetch = no_media
    # What the run may spend: a summary that would pass a budget is left undone.
    purse: Purse = msgspec.field(default_factory=Purse)

    @property
    def is_wanted(self) -> bool:
        """Return whether a large result becomes a summary, and not its beginning and end."""
        if self.settings.enter != "automatic":
            return self.settings.enter == "summary"
        return bool(self.settings.named) or sums_up(self.opened.config)

    async def models(self) -> AsyncIterator[OpenModel]:
        """Yield the models to ask, one after the other; one that cannot be had is passed over."""
        for name in self.settings.named:
            try:
                yield await self.open(name)
            except PilothouseError:
                continue
        yield self.opened


def sums_up(config: ModelConfig) -> bool:
    """Return whether a model makes summaries where nobody said so.

    A small one leaves out what matters, and one on this machine would read for minutes what is not read by anyone.
    """
    if config.provider in ("embedded", "scripted", "plugin") or config.context_window < limits.SUMMARISING_WINDOW:
        return False
    return not is_loopback(config.base_url) if config.base_url else config.provider != "ollama"


class _Attempt(NamedTuple):
    """What came of asking one model: its text, or why there is none and how the item ends."""

    text: str = ""
    why: str = ""
    status: ItemStatus = "completed"


class Summaries:
    """The summaries of one run's results."""

    def __init__(self, journal: Journal, run_id: str, how: Summarising) -> None:
        self._journal = journal
        self._run_id = run_id
        self._how = how
        # Those at work, by the ids of their calls and by their own.
        self._at_work: dict[str, asyncio.Task[_Attempt]] = {}
        # The calls whose results the person wants no summary of.
        self._unwanted: set[str] = set()

    def cancel(self, item_id: str) -> None:
        """Stop a summary, named by its own item or its call's."""
        task = self._at_work.get(item_id)
        if task is not None:
            self._unwanted.add(item_id)
            task.cancel()

    async def entered(self, call: Call, excerpt: str, whole: str) -> str:
        """Return what enters of a result: a summary, or the excerpt and why there is no summary."""
        # What is in front of an excerpt stays: what the result is, and how the rest is read.
        note, _, ends = excerpt.partition("\n")
        why = _STOPPED if call.data.cancel_requested else ""
        if not why:
            async for opened in self._how.models():
                request, purse = self._request(opened, call, whole), self._how.purse
                coming = estimate(opened.config, request_size(request), most=request.max_tokens)
                if not await purse.covers(self._mine(), coming):
                    why = _BUDGET
                    continue
                with purse.paying(coming):
                    attempt = await self._ask(opened, call, request, len(whole))
                if attempt.text:
                    return f"{note}\n{_ENTERED}\n\n{attempt.text}"
                why = attempt.why
                if attempt.status == "cancelled":
                    break
        return f"{note}\n[There is no summary of it: {why}. Here are its beginning and its end.]\n{ends}"

    async def kept(self, call: Call) -> str:
        """Return the text of a result as it was kept."""
        texts = []
        for part in call.data.content:
            if part.kind in ("text", "json", "resource") and not part.media_type.startswith(("image/", "audio/")):
                body = await self._how.fetch(call.id, part.index) if part.digest else part.text.encode()
                texts.append((body or b"").decode(errors="replace"))
        return "\n\n".join(filter(None, texts))

    def _mine(self) -> list[Item]:
        return [item for item in self._journal.items if item.run_id == self._run_id]

    async def _ask(self, opened: OpenModel, call: Call, request: ModelRequest, most: int) -> _Attempt:
        """Have one model write a summary, as an item below the call."""
        data = patch(
            SummaryData,
            call_item_id=call.id,
            server=call.data.server,
            tool=call.data.tool,
            server_tool=call.data.server_tool,
            model=opened.config.id,
        )
        item = self._journal.new("tool_summary", data=data)
        await self._journal.write(ItemCreated(item=item), promised=False)
        writing = _Writing(self._journal, item.id, opened, most, Meter(request_size(request)))
        task = asyncio.create_task(writing.write(request), name=f"summary {item.id}")
        self._at_work |= {item.id: task, call.id: task}
        try:
            async with kept_when_stopped(self._journal, lambda: ItemUpdated(item_id=item.id, data=writing.measures())):
                attempt = await self._outcome(task, {item.id, call.id})
        finally:
            self._at_work = {name: one for name, one in self._at_work.items() if one is not task}
        ended = ItemCompleted(item_id=item.id, status=attempt.status, data=writing.measures(attempt.why))
        await self._journal.write(ended, promised=False)
        return attempt

    async def _outcome(self, task: asyncio.Task[_Attempt], names: set[str]) -> _Attempt:
        try:
            return await task
        except asyncio.CancelledError:
            current = asyncio.current_task()
            if not (names & self._unwanted) or (current is not None and current.cancelling()):
                raise
            return _Attempt(why=_STOPPED, status="cancelled")

    def _request(self, opened: OpenModel, call: Call, whole: str) -> ModelRequest:
        settings, config = self._how.settings, opened.config
        tokens = settings.longest_summary
        # What the model can read: its window without what it is to write, and without what we say.
        room = min(settings.most_read, config.context_window - tokens - limits.SUMMARY_OVERHEAD)
        room = max(room, limits.SUMMARY_OVERHEAD) * limits.CHARS_PER_TOKEN
        said = transcript(history(until_message(self._journal.items, self._run_id)))
        said = middle_out(said, max(room // 4, room - len(whole)))
        name = call.data.server_tool or call.data.tool
        result = middle_out(whole, room - len(said))
        text = f"# The conversation\n\n{said}\n\n# The result of {name} with {call.data.arguments}\n\n{result}"
        return ModelRequest(
            system=_REQUEST.format(words=tokens // 2),
            messages=(Message("user", (TextBlock(text=text),)),),
            max_tokens=tokens,
            thinking=False if config.supports_thinking else None,
        )


class _Writing:
    """One model at work on one summary."""

    def __init__(self, journal: Journal, item_id: str, opened: OpenModel, most: int, meter: Meter) -> None:
        self._journal = journal
        self._meter = meter
        self._item_id = item_id
        self._opened = opened
        # It must be shorter than this.
        self._most = most
        self._began = time.monotonic()
        self._text = ""
        # Whether a limit ended it, which is not its end.
        self._cut = False

    async def write(self, request: ModelRequest) -> _Attempt:
        """Ask, and return what came of it."""
        room = (request.max_tokens or 0) * limits.CHARS_PER_TOKEN
        why = _BROKE
        try:
            async with asyncio.timeout(limits.SUMMARY_TIME), aclosing(self._opened.model.stream(request)) as events:
                async for event in events:
                    if (ended := self._take(event, room)) is not None:
                        why = ended
                        # How much was used is told last.
                        if isinstance(event, TextDelta | Failed):
                            break
        except TimeoutError:
            why = _SLOW
        text = without_hidden(without_escapes(self._text).strip())[0]
        if not why and not text:
            why = _EMPTY
        if not why and only_repeats(text):
            why = _STUCK
        if not why and len(text) >= self._most:
            why = _LONGER
        if why:
            return _Attempt(why=why, status="failed")
        return _Attempt(self._with_note(text) if self._cut else text)

    def _with_note(self, text: str) -> str:
        """Return a summary that says that it was cut; whoever watches reads it, too."""
        self._journal.delta(self._item_id, f"\n\n{_CUT}")
        return f"{text}\n\n{_CUT}"

    def _take(self, event: StreamEvent, room: int) -> str | None:
        """Take an event; return how the answer ended with it, nothing said against it, or None while it goes on."""
        self._meter.take(event)
        match event:
            case TextDelta():
                piece = event.text[: room - len(self._text)]
                self._text += piece
                self._journal.delta(self._item_id, piece)
                self._cut = len(piece) < len(event.text)
                return "" if self._cut else None
            case Failed():
                return event.message.rstrip(".") or _BROKE
            case Stopped():
                self._cut = event.reason in CUT
                return _DECLINED if event.reason == "refusal" else ""
            case _:
                pass
        return None

    def measures(self, why: str = "") -> JsonObject:
        """Return what it took."""
        data = patch(SummaryData, duration_ms=round((time.monotonic() - self._began) * 1000))
        if (used := self._opened.config.used(self._meter.usage)) is not None:
            data |= patch(SummaryData, usage=used.usage)
            data |= patch(SummaryData, cost=used.cost) if used.cost is not None else {}
        return data | (patch(SummaryData, why=why) if why else {})
