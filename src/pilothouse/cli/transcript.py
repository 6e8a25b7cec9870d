"""A run as it is told in a terminal: text as it comes, everything else in a line of its own."""

from __future__ import annotations

from pilothouse.cli.markdown import MarkdownStyler
from pilothouse.cli.terminal import Terminal
from pilothouse.cli.wrapping import Wrapper
from pilothouse.runs.following import Texts
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, ItemUpdated
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject


class Transcript:
    """Folds a run's events into what a person reads; answers go to `out`, all else to `aside`."""

    def __init__(self, run_id: str, out: Terminal, aside: Terminal, *, markdown: bool = False) -> None:
        self._run_id = run_id
        self._out = out
        self._aside = aside
        self._items: dict[str, Item] = {}
        self._texts = Texts()
        self._last: str | None = None
        self._styler = MarkdownStyler() if markdown and out.styled else None
        self._wrapper = Wrapper()
        # The question that the run waits with, and what its answers took.
        self.question: Item | None = None
        self.measures: JsonObject = {}

    def show(self, event: Event) -> None:
        """Show one event."""
        match event:
            case ItemCreated(item=item) if item.run_id == self._run_id:
                self._created(item)
            case ItemDelta(item_id=item_id) if item_id in self._items:
                self._text(self._items[item_id], self._texts.fresh(event))
            case ItemUpdated(item_id=item_id, data=data) if item_id in self._items:
                self._updated(self._items[item_id], data)
            case ItemCompleted(item_id=item_id, data=data) if item_id in self._items:
                self._completed(self._items[item_id], event.status, data)

    def _created(self, item: Item) -> None:
        if item.kind == "user_message":
            return
        self._items[item.id] = item
        self._texts.begin(item.id, item.text)
        match item.kind:
            case "question":
                self.question = item
            case "notice":
                self._say(item.text, "yellow")
            case "compaction":
                self._say("Earlier messages were summarised to make room.")
            case _:
                self._text(item, item.text)

    def _text(self, item: Item, text: str) -> None:
        if not text:
            return
        if item.kind == "response":
            self._turn_to(item)
            self._answer(text)
        elif item.kind == "thinking" and self._out.styled:
            self._turn_to(item)
            self._out.styled_text(text, "dim")

    def _answer(self, text: str) -> None:
        if self._styler is None:
            self._out.write(text)
        else:
            self._out.write_styled(self._styler.feed(self._wrapper.feed(text)))

    def end(self) -> None:
        """End the last line and every style."""
        if self._styler is not None:
            self._out.write_styled(self._styler.feed(self._wrapper.end()) + self._styler.end())
        self._out.fresh_line()

    def _turn_to(self, item: Item) -> None:
        """Keep a blank line between the parts of an answer."""
        if self._last not in (None, item.id):
            self.end()
            self._out.line()
        self._last = item.id

    def _updated(self, item: Item, data: JsonObject) -> None:
        item.data.update(data)
        if item.kind == "tool_call" and data.get("phase") == "executing":
            self._say(f"· {item.data.get('display') or item.data.get('tool', 'a tool')}")

    def _completed(self, item: Item, status: str, data: JsonObject) -> None:
        if item.kind == "response":
            self.measures = data
            if data.get("cutOff"):
                self._say("The answer broke off here.", "yellow")
        elif item.kind == "tool_call" and status != "completed":
            error = data.get("error") or {}
            self._say(f"· {error.get('message') or f'The call was {status}.'}", "yellow")
        elif item.kind == "question":
            self.question = None

    def _say(self, text: str, style: str = "dim") -> None:
        """Say something beside the answer, to a person only."""
        if self._aside.is_terminal:
            if self._out.is_terminal:
                self._out.fresh_line()
            self._aside.line(text, style)
