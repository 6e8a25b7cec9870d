"""A minimal reader of a conversation's feed: a snapshot, then events, applied by number and offset."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pilothouse.types.api import ConversationSnapshot
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, ItemUpdated, RunUpdated, event_decoder
from pilothouse.types.feed import FeedEvent
from pilothouse.types.folding import changed
from pilothouse.types.items import Item
from pilothouse.types.runs import ENDED, Run


def cut16(text: str, start: int, end: int | None = None) -> str:
    """Return part of a text by UTF-16 units, as JavaScript's `slice` does."""
    units = text.encode("utf-16-le")
    return units[2 * start : None if end is None else 2 * end].decode("utf-16-le")


def length16(text: str) -> int:
    """Return a text's length in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


class FeedReader:
    """What a reader has: items, runs, and how much of each text is sure to be kept."""

    def __init__(self, snapshot: ConversationSnapshot | None = None) -> None:
        self.items = {item.id: item for item in snapshot.items} if snapshot else {}
        self.runs: dict[str, Run] = {run.id: run for run in snapshot.runs} if snapshot else {}
        self.cursor = snapshot.last_seq if snapshot else 0
        self.numbers: list[int] = []
        self.live = 0
        self._kept = {item.id: length16(item.text) for item in self.items.values()}

    def take(self, batch: Iterable[FeedEvent]) -> None:
        """Fold a batch; a number that is missing or comes twice is a failure."""
        for sent in batch:
            event = event_decoder.decode(sent.json)
            assert event.seq == sent.seq
            if event.seq:
                assert event.seq == self.cursor + 1, f"{event.seq} came after {self.cursor}"
                self.cursor = event.seq
                self.numbers.append(event.seq)
            else:
                self.live += 1
            self._apply(event)

    def _apply(self, event: Event) -> None:
        match event:
            case ItemCreated():
                self.items[event.item.id] = event.item
                self._kept[event.item.id] = length16(event.item.text)
            case ItemDelta():
                self._text(event)
            case ItemUpdated():
                self._change(event.item_id, event)
            case ItemCompleted():
                item = self.items[event.item_id]
                # Live text that was never kept is taken back.
                text = cut16(item.text, 0, self._kept[item.id])
                self.items[item.id] = msgspec.structs.replace(item, text=text)
                self._change(event.item_id, event)
            case RunUpdated():
                self.runs[event.run.id] = event.run
            case _:
                pass

    def _change(self, item_id: str, event: ItemUpdated | ItemCompleted) -> None:
        if event.seq:
            self.items[item_id] = changed(self.items[item_id], event)

    def _text(self, event: ItemDelta) -> None:
        item = self.items[event.item_id]
        have = length16(item.text)
        assert event.offset <= have, f"text of {item.id} is missing from {have} to {event.offset}"
        end = event.offset + length16(event.text)
        if end > have:
            text = item.text + cut16(event.text, have - event.offset)
            self.items[item.id] = msgspec.structs.replace(item, text=text)
        if event.seq:
            self._kept[item.id] = max(self._kept[item.id], end)

    def ended(self, run_id: str) -> bool:
        """Return whether a run has ended or waits, as far as this reader knows."""
        run = self.runs.get(run_id)
        return run is not None and (run.status in ENDED or run.status == "waiting")

    def list(self) -> list[Item]:
        """Return the items in order."""
        return sorted(self.items.values(), key=lambda item: item.position)
