"""The log: one JSON object per line, without secrets, in files that do not grow for ever."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode_text
from pilothouse.types.runs import at_work_on

# Only these: a program that uses Pilothouse as a library has its own ideas about the rest.
LOGGERS = ("pilothouse", "uvicorn.error", "psycopg", "procrastinate")
LOG_NAME = "pilothouse.log"
_OTHER_BREAKS = {0x7F: "\\u007f", 0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


@lru_cache(maxsize=4)
def _second(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))


class JsonLines(logging.Formatter):
    """Writes a record as one line; a line break in a logged text is escaped and cannot fake a record."""

    def __init__(self, redact: Callable[[str], str], process: str = "") -> None:
        super().__init__()
        self._redact = redact
        # What tells this process from others that write to the same place.
        self._process = process

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as a line of JSON; one that has several lines, each with its time, as these."""
        lines = getattr(record, "lines", None) or [(record.created, record.getMessage(), None)]
        return "\n".join(self._line(record, *line) for line in lines)

    def _line(self, record: logging.LogRecord, at: float, message: str, facts: object) -> str:
        line: dict[str, object] = {
            "time": f"{_second(int(at))}.{int(at % 1 * 1000):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(message),
        }
        if self._process:
            line["process"] = self._process
        if (about := at_work_on.get()) is not None:
            line |= about._asdict()
        if isinstance(facts, dict):
            line["facts"] = {
                name: self._redact(value) if isinstance(value, str) else value for name, value in facts.items()
            }
        error = self.formatException(record.exc_info) if record.exc_info else record.exc_text
        if error:
            line["error"] = self._redact(error)
        text = encode_text(line)
        # JSON leaves these line breaks as they are, but some readers of logs take them for an end.
        return text if text.isascii() and "\x7f" not in text else text.translate(_OTHER_BREAKS)


class _Console(logging.Handler):
    """Whoever started this process, for what collects logs there."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as one piece; a console that is gone is no reason to stop working."""
        try:
            text = f"{self.format(record)}\n"
            with contextlib.suppress(OSError, ValueError, AttributeError):
                sys.stderr.write(text)
                sys.stderr.flush()
        except Exception:
            self.handleError(record)


class _PrivateFile(logging.Handler):
    """A file that only its owner can read; when it is full it becomes the first of a few older ones.

    A record is one write to the system: the library's own handler takes four times as long.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._open()

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; a log that cannot be written is no reason to stop working."""
        try:
            line = f"{self.format(record)}\n".encode("utf-8", "backslashreplace")
            if self._size and self._size + len(line) > limits.LOG_BYTES:
                self._roll()
            self._size += os.write(self._descriptor, line)
        except OSError:
            # A full disk is told to people, page and all; a trace for each line that is missing here would not help.
            return
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
        super().close()

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._descriptor).st_size

    def _roll(self) -> None:
        os.close(self._descriptor)
        older = [self._path, *(self._path.with_name(f"{LOG_NAME}.{number + 1}") for number in range(limits.LOG_FILES))]
        for newer, place in reversed(list(pairwise(older))):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(place)
        self._open()


def wanted_level() -> int:
    """Return how much is logged: every message to and from servers only where someone asked for it."""
    return logging.DEBUG if os.environ.get("PILOTHOUSE_DEBUG", "0") not in ("", "0") else logging.INFO


def wants_console() -> bool:
    """Return whether the same lines go to the console; raise for a wish that is none of ours."""
    wanted = os.environ.get("PILOTHOUSE_LOG", "").strip().lower()
    if wanted not in ("", "file", "json"):
        raise PilothouseError(
            "bad_config",
            f"PILOTHOUSE_LOG is “{wanted[: limits.ERROR_TEXT_CHARS]}”, which is no way to log.",
            fix="Set it to json for lines of JSON on the console, too, or leave it unset.",
        )
    return wanted == "json"


@contextmanager
def logging_to(
    folder: Path, redact: Callable[[str], str], *, level: int = logging.INFO, process: str = ""
) -> Iterator[None]:
    """Write what Pilothouse and what it serves and stores with log to `pilothouse.log`, for as long as this is open."""
    handlers: list[logging.Handler] = [_Console()] if wants_console() else []
    handlers.append(_PrivateFile(folder / LOG_NAME))
    loggers = [logging.getLogger(name) for name in LOGGERS]
    before = [logger.level for logger in loggers]
    for handler in handlers:
        handler.setFormatter(JsonLines(redact, process))
    for logger in loggers:
        for handler in handlers:
            logger.addHandler(handler)
        logger.setLevel(level)
    try:
        yield
    finally:
        for logger, earlier in zip(loggers, before, strict=True):
            for handler in handlers:
                logger.removeHandler(handler)
            logger.setLevel(earlier)
        for handler in handlers:
            handler.close()
