"""Finds tool calls in a model's text while it arrives, and turns them into the events of native calls.

A call is `TOOL_CALL:` and a JSON object. Small models write what they were trained on instead, so a bare or
fenced object at the start of a line that names an offered tool counts too, as does one in <tool_call> tags.
What is not a call stays text; invalid JSON never raises.
"""

from __future__ import annotations

import re

from pilothouse.models.answer import Answer
from pilothouse.models.tool_names import ToolNames, joined
from pilothouse.models.written_calls import HEAD, ObjectEnd, Written, may_be_call, read_call
from pilothouse.types import limits

_MARKS = ("TOOL_CALL:", "<tool_call>")
_BEGUN = "|".join(re.escape(mark[:size]) for mark in _MARKS for size in range(len(mark), 0, -1))
# All repetitions are possessive and most are bounded: however odd the text, it is read in linear time.
_BLANK, _SPACES = r"\s{0,99}+", r"[ \t]{0,99}+"
_MARK = rf"(?:TOOL_CALL{_SPACES}:|<tool_call>)"
_FENCE = rf"(?:`{{1,3}}+\w{{0,20}}+{_BLANK})?"
_LINE = rf"(?<=\n){_SPACES}{_FENCE}"
_LIST = rf"(?:\[{_BLANK})?"
# Up to an object: a mark, or the beginning of a line; a fence or the beginning of a list may stand between.
_OPENING = re.compile(rf"(?:(?:{_LINE})?(?P<mark>{_MARK}){_BLANK}{_FENCE}|{_LINE}{_BLANK}){_LIST}(?=\{{)")
# The end of a text that may yet become an opening.
_UNDECIDED = re.compile(
    rf"(?:(?:{_LINE})?(?:{_MARK}{_BLANK}{_FENCE}{_LIST}|TOOL_CALL{_SPACES}|{_BEGUN})|{_LINE}{_BLANK}{_LIST})\Z"
)
# What may stand between two calls: blank space, fences, closing tags, the commas and the end of a list.
_GAP = r"(?:\s|`++\w*+|</tool_call>|[,\]])*+"
_NEXT = re.compile(rf"{_GAP}(?:(?P<mark>{_MARK}){_BLANK}{_FENCE})?{_LIST}(?=\{{)")
_PERHAPS_NEXT = re.compile(
    rf"{_GAP}(?:{_MARK}{_BLANK}{_FENCE}{_LIST}|TOOL_CALL{_SPACES}|{_BEGUN}|</?[a-z_]*+|{_LIST})\Z"
)

# So much may stand between two calls before the next one begins; what is not decided is looked at with every piece.
_GAP_CHARS = 500
# An object up to this length is looked at as often as it may end.
_SHORT = 16_384


class _Object:
    """An object that is or may be a call, while it arrives."""

    def __init__(self, opening: str, marked: bool) -> None:
        self.opening = opening
        self.marked = marked
        self.end = ObjectEnd()
        self.started = False
        # How much of its text was told as arguments.
        self.told = 0

    def is_meant(self, written: Written | None) -> bool:
        """Return whether what was written is a call: without a mark it must name an offered tool and arguments."""
        return written is not None and (self.marked or (written.tool is not None and written.is_whole))


