"""The commands under `pilothouse terminal`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.command import perform
from pilothouse.cli.options import AsJson, ConversationId, new_app

terminals_app = new_app("Look at the terminals and background commands of a conversation, and stop them.")


@terminals_app.command("list")
def list_terminals(conversation: ConversationId, json: AsJson = False) -> None:
    """List the session and the background commands of a conversation, and what holds them."""
    from pilothouse.cli import terminals as command

    perform(lambda: command.list_terminals(conversation, as_json=json))


@terminals_app.command()
def stop(
    conversation: ConversationId,
    process: Annotated[
        str | None, typer.Argument(metavar="PROCESS", help="A background command; none means the session.")
    ] = None,
) -> None:
    """End a session or a background command, and everything that it started."""
    from pilothouse.cli import terminals as command

    perform(lambda: command.stop(conversation, process))


@terminals_app.command()
def recording(
    conversation: ConversationId,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="Where to; `-` prints it.")] = None,
) -> None:
    """Save what was written in a conversation's terminal, with its times, as an asciicast.

    Players of asciinema show it.
    """
    from pilothouse.cli import terminals as command

    perform(lambda: command.recording(conversation, file))
