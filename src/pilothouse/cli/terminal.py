"""Writing to a terminal: what a model, a title or an error says can move no cursor and set no colour."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable
from typing import TextIO

from pilothouse.types.errors import PilothouseError

# Control characters but newline and tab, and marks that reorder what stands beside them.
_HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_JSON_HARMFUL = re.compile(r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# What counts as a letter or a mark and shows nothing: fillers, joiners, variation selectors, an empty braille cell.
_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_STYLE = re.compile(r"\x1b\[\d+m")
# The symbols that Unicode has for control characters begin here.
_PICTURES = 0x2400


def plain(text: str) -> str:
    """Return a text that a terminal can only show."""
    return _HARMFUL.sub(_picture, text)


def one_line(text: str) -> str:
    """Return a text that fits a line of a table."""
    return " ".join(plain(text).split())


def plain_json(text: str) -> str:
    """Return the same JSON with every character escaped that a terminal might obey."""
    return _JSON_HARMFUL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def exact(text: str) -> str:
    """Return a text in which nothing is invisible or looks like something else: what a person is asked to agree to."""
    return "".join(char if _is_seen(char) else f"\\u{{{ord(char):04x}}}" for char in text)


def exact_json(text: str) -> str:
    """Return the same JSON, over its lines, with everything escaped that cannot be seen."""
    return "".join(char if char == "\n" or _is_seen(char) else _json_escape(char) for char in text)


def _is_seen(char: str) -> bool:
    return char.isprintable() and not _BLANK.match(char)


def _json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code == 0x0D:
        return ""
    if code == 0x7F:
        return "␡"
    return chr(_PICTURES + code) if code < 0x20 else "�"


class Terminal:
    """One of the standard streams; styles are for people, so only a terminal gets them."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.is_terminal = stream.isatty()
        self.styled = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        # Whether the last character ended a line.
        self.at_start = True

    def write(self, text: str) -> None:
        """Write text that may come from anywhere."""
        self._put(plain(text))

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line of its own, in one of the styles below."""
        self.fresh_line()
        self._put(f"{self._styled(plain(text), style)}\n")

    def styled_text(self, text: str, style: str) -> None:
        """Write text in a style."""
        self._put(self._styled(plain(text), style))

    def json(self, value: object) -> None:
        """Write a value as one line of JSON; it holds exactly what the value does."""
        # Help does without it.
        from pilothouse.types.json import encode_text

        self._put(plain_json(encode_text(value)) + "\n")

    def write_styled(self, text: str) -> None:
        """Write text whose every escape is our own."""
        self._put(text)

    def fresh_line(self) -> None:
        """Begin a line unless at the beginning of one."""
        if not self.at_start:
            self._put("\n")

    def live(self, text: str) -> None:
        """Show one line that whatever comes next replaces; an empty one takes it away."""
        room = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r\x1b[2K{self._styled(one_line(text)[:room], 'dim')}")
        self._stream.flush()

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.styled and style and text else text

    def _put(self, text: str) -> None:
        if text:
            try:
                self._stream.write(text)
                self._stream.flush()
            except BrokenPipeError:
                raise
            except OSError as error:
                silence(self._stream)
                raise cannot_print(error) from None
            shown = _STYLE.sub("", text)
            self.at_start = shown.endswith("\n") if shown else self.at_start


def silence(stream: TextIO) -> None:
    """Let a stream that cannot be written to lead nowhere; else Python itself would complain at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def cannot_print(error: OSError) -> PilothouseError:
    """Return what to tell when a stream takes nothing, as on a full disk."""
    return PilothouseError("disk_full", f"The output cannot be written: {(error.strerror or 'it failed').lower()}.")


STYLES = {"bold": "1", "dim": "2", "italic": "3", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
STYLES |= {"link": "4", "strike": "9", "code": STYLES["cyan"]}


def styled(text: str, styles: Iterable[str]) -> str:
    """Return a text in some styles, which end with it."""
    codes = "".join(f"\x1b[{STYLES[style]}m" for style in sorted(styles))
    return f"{codes}{text}\x1b[0m" if codes and text else text


def output() -> Terminal:
    """Return where answers go."""
    return Terminal(sys.stdout)


def messages() -> Terminal:
    """Return where everything about the answers goes."""
    return Terminal(sys.stderr)
