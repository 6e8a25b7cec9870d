"""Reminders in the timeline: said right before a message, said again when they change, and never rewritten.

Each request extends the one before it, so a reminder that was sent stays where it is, even when a newer one follows.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from pilothouse.agent.history import left_behind, reminded, until_message
from pilothouse.types import limits
from pilothouse.types.events import ItemCreated
from pilothouse.types.item_data import ReminderData
from pilothouse.types.items import Item, patch
from pilothouse.types.ports import Journal
from pilothouse.types.todos import Reminder, Reminders

# The reminders of the run's conversation as they are now.
CurrentReminders = Callable[[], Awaitable[tuple[Reminder, ...]]]
_BEGIN, _END = "<system-reminder>\n", "\n</system-reminder>"
_RESUMED = (Path(__file__).parent / "reminder_resumed.md").read_text()
_WITHDRAWN = (Path(__file__).parent / "reminder_withdrawn.md").read_text().strip()


async def no_reminders() -> tuple[Reminder, ...]:
    """Remind of nothing."""
    return ()


class CombinedReminders:
    """Reminders from several sources, in their order; implements the port `Reminders`."""

    def __init__(self, sources: Iterable[Reminders]) -> None:
        self._sources = tuple(sources)

    async def current(self, conversation_id: str, branch: int = 0) -> tuple[Reminder, ...]:
        """Return what all of them say."""
        told = [await source.current(conversation_id, branch) for source in self._sources]
        return tuple(reminder for each in told for reminder in each)


class ReminderWriter:
    """Keeps one run's model reminded."""

    def __init__(self, current: CurrentReminders, journal: Journal, run_id: str, tools: Iterable[str]) -> None:
        self._current = current
        self._journal = journal
        self._run_id = run_id
        self._tools = frozenset(tools)
        self._asked = False

    async def remind(self) -> None:
        """Write down what the model must be told before it is asked the next time."""
        await self._go_on()
        items = until_message(self._journal.items, self._run_id)
        last = {item.data.name: item for item in reminded(items)}
        message = None if self._asked else _unanswered(items, self._run_id)
        self._asked = True
        current = await self._current()
        holds = {each.name: each.private for each in current}
        due = {
            each.name: text
            for each in current
            if (not each.tool or each.tool in self._tools)
            and self._is_due(last.get(each.name), text := _wrapped(each.text), message)
        }
        for name in sorted(last.keys() - {each.name for each in current}):
            text = _wrapped(_WITHDRAWN.replace("{name}", name))
            if last[name].text != text:
                due[name] = text
        if due:
            told = (self._created(name, text, message, holds.get(name, ())) for name, text in due.items())
            await self._journal.write(*told)

    async def _go_on(self) -> None:
        """Say which message is being answered, where later ones have been answered since."""
        if self._asked or not left_behind(items := self._journal.items, self._run_id):
            return
        message = next((item for item in items if item.kind == "user_message" and item.run_id == self._run_id), None)
        words = message.text[: limits.RESUMED_CHARS] if message is not None else ""
        text = _wrapped(_RESUMED.replace("{message}", words).strip())
        await self._journal.write(ItemCreated(item=self._journal.new("reminder", status="completed", text=text)))

    def _is_due(self, last: Item | None, text: str, message: Item | None) -> bool:
        """Return whether the model has not been told, or not with the message that it is about to answer."""
        return last is None or last.text != text or (message is not None and last.run_id != self._run_id)

    def _created(self, name: str, text: str, message: Item | None, private: tuple[str, ...]) -> ItemCreated:
        data = patch(ReminderData, name=name) if message is None else patch(ReminderData, name=name, before=message.id)
        data |= patch(ReminderData, private=private) if private else {}
        return ItemCreated(item=self._journal.new("reminder", status="completed", text=text, data=data))


def _unanswered(items: Sequence[Item], run_id: str) -> Item | None:
    """Return the run's message, as long as the model has said nothing to it and was reminded of nothing with it."""
    mine = [item for item in items if item.run_id == run_id]
    if any(item.kind in ("response", "thinking", "tool_call", "reminder") for item in mine):
        return None
    return next((item for item in reversed(mine) if item.kind == "user_message"), None)


def _wrapped(text: str) -> str:
    return f"{_BEGIN}{text}{_END}"


def unwrapped(text: str) -> str:
    """Return what a reminder says, without what marks it as one."""
    return text.removeprefix(_BEGIN).removesuffix(_END)
