"""The line editor of a chat: it remembers, completes, and is imported only where someone types."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from pilothouse.cli.prompting import drawn_on
from pilothouse.cli.terminal import one_line
from pilothouse.connection import data_folder
from pilothouse.types.errors import PilothouseError

HISTORY = "chat-history"
PROMPT = "› "
# A value and what is said about it.
Value = tuple[str, str]
Values = Callable[[], Awaitable[Sequence[Value]]]


def new_session(commands: Mapping[str, str], values: Mapping[str, Values]) -> PromptSession[str]:
    """Return an editor that remembers what was typed, and completes commands and what they take."""
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    path = data_folder() / HISTORY
    # What people type is theirs alone.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return PromptSession(
        history=FileHistory(str(path)),
        key_bindings=keys,
        prompt_continuation="  ",
        completer=_Completer({typed.partition(" ")[0]: meaning for typed, meaning in commands.items()}, values),
        complete_while_typing=True,
        output=drawn_on(sys.stdout),
    )


async def read_message(session: PromptSession[str], begun: str = "") -> str | None:
    """Return a line, None when the person leaves or the program is told to end; it may have begun with some words."""
    from pilothouse.wiring import stop_on_signals, unless_stopped

    typing = asyncio.ensure_future(_line(session, begun))
    with stop_on_signals() as stop:
        if await unless_stopped(typing, stop):
            return typing.result()
    # The terminal is as it was before anything else is said.
    await asyncio.wait([typing])
    return None


async def _line(session: PromptSession[str], begun: str) -> str | None:
    """Return a line, None when the person leaves; Ctrl-C only clears what was typed, and gives up what had begun."""
    while True:
        try:
            return await session.prompt_async(PROMPT, default=begun)
        except KeyboardInterrupt:
            if begun:
                return ""
        except EOFError:
            return None


class _Completer(Completer):
    """Completes a line that begins with a slash; messages are left alone."""

    def __init__(self, commands: Mapping[str, str], values: Mapping[str, Values]) -> None:
        self._commands = commands
        self._values = values
        self._folders = PathCompleter(only_directories=True, expanduser=True)

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Return nothing: a chat asks for them in its own event loop."""
        return ()

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Yield what may stand where the cursor is."""
        typed = document.text_before_cursor
        command, space, rest = typed.partition(" ")
        if not typed.startswith("/") or "\n" in typed:
            return
        if not space:
            for name, meaning in self._commands.items():
                if name.startswith(command):
                    yield Completion(name, -len(command), display_meta=meaning)
            return
        for value, meaning in await self._known(command):
            word = rest.rpartition(" ")[2]
            if value.startswith(word):
                yield Completion(value, -len(word), display_meta=one_line(meaning))
        if command == "/folder":
            for one in self._folders.get_completions(Document(rest), complete_event):
                yield one

    async def _known(self, command: str) -> Sequence[Value]:
        if command not in self._values:
            return ()
        try:
            return await self._values[command]()
        except PilothouseError:
            # What cannot be looked up now is typed by hand.
            return ()
