"""The commands under `pilothouse terminal`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.command import perform
from pilothouse.cli.options import AsJson, ConversationId, new_app

terminals_app = new_app("See and stop what runs in a conversation's terminal.")


@terminals_app.command("list")
def list_terminals(conversation: ConversationId, json: AsJson = False) -> None:
    """List a conversation's session and background commands.

    It says what holds them, too.
    """
    from pilothouse.cli import terminals as command

    perform(lambda: command.list_terminals(conversation, as_json=json))


@terminals_app.command()
def stop(
    conversation: ConversationId,
    process: Annotated[
        str | None, typer.Argument(metavar="PROCESS", help="A background command; none means the session.")
    ] = None,
) -> None:
    """End a session or a background command.

    Everything that it started ends with it.
    """
    from pilothouse.cli import terminals as command

    perform(lambda: command.stop(conversation, process))


@terminals_app.command()
def recording(
    conversation: ConversationId,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to; `-` prints it.")] = None,
) -> None:
    """Save the recording of a conversation's terminal.

    It is an asciicast: what was written, with its times. Players of asciinema show it.
    """
    from pilothouse.cli import terminals as command

    perform(lambda: command.recording(conversation, file))
