"""What a chat completes: its commands, and what some of them take. Imported only where someone types."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence

from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document

from pilothouse.cli.terminal import one_line
from pilothouse.types.errors import PilothouseError

# A value and what is said about it.
Value = tuple[str, str]
Values = Callable[[], Awaitable[Sequence[Value]]]


class ChatCompleter(Completer):
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
