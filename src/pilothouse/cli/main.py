"""The way in: `run` with as little as it needs, everything else through the app."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from pilothouse.cli import garbage

# Importing the app and reading arguments with it takes 0.3 s; `run` starts without it.
if TYPE_CHECKING:
    from pilothouse.cli.run import RunRequest

# The options of `run` that can be read without the app, and the field that each sets.
_LONG = {"--model": "model", "--conversation": "conversation", "--system": "system", "--folder": "folder"}
_SHORT = {"-m": "model", "-c": "conversation", "-s": "system", "-f": "folder"}
_PLACES = {"--instead-of": "instead_of", "--after": "after"}
RUN_VALUES = _LONG | _SHORT | _PLACES | {"--mode": "mode", "--prompt": "prompt", "--topic": "topic"}
RUN_LISTS = {
    "--server": "server",
    "--allow": "allow",
    "--image": "image",
    "-i": "image",
    "--var": "var",
    "--mini": "mini",
}
RUN_FLAGS = {"--json": "json", "--thinking": "thinking", "--stop": "stop", "--put-files-back": "put_files_back"}


def main() -> None:
    """Run the command that was typed."""
    try:
        _open_streams()
        _speak_utf8()
        garbage.begin()
        _refuse_bytes(sys.argv[1:])
        _perform(sys.argv[1:])
    except KeyboardInterrupt:
        # While the command was being imported: it has done nothing yet.
        sys.exit(130)


def _perform(arguments: Sequence[str]) -> NoReturn:
    if arguments[:1] == ["run"] and (request := read_run(arguments[1:])) is not None:
        from pilothouse.cli.command import perform
        from pilothouse.cli.run import run

        perform(lambda: run(request))
    from pilothouse.cli.app import perform_typed

    perform_typed(arguments)


def _refuse_bytes(arguments: Sequence[str]) -> None:
    """Refuse what is no text: it could neither be kept nor be sent."""
    try:
        "".join(arguments).encode()
    except UnicodeEncodeError:
        from pilothouse.cli.command import complain
        from pilothouse.types.errors import PilothouseError

        sys.exit(complain(PilothouseError("bad_request", "What you typed is not UTF-8 text.", fix="Type it as text.")))


def read_run(arguments: Sequence[str]) -> RunRequest | None:
    """Return what `run` was asked, or None when anything is unusual: the app knows all forms, and what is wrong."""
    from pilothouse.cli.run import RunRequest

    given: dict[str, Any] = {}
    rest = iter(arguments)
    for argument in rest:
        if argument in RUN_VALUES:
            name: str = RUN_VALUES[argument]
            value: str | bool | None = next(rest, None)
        elif argument in RUN_LISTS:
            name, value = RUN_LISTS[argument], next(rest, None)
        elif argument in RUN_FLAGS:
            name, value = RUN_FLAGS[argument], True
        else:
            name, value = "message", argument
        odd = value is None or (isinstance(value, str) and value.startswith("-") and value != "-")
        many = argument in RUN_LISTS
        if odd or (name in given and not many):
            return None
        given[name] = (*given.get(name, ()), value) if many else value
    return RunRequest(**given)


def _open_streams() -> None:
    """Open what whoever started us closed: a command neither fails nor writes into a file of its own for that."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", closefd=False))


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says; a character that cannot be written never ends a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
