"""A run as it is told in a terminal: text as it comes, everything else in a line of its own."""

from __future__ import annotations

from pilothouse.cli.call_lines import CallLines, failed, no_sign, title
from pilothouse.cli.inline import Span
from pilothouse.cli.markdown import MarkdownScreen
from pilothouse.cli.missing import Missing
from pilothouse.cli.terminal import Terminal, plain
from pilothouse.cli.wrapping import Wrapper, say
from pilothouse.runs.following import Texts
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, ItemUpdated, RunUpdated
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject
from pilothouse.types.runs import Run


class Transcript:
    """Folds a run's events into what a person reads; answers go to `out`, all else to `aside`."""

    def __init__(self, run_id: str, out: Terminal, aside: Terminal) -> None:
        self._run_id = run_id
        self._out = out
        self._aside = aside
        self._items: dict[str, Item] = {}
        self._texts = Texts()
        self._last: str | None = None
        self._noticed: set[str] = set()
        self._screen = MarkdownScreen(colours=out.styled) if out.is_terminal else None
        self._thoughts = Wrapper(colours=out.styled)
        self._calls = CallLines()
        self._moving = False
        # What it waits for before it begins.
        self._slot = ""
        # The questions that the run waits with, and what its answers took.
        self.questions: dict[str, Item] = {}
        self.measures: JsonObject = {}
        self.missing = Missing(aside)
        # The files that its calls changed.
        self.changed: set[str] = set()

    def call_of(self, question: Item) -> Item | None:
        """Return the call that a question is about."""
        return self._items.get(str(question.data.get("callItemId")))

    def settled(self, question: Item, run: Run) -> None:
        """Take a question off the list once it is answered; with the last one the run goes on, so all are."""
        if run.status == "waiting":
            self.questions.pop(question.id, None)
        else:
            self.questions.clear()

    def tick(self) -> None:
        """Show how far the calls at work are, on a terminal that can take it back."""
        line = (self._slot or self._calls.now()) if self._aside.styled else ""
        if not line and not self._moving:
            return
        if line and not self._moving and self._out.is_terminal:
            self.end()
        self._aside.live(line)
        self._moving = bool(line)

    def _take_back(self) -> None:
        if self._moving:
            self._aside.live("")
            self._moving = False

    def show(self, event: Event) -> None:
        """Show one event."""
        self._take_back()
        self._show(event)
        self.tick()

    def _show(self, event: Event) -> None:
        match event:
            case ItemCreated(item=item) if item.run_id == self._run_id:
                self._created(item)
            case ItemDelta(item_id=item_id) if item_id in self._items:
                self._text(self._items[item_id], self._texts.fresh(event))
            case RunUpdated(run=run) if run.id == self._run_id and run.status != "queued":
                self._slot = ""
            case ItemUpdated(data={"slot": {"runId": self._run_id, "before": int(before)}}):
                self._waits(before)
            case ItemUpdated(item_id=item_id, data=data) if item_id in self._items:
                self._updated(self._items[item_id], data)
            case ItemCompleted(item_id=item_id, data=data) if item_id in self._items:
                self._completed(self._items[item_id], event.status, data)

    def _waits(self, before: int) -> None:
        """Say that others have all the slots: in a line that counts down where there can be one, else once."""
        first = not self._slot
        self._slot = f"Waiting for a free slot: {f'{before} before it' if before else 'it is next'}"
        if first and not self._aside.styled:
            self._say(f"{self._slot}.")

    def _created(self, item: Item) -> None:
        if item.kind == "user_message":
            return
        self._items[item.id] = item
        self._texts.begin(item.id, item.text)
        match item.kind:
            case "question":
                self.questions[item.id] = item
            case "tool_call" if item.data.get("server"):
                self._calls.begin(item)
            case "notice" if item.data.get("code") == "server_missing":
                # Told already, also where nobody watches.
                return
            case "notice" if item.text not in self._noticed:
                # Why something is tried again is said once, however often that is.
                self._noticed.add(item.text)
                self._say(item.text, "yellow")
            case "notice":
                pass
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
            self._out.write_styled(self._thoughts.feed([Span(plain(text), frozenset({"dim"}))]))

    def _answer(self, text: str) -> None:
        if self._screen is None:
            self._out.write(text)
        else:
            self._out.write_styled(self._screen.feed(text))

    def end(self) -> None:
        """End the last line and every style."""
        self._take_back()
        self._out.write_styled(self._thoughts.end())
        if self._screen is not None:
            self._out.write_styled(self._screen.end())
        self._out.fresh_line()

    def _turn_to(self, item: Item) -> None:
        """Keep a blank line between the parts of an answer."""
        if self._last not in (None, item.id):
            self.end()
            self._out.line()
        self._last = item.id

    def _updated(self, item: Item, data: JsonObject) -> None:
        item.data.update(data)
        if data.get("quietSince") and not self._aside.styled:
            self._say(no_sign(item), "yellow")
        if item.kind == "tool_call" and data.get("phase") == "executing":
            if item.data.get("server"):
                # From now on its time counts, not what the person took to decide.
                self._calls.begin(item)
            if not (item.data.get("server") and self._aside.styled):
                self._say(f"· {title(item)}")

    def _completed(self, item: Item, status: str, data: JsonObject) -> None:
        if item.kind == "response":
            # The last word waited for more.
            self.end()
            self.measures = data
            if data.get("cutOff"):
                self._say("The answer broke off here.", "yellow")
        elif item.kind == "tool_call" and item.data.get("server"):
            self._say(self._calls.end(item, {"phase": status, **data}), "dim" if status == "completed" else "yellow")
        elif item.kind == "tool_call" and status != "completed":
            self._say(failed(item, status, data), "yellow")
        elif item.kind == "tool_call":
            self._did(data)
        elif item.kind == "question":
            self.questions.pop(item.id, None)
        if hidden := data.get("hiddenCharacters"):
            self._say(f"  Invisible characters removed from its result: {hidden}", "yellow")

    def _did(self, data: JsonObject) -> None:
        """Tell what a built-in tool did that its own line does not."""
        self.changed |= {str(change.get("path")) for change in data.get("changes") or ()}
        if data.get("exitCode"):
            self._say(f"  exit code {data['exitCode']}", "yellow")

    def _say(self, text: str, style: str = "dim") -> None:
        """Say something beside the answer, to a person only."""
        if self._aside.is_terminal:
            if self._out.is_terminal:
                self._out.fresh_line()
            say(self._aside, text, style)
