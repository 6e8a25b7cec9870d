"""Notifications, derived from what the timeline is told: tools and the agent write there and know of no observer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemUpdated, event_decoder
from pilothouse.types.feed import FeedEvent
from pilothouse.types.items import Item
from pilothouse.types.notifications import Notification, Observer

_log = logging.getLogger(__name__)
# Looked for before an event is read: most events are nobody's news.
_SIGNS: dict[str, tuple[bytes, ...]] = {
    "item.created": (b'"kind":"question"',),
    "item.updated": (b'"progress":',),
    "item.completed": (b'"answer":', b'"isError":true', b'"kind":"image"'),
}


class Notifier:
    """The observers of this process; implements the port `Notifications`."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []

    def subscribe(self, observer: Observer) -> Callable[[], None]:
        """Tell this observer from now on; call what is returned to stop that."""
        self._observers.append(observer)

        def stop() -> None:
            if observer in self._observers:
                self._observers.remove(observer)

        return stop

    def post(self, notification: Notification) -> None:
        """Tell everyone who listens; one that fails is no one else's trouble."""
        for observer in list(self._observers):
            try:
                observer(notification)
            except Exception:
                _log.exception("an observer failed")

    def heard(self, conversation_id: str, events: Sequence[FeedEvent]) -> None:
        """Take events on their way to readers."""
        if not self._observers:
            return
        for event in events:
            if any(sign in event.json for sign in _SIGNS.get(event.kind, ())):
                for notification in _news(conversation_id, event_decoder.decode(event.json)):
                    self.post(notification)


def _news(conversation_id: str, event: Event) -> Iterator[Notification]:
    match event:
        case ItemCreated(item=item) if item.kind == "question" and item.status == "waiting":
            yield _asked(item)
        case ItemUpdated() if isinstance(progress := event.data.get("progress"), dict):
            yield Notification(
                kind="tool_progress",
                conversation_id=conversation_id,
                item_id=event.item_id,
                prompt=str(progress.get("message") or ""),
            )
        case ItemCompleted():
            yield from _ended(conversation_id, event)
        case _:
            return


def _asked(item: Item) -> Notification:
    return Notification(
        kind="input_required",
        conversation_id=item.conversation_id,
        item_id=item.id,
        tool_call_id=str(item.data.get("toolCallId") or ""),
        prompt=item.text,
        context=str(item.data.get("context") or item.data.get("why") or ""),
    )


def _ended(conversation_id: str, event: ItemCompleted) -> Iterator[Notification]:
    data = event.data
    about = {"conversation_id": conversation_id, "item_id": event.item_id}
    if isinstance(answer := data.get("answer"), dict):
        yield Notification(kind="response_received", prompt=str(answer.get("text") or answer.get("choice")), **about)
    if data.get("isError"):
        error = data.get("error")
        message = str(error.get("message") or "") if isinstance(error, dict) else ""
        yield Notification(kind="tool_error", prompt=message, **about)
    parts = data.get("content")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, dict) and part.get("kind") == "image":
            yield Notification(kind="image_display", prompt=str(part.get("name") or ""), **about)
