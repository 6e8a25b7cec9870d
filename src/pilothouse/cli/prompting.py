"""Asking a person at a terminal, in between."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from pilothouse.cli.command import signal_handlers
from pilothouse.cli.terminal import Terminal
from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    from prompt_toolkit.output import Output


def someone_is_there(aside: Terminal) -> bool:
    """Return whether a person sees a question on this terminal and can answer it."""
    return aside.is_terminal and sys.stdin.isatty()


def drawn_on(stream: TextIO) -> Output:
    """Return what a line editor draws with; it never asks the terminal where its cursor is.

    Not every terminal answers that in time, and the editor would then complain in the middle of a question.
    """
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.vt100 import Vt100_Output

    output = create_output(stdout=stream)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output


async def read_line(prompt: str, aside: Terminal, default: str = "") -> str | None:
    """Return what the person types, or makes of the default; None when they leave with Ctrl-C or Ctrl-D."""
    # The line editor takes 0.3 s to import; most commands never ask.
    from prompt_toolkit import PromptSession

    aside.fresh_line()
    session: PromptSession[str] = PromptSession(output=drawn_on(sys.stderr))
    try:
        return await session.prompt_async(prompt, default=default)
    except (KeyboardInterrupt, EOFError):
        return None


async def read_key(words: Mapping[str, str], armed_after: float, aside: Terminal) -> str | None:
    """Return which of these keys the person presses, None when they leave with Ctrl-C or Ctrl-D.

    Keys are ignored until the prompt has been on screen for `armed_after` seconds: they were meant for something
    else. The prompt shows when keys begin to count.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.keys import Keys

    keys, armed = KeyBindings(), asyncio.Event()
    arming: asyncio.TimerHandle | None = None

    def arm() -> None:
        armed.set()
        session.app.invalidate()

    def shown(_app: object) -> None:
        """Start the timer at the first rendering: keys typed while the editor starts are read only then."""
        nonlocal arming
        if arming is None:
            arming = asyncio.get_running_loop().call_later(armed_after, arm)

    @keys.add(Keys.Any, eager=True)
    def _press(event: KeyPressEvent) -> None:
        if event.data in words and armed.is_set():
            event.current_buffer.insert_text(words[event.data])
            event.app.exit(result=event.data)

    @keys.add("c-c", eager=True)
    @keys.add("c-d", eager=True)
    def _leave(event: KeyPressEvent) -> None:
        event.app.exit(exception=EOFError)

    @keys.add("enter", eager=True)
    @keys.add(Keys.BracketedPaste, eager=True)
    def _nothing(event: KeyPressEvent) -> None:
        """Choose nothing: these are no keys of a choice."""

    aside.fresh_line()
    session: PromptSession[str] = PromptSession(
        lambda: "› " if armed.is_set() else "… ", key_bindings=keys, output=drawn_on(sys.stderr)
    )
    session.app.after_render += shown
    try:
        return await session.prompt_async()
    except (KeyboardInterrupt, EOFError):
        return None
    finally:
        if arming is not None:
            arming.cancel()


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
        with interruptible():
            value = sys.stdin.readline()
    if not value.strip():
        raise PilothouseError("bad_request", f"The {what} is empty.", fix="Type it, or pipe it in.")
    return value.strip()


def read_piped(limit: int, too_long: str) -> str:
    """Return the text that is piped in, which may have so many bytes; else say that it is too long."""
    with interruptible():
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

    with interruptible():
        return getpass(prompt)


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end a reading that holds the event loop up, which would hear of it only afterwards."""
    with signal_handlers((signal.SIGINT,), signal.default_int_handler):
        yield
