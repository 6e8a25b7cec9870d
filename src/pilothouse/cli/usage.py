"""Reading a command line with the app: what cannot be understood is told in a sentence, like everything else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NoReturn

from typer.exceptions import TyperException

from pilothouse.cli.app import app
from pilothouse.cli.command import leave
from pilothouse.cli.terminal import cannot_print, silence
from pilothouse.types.errors import PilothouseError


def perform_typed(arguments: Sequence[str]) -> NoReturn:
    """Run the command that was typed, and leave with its exit code."""
    leave(lambda: _perform(arguments))


def _perform(arguments: Sequence[str]) -> int:
    try:
        # A command leaves by itself; only help and the version come back here.
        return int(app([*arguments], prog_name="pilothouse", standalone_mode=False) or 0)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        command = "pilothouse" if context is None else context.command_path
        raise PilothouseError(
            "bad_request", _in_a_sentence(error.format_message()), fix=f"See: {command} --help"
        ) from None
    except OSError as error:
        # A command has told its own failures; this is about printing help.
        silence(sys.stdout)
        raise cannot_print(error) from None


def _in_a_sentence(said: str) -> str:
    """Return a complaint without the names that only programmers have for it."""
    said = said.replace(": Value error, ", ": ").replace(": Input should ", ": it should ")
    return said if said.endswith((".", "?", ")")) else f"{said}."
