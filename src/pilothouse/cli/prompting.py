"""Asking a person at a terminal, in between."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pilothouse.cli.terminal import Terminal
from pilothouse.types.errors import PilothouseError


def someone_is_there(aside: Terminal) -> bool:
    """Return whether a person sees a question on this terminal and can answer it."""
    return aside.is_terminal and sys.stdin.isatty()


async def read_line(prompt: str, aside: Terminal) -> str | None:
    """Return what the person types, None when they leave with Ctrl-C or Ctrl-D."""
    # The line editor takes 0.3 s to import; most commands never ask.
    from prompt_toolkit import PromptSession
    from prompt_toolkit.output import create_output

    aside.fresh_line()
    session: PromptSession[str] = PromptSession(output=create_output(stdout=sys.stderr))
    try:
        return await session.prompt_async(prompt)
    except (KeyboardInterrupt, EOFError):
        return None


async def yes(question: str, aside: Terminal) -> bool:
    """Ask a question whose answer is no unless it is yes."""
    answer = await read_line(f"{question} [y/N] ", aside)
    return answer is not None and answer.strip().lower() in ("y", "yes")


def read_unseen(prompt: str) -> str | None:
    """Return what the person types without showing it, None when they leave with Ctrl-C or Ctrl-D."""
    try:
        return _unseen(prompt)
    except (KeyboardInterrupt, EOFError):
        # The terminal's cursor still stands behind the prompt.
        sys.stderr.write("\n")
        return None


def read_secret(what: str) -> str:
    """Read a secret without showing it; it never stands in the shell's history or the list of processes."""
    if sys.stdin.isatty():
        try:
            value = _unseen(f"{what[:1].upper()}{what[1:]}: ")
        except EOFError:
            value = ""
    else:
        with _interruptible():
            value = sys.stdin.readline()
    if not value.strip():
        raise PilothouseError("bad_request", f"The {what} is empty.", fix="Type it, or pipe it in.")
    return value.strip()


def read_piped(limit: int, too_long: str) -> str:
    """Return the text that is piped in, which may have so many bytes; else say that it is too long."""
    with _interruptible():
        data = sys.stdin.buffer.read(limit + 1)
    if len(data) > limit:
        raise PilothouseError("too_large", too_long, fix="Send a part of it.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PilothouseError(
            "bad_request", "What is piped in is not UTF-8 text.", fix="Convert it, or pipe text."
        ) from None


def _unseen(prompt: str) -> str:
    from getpass import getpass

    with _interruptible():
        return getpass(prompt)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let Ctrl-C end a reading that holds the event loop up, which would hear of it only afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
