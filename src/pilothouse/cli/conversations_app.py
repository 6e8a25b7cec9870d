"""The commands under `pilothouse conversations`."""

from __future__ import annotations

from typing import Annotated

import typer

from pilothouse.cli.command import perform
from pilothouse.cli.options import AsJson, ConversationId, new_app

conversations_app = new_app("List, show, search and rename conversations.")


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
