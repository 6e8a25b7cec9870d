"""Notifications, derived from what the timeline is told: tools and the agent write there and know of no observer."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemUpdated, event_decoder
from pilothouse.types.feed import FeedEvent
from pilothouse.types.item_data import ApprovalData, CallData, CollaborationData, QuestionData
from pilothouse.types.items import Question, is_a, read
from pilothouse.types.notifications import Notification, Observer

_log = logging.getLogger(__name__)
# Looked for before an event is read: most events are nobody's news.
_SIGNS: dict[str, tuple[bytes, ...]] = {
    "item.created": (b'"kind":"question"',),
    "item.updated": (b'"progress":',),
    "item.completed": (b'"answer":', b'"isError":true', b'"kind":"image"'),
}


class Notifier:
    """The observers of this process."""

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
        case ItemCreated(item=item) if is_a(item, QuestionData) and item.status == "waiting":
            yield _asked(item)
        case ItemUpdated() if (progress := read(CallData, event.data).progress) is not None:
            yield Notification(
                kind="tool_progress",
                conversation_id=conversation_id,
                item_id=event.item_id,
                prompt=progress.message,
            )
        case ItemCompleted():
            yield from _ended(conversation_id, event)
        case _:
            return


def _asked(question: Question) -> Notification:
    asked = question.data
    context = ""
    if isinstance(asked, CollaborationData):
        context = asked.context
    elif isinstance(asked, ApprovalData):
        context = asked.why or ""
    return Notification(
        kind="input_required",
        conversation_id=question.conversation_id,
        item_id=question.id,
        tool_call_id=asked.tool_call_id or "",
        prompt=question.text,
        context=context,
    )


def _ended(conversation_id: str, event: ItemCompleted) -> Iterator[Notification]:
    about = {"conversation_id": conversation_id, "item_id": event.item_id}
    # An event does not say of what kind its item is; only a question has an answer, and only a call is an error.
    answer, call = read(QuestionData, event.data).answer, read(CallData, event.data)
    if answer is not None:
        yield Notification(kind="response_received", prompt=answer.text or str(answer.choice), **about)
    if call.is_error:
        yield Notification(kind="tool_error", prompt=call.error.message if call.error is not None else "", **about)
    for part in call.content:
        if part.kind == "image":
            yield Notification(kind="image_display", prompt=part.name, **about)
