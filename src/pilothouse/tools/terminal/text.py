"""Raw bytes of terminals as text: for people as they are, for a model without what only moves a cursor."""

from __future__ import annotations

import codecs
from collections import deque

from pilothouse.tools.terminal.masking import Ends
from pilothouse.types import limits
from pilothouse.types.invisible import ESCAPES, without_escapes
from pilothouse.types.ports import Part


def _as_cp437(error: UnicodeError) -> tuple[str, int]:
    """Read bytes that are not UTF-8 as old programs mean them: lines, boxes and blocks."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("cp437"), error.end


codecs.register_error("cp437", _as_cp437)


def decode(data: bytes) -> str:
    """Return bytes as text; a line that is not UTF-8 is taken for code page 437, the characters of old programs."""
    return "".join(_line(line) for line in _whole_characters(data).splitlines(keepends=True))


def _line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("cp437")


def _whole_characters(data: bytes) -> bytes:
    """Return bytes without what a cut left of a character at either end."""
    start = next((at for at in range(min(3, len(data))) if data[at] & 0xC0 != 0x80), 0)
    for back in range(1, min(4, len(data)) + 1):
        first = data[-back]
        if first & 0xC0 != 0x80:
            needed = 2 if first & 0xE0 == 0xC0 else 3 if first & 0xF0 == 0xE0 else 4 if first & 0xF8 == 0xF0 else 1
            return data[start : len(data) - back] if needed > back else data[start:]
    return data[start:]


def plain(text: str) -> str:
    """Return what a terminal's output says, line by line, without colours, titles and overwritten progress."""
    said = without_escapes(text.replace("\r\n", "\n")).replace("\x0c", "")
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in said.split("\n"))


def for_model(ends: Ends) -> str:
    """Return an output's beginning and end as a model gets it, with a note in between when there is more."""
    if not ends.left_out:
        return shortened(plain(decode(ends.head)))
    return _joined(
        plain(decode(ends.head))[: limits.COMMAND_HEAD_CHARS],
        plain(decode(ends.tail))[-limits.COMMAND_TAIL_CHARS :],
        f"{ends.total:,} bytes in all",
    )


def shortened(text: str) -> str:
    """Return the beginning and the end of a long text."""
    if len(text) <= limits.COMMAND_HEAD_CHARS + limits.COMMAND_TAIL_CHARS + limits.COMMAND_SLACK_CHARS:
        return text
    head, tail = text[: limits.COMMAND_HEAD_CHARS], text[-limits.COMMAND_TAIL_CHARS :]
    return _joined(head, tail, f"{len(text):,} characters in all")


def whole_of(text: str, told: str) -> tuple[Part, ...]:
    """Return a long output as what is kept of it, so that what was left out can be read; nothing where all was told."""
    return (Part(kind="text", text=text, name="output"),) if len(text) > len(told) else ()


def _joined(head: str, tail: str, size: str) -> str:
    return f"{head}\n\n[… the middle is left out; {size} …]\n\n{tail}"


def last_line(data: bytes) -> str:
    """Return the last line with something in it, to show while a command runs."""
    for line in reversed(plain(decode(data)).splitlines()):
        if line.strip():
            return line.strip()[: limits.COMMAND_TOLD_CHARS]
    return ""


class TypedLine:
    """The line that is being typed at a shell, as far as typing alone tells; the last one that was entered."""

    def __init__(self) -> None:
        self._line: deque[str] = deque(maxlen=limits.COMMAND_CHARS)
        self.entered = ""

    def typed(self, data: bytes) -> None:
        """Take what was typed."""
        for character in ESCAPES.sub("", data.decode("utf-8", "replace")):
            if character in "\r\n":
                self.entered = "".join(self._line).strip() or self.entered
                self._line.clear()
            elif character in "\x7f\x08":
                if self._line:
                    self._line.pop()
            elif character in "\x03\x15":
                self._line.clear()
            elif character.isprintable():
                self._line.append(character)