class TextCalls:
    """Takes a model's text and adds text and calls to an answer."""

    def __init__(self, answer: Answer, names: ToolNames, *, only_first: bool = False) -> None:
        self._answer = answer
        self._names = names
        # Whether only an answer that begins with a call is looked at; then text may follow the calls.
        self._only_first = only_first
        # What is not decided yet, after the one character before it.
        self._buffer = "\n"
        self._waiting: list[str] = []
        self._waiting_size = 0
        self._object: _Object | None = None
        self._calls = 0
        # Whether nothing but text can come.
        self.only_text = False
        # Whether the calls are complete; what the model writes after them is for nobody.
        self.complete = False

    def feed(self, piece: str) -> None:
        """Take more of the text."""
        if self.only_text:
            self._answer.text(piece)
            return
        self._waiting.append(piece)
        self._waiting_size += len(piece)
        # A long object is looked at when it may end or has grown by a part, not with every piece of it.
        grown = self._waiting_size / len(self._buffer)
        if self._object is None or grown > 1 / 8 or ("}" in piece and (grown > 1 / 64 or len(self._buffer) < _SHORT)):
            self._look()

    def _look(self) -> None:
        self._buffer += "".join(self._waiting)
        self._waiting, self._waiting_size = [], 0
        while not (self.complete or self.only_text) and self._step():
            pass

    def finish(self, *, cut: bool = False) -> None:
        """Take the end of the text: a call that lacks but its last brackets counts, unless the text was cut."""
        self._look()
        if self._object is not None:
            self._unfinished(self._object, cut)
        elif not self._calls:
            self._say(len(self._buffer))
        self.only_text = True

    def _step(self) -> bool:
        """Go on as far as can be decided; return whether there may be more to decide."""
        if self._object is not None:
            return self._within(self._object)
        return self._after() if self._calls else self._before()

    def _before(self) -> bool:
        """Look for the first call, and say what surely is none."""
        found = _OPENING.search(self._buffer, 1)
        held = found or _UNDECIDED.search(self._buffer, 1)
        end = held.start() if held is not None else len(self._buffer)
        if self._only_first and self._buffer[1:end].strip():
            return self._give_up()
        self._say(end)
        return found is not None and self._begin(len(found[0]), marked=found["mark"] is not None)

    def _after(self) -> bool:
        """Look for the next call; anything else ends the calls."""
        found = _NEXT.match(self._buffer, 1)
        if found is not None and self._calls < limits.CALLS_PER_TURN:
            return self._begin(found.end() - 1, marked=found["mark"] is not None)
        if not self._may_follow() or self._calls >= limits.CALLS_PER_TURN:
            return self._give_up()
        self._buffer = "\n" + self._buffer[1:].lstrip()
        return False

    def _may_follow(self) -> bool:
        return len(self._buffer) <= _GAP_CHARS and _PERHAPS_NEXT.match(self._buffer, 1) is not None

    def _begin(self, size: int, *, marked: bool) -> bool:
        self._object = _Object(self._buffer[1 : size + 1], marked)
        self._buffer = self._buffer[size:]
        return True

    def _give_up(self) -> bool:
        """Look for no more calls."""
        if self._only_first or not self._calls:
            self.only_text = True
            self._say(len(self._buffer))
        else:
            self.complete = True
        return False

    # --- inside an object ---

    def _within(self, current: _Object) -> bool:
        text = self._buffer[1:]
        self._start(current, text)
        if not (current.started or current.marked or may_be_call(text, self._names)):
            return self._no_call(current, 1)
        end = current.end.feed(text)
        self._tell(current, text)
        if end is None:
            return False
        written = read_call(text[:end], self._names)
        if not current.started and not current.is_meant(written):
            return self._no_call(current, end)
        self._buffer = self._buffer[end:]
        self._call(current, written)
        return True

    def _start(self, current: _Object, text: str) -> None:
        """Announce the call as soon as its name is known."""
        head = HEAD.match(text) if not current.started else None
        if head is None:
            return
        server, name = head["server"] or "", head["name"]
        tool = self._names.resolve(server, name)
        if tool is not None or current.marked:
            current.started = True
            current.told = current.end.mark = head.end()
            self._answer.start(current, None, tool or joined(server, name))

    def _tell(self, current: _Object, text: str) -> None:
        """Tell what came of the arguments."""
        if current.started:
            end = current.end.marked_end or len(text)
            if end > current.told:
                self._answer.arguments(current, text[current.told : end])
                current.told = end

    def _call(self, current: _Object, written: Written | None) -> None:
        self._object = None
        self._calls += 1
        if current.started:
            self._answer.end(current, arguments=written.arguments if written is not None else None)
        elif written is not None:
            self._answer.whole(None, written.called, written.arguments)

    def _no_call(self, current: _Object, size: int) -> bool:
        """Let the object go as the text it is."""
        self._object = None
        if self._calls:
            return self._give_up()
        self._answer.text(current.opening)
        self._say(size + 1)
        return True

    def _unfinished(self, current: _Object, cut: bool) -> None:
        text = self._buffer[1:].rstrip("` \t\r\n")
        whole = None if cut else current.end.closed(text)
        written = read_call(whole, self._names) if whole is not None else None
        if current.started or current.is_meant(written):
            self._call(current, written)
        elif not self._calls:
            self._answer.text(current.opening)
            self._say(len(self._buffer))
        self._object = None

    def _say(self, end: int) -> None:
        """Say the buffer up to a place, and keep the last character said."""
        if end > 1:
            self._answer.text(self._buffer[1:end])
            self._buffer = self._buffer[end - 1 :]
