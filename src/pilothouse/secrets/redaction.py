"""Keeps secret values out of logs, messages and results."""

from __future__ import annotations

import base64
import ctypes
import html
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import AnyStr
from urllib.parse import quote, quote_plus

from pilothouse.types import limits
from pilothouse.types.json import encode_text

MARK = "[redacted]"
# What stands where a long text was cut.
_CUT = "…"
# What stands in an address as it is: nothing, as in a path, as browsers write a part and a whole of one.
_KEPT_IN_URLS = ("", "/", "-_.!~*'()", ";,/?:@&=+$-_.!~*'()#")
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_PR_SET_DUMPABLE = 4


class Redactor:
    """Replaces every secret value it has learned, in the forms in which one travels."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._values: frozenset[str] = frozenset()
        # Longest first: a value that contains another must not be cut in two.
        self._forms: tuple[str, ...] = ()
        self._bytes: tuple[bytes, ...] = ()
        # Every shortest part that is worth hiding, to find out fast that there is none.
        self._parts: frozenset[str] = frozenset()

    @property
    def reach(self) -> int:
        return len(self._forms[0]) if self._forms else 0

    def learn(self, value: str) -> None:
        """Hide this value from now on."""
        if len(value) < limits.REDACT_MIN_CHARS or value in self._values:
            return
        with self._guard:
            self._values |= {value}
            self._forms = tuple(sorted({*self._forms, *_forms(value)}, key=len, reverse=True))
            self._parts = frozenset(part for form in self._forms for part in _parts(form))
            self._bytes = tuple(form.encode(errors="surrogateescape") for form in self._forms)

    def redact(self, text: str) -> str:
        for form in self._forms:
            if form in text:
                text = text.replace(form, MARK)
        return self._without_halves(text) if _CUT in text else text

    def _without_halves(self, text: str) -> str:
        """Return a text that was cut without what a cut left of a secret."""
        first, *others = text.split(_CUT)
        kept = [self._end_hidden(first) if others else first]
        kept += [self._end_hidden(self._start_hidden(piece)) for piece in others[:-1]]
        kept += [self._start_hidden(piece) for piece in others[-1:]]
        return _CUT.join(kept)

    def _end_hidden(self, piece: str) -> str:
        if piece[-limits.REDACT_MIN_CHARS :] not in self._parts:
            return piece
        half = max(_begun(piece, form) for form in self._forms)
        return piece if half < limits.REDACT_MIN_CHARS else piece[: len(piece) - half] + MARK

    def _start_hidden(self, piece: str) -> str:
        if piece[: limits.REDACT_MIN_CHARS] not in self._parts:
            return piece
        start = piece[: self.reach][::-1]
        half = max(_begun(start, form[::-1]) for form in self._forms)
        return piece if half < limits.REDACT_MIN_CHARS else MARK + piece[half:]

    def cover(self, data: bytes) -> bytes:
        """Return the bytes with an asterisk for each byte of a secret: everything stays where it is."""
        for form in self._bytes:
            if form in data:
                data = data.replace(form, b"*" * len(form))
        return data

    def undecided(self, data: bytes) -> int:
        return max((_begun(data, form) for form in self._bytes), default=0)


def _forms(value: str) -> set[str]:
    data, quoted = value.encode(), (encode_text(value)[1:-1], json.dumps(value)[1:-1])
    written = {
        value,
        *(quote(value, safe=kept) for kept in _KEPT_IN_URLS),
        quote_plus(value),
        # As JSON, with and without numbers for letters, and as JSON in a text of JSON.
        *quoted,
        *(encode_text(text)[1:-1] for text in quoted),
        # As HTML and XML.
        html.escape(value, quote=False),
        html.escape(value),
    }
    return {
        *written,
        # The digits behind a percent sign are written in both ways.
        *(_PERCENT.sub(lambda code: code[0].lower(), text) for text in written),
        base64.b64encode(data).decode().rstrip("="),
        base64.urlsafe_b64encode(data).decode().rstrip("="),
        *(form for encode in (base64.b64encode, base64.urlsafe_b64encode) for form in _within(data, encode)),
    }


def _within(data: bytes, encode: Callable[[bytes], bytes]) -> Iterator[str]:
    """Return what base64 makes of a value in the midst of something longer, like a password behind its user's name."""
    for before in range(3):
        # What comes before and after it has a part in the first and the last character.
        first, last = -(-before * 8 // 6), (before + len(data)) * 8 // 6
        yield encode(bytes(before) + data).decode()[first:last]


def _parts(form: str) -> Iterator[str]:
    size = limits.REDACT_MIN_CHARS
    return (form[at : at + size] for at in range(len(form) - size + 1))


def _begun(data: AnyStr, form: AnyStr) -> int:
    """Return how much of a form the data ends with, without being the whole of it."""
    last = data[max(0, len(data) - len(form) + 1) :]
    at = last.find(form[:1])
    while at >= 0 and not form.startswith(last[at:]):
        at = last.find(form[:1], at + 1)
    return len(last) - at if at >= 0 else 0


def keep_private() -> None:
    """Write no core file when we crash, and let no other program of this account look into us, where that can be."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not there on every system

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        # A system that pipes cores to a program passes over the limit; it does not pass over this.
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
