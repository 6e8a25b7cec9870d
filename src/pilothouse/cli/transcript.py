"""A run as it is told in a terminal: text as it comes, everything else in a line of its own."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from pilothouse.cli.call_lines import CallLines, failed, no_sign, title, ways_on
from pilothouse.cli.inline import Span
from pilothouse.cli.markdown import MarkdownScreen
from pilothouse.cli.sources import source_lines
from pilothouse.cli.terminal import Terminal, one_line, plain
from pilothouse.cli.wrapping import Wrapper, say
from pilothouse.host.following import Texts
from pilothouse.host.selection import find
from pilothouse.timeline.transcripts import summed_up
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemCreated, ItemDelta, ItemUpdated, RunUpdated
from pilothouse.types.folding import changed
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.item_data import (
    CallData,
    CompactionData,
    MessageData,
    NoticeData,
    QuestionData,
    ResponseData,
    SummaryData,
)
from pilothouse.types.items import CLOSED, Call, Item, Question, Response, is_a, read
from pilothouse.types.runs import ENDED, Run
from pilothouse.types.sources import Source

# Also where nobody watches: what undo does not cover of what commands do, what was set aside after one, and that a
# summary which was asked for would stand for nothing.
_TOLD_TO_ALL = ("not_covered", "set_aside", "nothing_to_sum_up")


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
        self.questions: dict[str, Question] = {}
        self.measures = ResponseData()
        # What its answers cite, until it stands below them.
        self._sources: list[Source] = []
        # About what all its answers cost together, in dollars; 0 where no price is known.
        self.cost = 0.0
        self.missing = Missing(aside)
        # The files that its calls changed.
        self.changed: set[str] = set()
        # How many pictures of each answer were told of.
        self._pictures: dict[str, int] = {}

    def join(self, items: Iterable[Item]) -> None:
        """Know what the run has open by now, so that the rest of it can be shown."""
        for item in items:
            if item.run_id != self._run_id or item.status in CLOSED:
                continue
            if is_a(item, CallData):
                self._created(item)
            else:
                self._items[item.id] = item
                self._texts.begin(item.id, item.text)

    def call_of(self, question: Question) -> Call | None:
        """Return the call that a question is about."""
        call = self._items.get(question.data.call_item_id)
        return call if call is not None and is_a(call, CallData) else None

    def answered(self, question: Question, run: Run) -> None:
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
                if run.status in ENDED:
                    self._tell_sources()
            case ItemUpdated(item_id=item_id) if item_id in self._items:
                self._updated(self._changed(item_id, event), event)
            case ItemUpdated() if (slot := read(MessageData, event.data).slot) and slot.run_id == self._run_id:
                self._waits(slot.before)
            case ItemCompleted(item_id=item_id) if item_id in self._items:
                self._completed(self._changed(item_id, event))

    def _changed(self, item_id: str, event: Event) -> Item:
        item = self._items[item_id] = changed(self._items[item_id], event)
        if is_a(item, CallData):
            self._calls.change(item)
        return item

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
        if is_a(item, QuestionData):
            self.questions[item.id] = item
        elif is_a(item, CallData):
            self._called(item)
        elif is_a(item, NoticeData):
            # The others are told elsewhere, also where nobody watches; and one thing once, however often it is tried.
            if item.data.code not in ("server_missing", "cut_short") and item.text not in self._noticed:
                self._noticed.add(item.text)
                to_all = item.data.code in _TOLD_TO_ALL
                self._say(item.text, "yellow", to_all=to_all)
                if ways := ways_on(item):
                    self._say(ways, to_all=to_all)
        elif item.kind == "compaction":
            self._say("Summing up older turns…")
        else:
            self._text(item, item.text)
            if item.status in CLOSED:
                # It was whole before anyone heard of it.
                self._completed(item)

    def _called(self, call: Call) -> None:
        """Show a call that begins; one that was carried out at once begins with that."""
        if call.data.phase == "executing":
            self._executes(call)
        elif call.data.server:
            self._calls.begin(call)

    def _executes(self, call: Call) -> None:
        if call.data.server:
            # From now on its time counts, not what the person took to decide.
            self._calls.begin(call)
        if not (call.data.server and self._aside.styled):
            self._say(f"· {title(call)}")

    def _text(self, item: Item, text: str) -> None:
        if not text:
            return
        if is_a(item, ResponseData):
            self._turn_to(item, item.data.continues)
            self._answer(text)
        elif item.kind == "thinking" and self._out.styled:
            self._turn_to(item)
            self._out.write_styled(self._thoughts.feed([Span(plain(text), frozenset({"dim"}))]))
        elif is_a(item, CompactionData):
            self._items[item.id] = msgspec.structs.replace(item, text=item.text + text)

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

    def _turn_to(self, item: Item, continues: str | None = None) -> None:
        """Keep a blank line between the parts of an answer."""
        if self._last not in (None, item.id, continues):
            self.end()
            self._out.line()
        self._last = item.id

    def _updated(self, item: Item, event: ItemUpdated) -> None:
        if is_a(item, ResponseData):
            self._drawn(item)
        elif is_a(item, CallData):
            told = read(CallData, event.data)
            if told.quiet_since and not self._aside.styled:
                self._say(no_sign(item), "yellow")
            if told.phase == "executing":
                self._executes(item)

    def _completed(self, item: Item) -> None:
        if is_a(item, ResponseData):
            self._answered(item)
        elif is_a(item, CallData):
            self._called_back(item)
        elif is_a(item, SummaryData):
            self.cost += item.data.cost or 0.0
        elif is_a(item, QuestionData):
            self.questions.pop(item.id, None)
        elif is_a(item, CompactionData) and item.status == "completed":
            # Who asked for it is told, also where nobody watches.
            way = f"Read it: pilothouse conversations show {item.conversation_id}"
            self._say(f"{summed_up(item)}. {way}", to_all=item.data.keep is not None)

    def _answered(self, answer: Response) -> None:
        if answer.data.stop not in ("length", "context", "pause"):
            # The last word waited for more; what was cut may go on in the middle of one.
            self.end()
        self._drawn(answer)
        if self._pictures.pop(answer.id, 0):
            say(self._aside, f"Save: pilothouse conversations files {answer.conversation_id} FOLDER", "dim")
        self._cite(answer.data)
        self.cost += answer.data.cost or 0.0
        if answer.data.cut_off:
            self._say("The answer broke off here.", "yellow")

    def _called_back(self, call: Call) -> None:
        """Tell how a call ended."""
        if call.data.server:
            self._say(self._calls.end(call), "dim" if call.status == "completed" else "yellow")
        elif call.status != "completed":
            self._say(failed(call), "yellow")
        else:
            # What a built-in tool did that its own line does not say.
            self.changed |= {change.path for change in call.data.changes}
            if call.data.exit_code:
                self._say(f"  exit code {call.data.exit_code}", "yellow")
        if hidden := call.data.hidden_characters:
            self._say(f"  Invisible characters removed from its result: {hidden}", "yellow")

    def _drawn(self, answer: Response) -> None:
        """Tell of pictures that the model made, also where nobody watches: an answer may be nothing else."""
        if not answer.data.content:
            return
        # Few answers have some.
        from pilothouse.cli.kept_files import described, pictures_of

        pictures = pictures_of(answer.data.content)
        for part in pictures[self._pictures.get(answer.id, 0) :]:
            if self._out.is_terminal:
                self.end()
            say(self._aside, f"[{described(part)}]")
        self._pictures[answer.id] = len(pictures)

    def _cite(self, data: ResponseData) -> None:
        """Take in what an answer took and cites; its sources stand below it once it is at its end."""
        self.measures = data
        self._sources += data.sources
        if data.cut_off:
            self._sources.clear()
        elif data.stop == "end":
            self._tell_sources()

    def _tell_sources(self) -> None:
        lines, self._sources = source_lines(self._sources), []
        for line in lines:
            if self._out.is_terminal:
                self.end()
                self._out.line(line, "dim")
            else:
                self._say(line)

    def _say(self, text: str, style: str = "dim", *, to_all: bool = False) -> None:
        """Say something beside the answer, to a person only unless it is for all."""
        if self._aside.is_terminal or to_all:
            if self._out.is_terminal:
                self._out.fresh_line()
            say(self._aside, text, style)


class Missing:
    """Looks at a run's events for what a person must know even where nobody watches."""

    def __init__(self, aside: Terminal) -> None:
        self._aside = aside
        self._servers: dict[str, str] = {}
        # The servers whose calls were refused since nobody has agreed to their command.
        self.consent: dict[str, str] = {}
        # How its answer was cut.
        self.cut = "The answer was cut."

    def see(self, event: Event) -> None:
        """Look at one event."""
        if isinstance(event, ItemCreated):
            self._see_item(event.item)
        elif isinstance(event, ItemCompleted) and event.item_id in self._servers:
            error = read(CallData, event.data).error
            if error is not None and error.code == "NEEDS_CONSENT":
                self.consent[self._servers[event.item_id]] = error.message

    def _see_item(self, item: Item) -> None:
        match item.data:
            case NoticeData(code="server_missing"):
                say(self._aside, item.text, "yellow")
            case NoticeData(code="cut_short"):
                self.cut = item.text
            case CallData(server=server):
                self._servers[item.id] = server

    async def tell(self, api: ClientApi) -> bool:
        """Say which servers wait for consent and how to give it; return whether there are any."""
        for name, message in self.consent.items():
            say(self._aside, f"A call was refused: {one_line(message)}", "yellow")
            try:
                slug = find(name, (await api.servers.list(LOCAL_OWNER)).servers).slug
            except PilothouseError:
                slug = name
            self._aside.line(f"If you agree to its command: pilothouse mcp enable {slug}")
        return bool(self.consent)
