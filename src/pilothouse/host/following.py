"""Following one run through its conversation's feed until it ends or waits for a person."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from pilothouse.types import limits
from pilothouse.types.events import Event, ItemDelta, RunUpdated, event_decoder, utf16_length
from pilothouse.types.feed import FeedEvent, Lagged
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.items import Item
from pilothouse.types.runs import ENDED, Run


async def all_items(api: ClientApi, conversation_id: str, branch: int | None) -> tuple[Item, ...]:
    """Return everything that is shown of a branch's path, or of all branches, oldest first."""
    items: tuple[Item, ...] = ()
    more = True
    while more:
        before = items[0].position if items else None
        page = await api.conversations.items(
            LOCAL_OWNER, conversation_id, before=before, limit=limits.SNAPSHOT_ITEMS, branch=branch
        )
        items, more = page.items + items, page.has_earlier
    return items


class Following:
    """A reader of one run; `run` is its last known state."""

    def __init__(self, api: ClientApi, run: Run, after: int) -> None:
        self._api = api
        self._cursor = after
        self.run = run
        # Whether the run's end was read; the run itself may be ahead of its reader.
        self.over = False

    def beside(self, run: Run) -> Following:
        """Return another reader of the run, from the same place on."""
        return Following(self._api, run, self._cursor)

    def go_on(self, run: Run) -> None:
        """Read on: the run was resumed, or its question answered."""
        self.run = run
        self.over = False

    async def events(self) -> AsyncGenerator[tuple[FeedEvent, Event], None]:
        """Yield what the feed gives, as it is sent and as a record, until the run ends or waits for a person."""
        while True:
            feed = await self._api.conversations.events(self.run.owner, self.run.conversation_id, self._cursor)
            try:
                async with aclosing(feed):
                    async for batch in feed:
                        for sent in batch:
                            yield sent, self._take(sent)
                        # Not before: a run that was interrupted may be taken up again in the same breath.
                        if self.over and not await self._taken_up():
                            return
            except Lagged:
                # The store has everything; reading goes on from where it was.
                continue

    async def _taken_up(self) -> bool:
        """Return whether a run whose process ended goes on in another already; what it does there comes next."""
        if self.run.status != "interrupted":
            return False
        self.over = (await self._api.runs.get(self.run.owner, self.run.id)).status in ENDED
        return not self.over

    def _take(self, sent: FeedEvent) -> Event:
        self._cursor = sent.seq or self._cursor
        event: Event = event_decoder.decode(sent.json)
        if isinstance(event, RunUpdated) and event.run.id == self.run.id:
            self.run = event.run
            self.over = event.run.status in ENDED or event.run.status == "waiting"
        return event


class Texts:
    """How much of each item's text was seen: the same text may come live and again from the store."""

    def __init__(self) -> None:
        self._ends: dict[str, int] = {}

    def begin(self, item_id: str, text: str) -> None:
        """Count the text that an item was created with."""
        self._ends[item_id] = utf16_length(text)

    def fresh(self, delta: ItemDelta) -> str:
        """Return what is new in a delta."""
        seen = self._ends.get(delta.item_id, 0)
        end = delta.offset + utf16_length(delta.text)
        if end <= seen:
            return ""
        self._ends[delta.item_id] = end
        return delta.text if delta.offset >= seen else _tail(delta.text, seen - delta.offset)


def _tail(text: str, units: int) -> str:
    """Return a text without its first UTF-16 units."""
    return text[units:] if text.isascii() else text.encode("utf-16-le")[2 * units :].decode("utf-16-le", "replace")
