"""The commands under `pilothouse conversations`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.command import complain, leave, perform
from pilothouse.cli.options import AsJson, ConversationId, new_app
from pilothouse.types.errors import PilothouseError

conversations_app = new_app("List, show, search, rename, export and import conversations.")


class Form(StrEnum):
    """What an export looks like."""

    JSON = "json"
    MARKDOWN = "markdown"


@conversations_app.command("list")
def list_conversations(limit: Annotated[int, typer.Option(min=1, help="How many.")] = 20, json: AsJson = False) -> None:
    """List conversations, most recently used first."""
    from pilothouse.cli import conversations as command

    perform(lambda: command.list_conversations(limit, as_json=json))


@conversations_app.command()
def show(conversation: ConversationId, json: AsJson = False) -> None:
    """Print what was said in a conversation."""
    from pilothouse.cli import conversations as command

    perform(lambda: command.show(conversation, as_json=json))


@conversations_app.command()
def search(
    words: Annotated[str, typer.Argument(metavar="WORDS", help="What to look for.")], json: AsJson = False
) -> None:
    """Find conversations by their words."""
    from pilothouse.cli import conversations as command

    perform(lambda: command.search(words, as_json=json))


@conversations_app.command()
def rename(
    conversation: ConversationId, title: Annotated[str, typer.Argument(metavar="TITLE", help="Its new title.")]
) -> None:
    """Give a conversation another title."""
    from pilothouse.cli import conversations as command

    perform(lambda: command.rename(conversation, title))


@conversations_app.command()
def resume(conversation: ConversationId) -> None:
    """Go on with an answer that broke off, and show it."""
    from pilothouse.cli import conversations as command

    perform(lambda: command.resume(conversation))


@conversations_app.command()
def delete(conversation: ConversationId) -> None:
    """Delete a conversation; it can be restored for a while."""
    from pilothouse.cli import conversations as command

    perform(lambda: command.delete(conversation))


@conversations_app.command()
def restore(conversation: ConversationId) -> None:
    """Bring a deleted conversation back."""
    from pilothouse.cli import conversations as command

    perform(lambda: command.restore(conversation))


@conversations_app.command()
def export(
    conversation: Annotated[
        str | None, typer.Argument(metavar="ID", help="The conversation's id.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Where to; compressed if it ends in .gz.", show_default=False),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them; FILE is then the only argument.")] = False,
    form: Annotated[Form, typer.Option("--format", help="Everything, or what was said for people.")] = Form.JSON,
    replace: Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")] = False,
) -> None:
    """Write conversations into a file, or print them.

    As JSON it holds everything: `conversations import` takes it, here or elsewhere, and its record can still be
    verified. What is allowed for a while and what files were before is not in it.
    """
    from pilothouse.cli import exchange as command

    which, where = conversation, file
    if everything:
        which, where = None, Path(conversation) if conversation is not None else None
    if (everything and file is not None) or (not everything and conversation is None):
        raise typer.Exit(complain(PilothouseError("bad_request", "Name one conversation, or say --all.")))
    leave(lambda: command.export(which, where, form.value, replace=replace))


@conversations_app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `conversations export` wrote as JSON.")],
    json: AsJson = False,
) -> None:
    """Take over the conversations of a file.

    Nothing in them is carried out: what was at work is stopped, and what they were allowed, their folder, their
    servers and their model are not taken over.
    """
    from pilothouse.cli import exchange as command

    perform(lambda: command.import_file(file, as_json=json))
