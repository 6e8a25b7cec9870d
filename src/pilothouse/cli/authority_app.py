"""The commands under `pilothouse policy`, `pilothouse grants` and `pilothouse audit`."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.command import perform
from pilothouse.cli.form_options import with_form
from pilothouse.cli.options import AsJson, ConversationId, new_app
from pilothouse.cli.pattern_form import ABOUT, EXAMPLES, PatternForm

policy_app = new_app("List, add, remove and try rules about what may be done.")
grants_app = new_app("List, give and withdraw what is allowed for a while.")
audit_app = new_app("Export the record of what was done, and verify it.")


class Say(StrEnum):
    """What a rule says."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


def _option(name: str, help_text: str, metavar: str | None = None) -> object:
    return typer.Option(name, help=help_text, metavar=metavar, show_default=False)


Conversation = Annotated[str | None, _option("--conversation", "Only of this conversation.", "ID")]


@policy_app.command("list")
def list_rules(json: AsJson = False) -> None:
    """List the rules, and how often each decided lately."""
    from pilothouse.cli import policy as command

    perform(lambda: command.list_rules(as_json=json))


@policy_app.command()
@with_form(PatternForm, (*ABOUT, *EXAMPLES))
def add(
    say: Annotated[Say, typer.Argument(metavar="VERDICT", help="allow, ask or deny.")],
    note: Annotated[str, typer.Option(help="Why, for whoever reads it later.", show_default=False)] = "",
    *,
    form: PatternForm,
) -> None:
    """Add a rule; its examples are tried before it is kept.

    Of several rules about a call the strictest wins: deny, then ask, then allow. A rule that allows a command is about
    exactly one command of plain words, never about options that it does not name.
    """
    from pilothouse.cli import policy as command

    perform(lambda: command.add(say.value, form, note))


@policy_app.command()
def remove(rule: Annotated[str, typer.Argument(metavar="RULE", help="The rule's id.")]) -> None:
    """Remove a rule."""
    from pilothouse.cli import policy as command

    perform(lambda: command.remove(rule))


@policy_app.command()
def check(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="`terminal_operations.run_command`, `github.push`, …")],
    path: Annotated[str | None, _option("--path", "What it would touch.", "PATH")] = None,
    command_text: Annotated[str | None, _option("--command", "What it would run.", "COMMAND")] = None,
    destination: Annotated[str | None, _option("--destination", "Where it would send to.", "HOST")] = None,
    folder: Annotated[str, typer.Option(metavar="FOLDER", help="Its working directory.")] = ".",
    json: AsJson = False,
) -> None:
    """Say what the rules would do about a call."""
    from pilothouse.cli import policy as command

    asked = command.Asked(tool, path or "", command_text or "", destination or "", os.path.abspath(folder))
    perform(lambda: command.check(asked, as_json=json))


@policy_app.command()
def replay(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Rules to try instead of those in force.", show_default=False)
    ] = None,
    json: AsJson = False,
) -> None:
    """Say which calls of the past rules would have decided otherwise."""
    from pilothouse.cli import policy as command

    perform(lambda: command.replay(file, as_json=json))


@grants_app.command("list")
def list_grants(conversation: Conversation = None, json: AsJson = False) -> None:
    """List what is allowed for a while."""
    from pilothouse.cli import grants as command

    perform(lambda: command.list_grants(conversation, as_json=json))


@grants_app.command()
@with_form(PatternForm, ABOUT)
def give(
    conversation: ConversationId,
    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="How long: “5m”, “1h 30m”.")] = "5m",
    many: Annotated[bool, typer.Option("--many/--once", help="As often as needed, or once.")] = False,
    *,
    form: PatternForm,
) -> None:
    """Allow something for a while in one conversation.

    It prints the permission's id.
    """
    from pilothouse.cli import grants as command

    perform(lambda: command.give(conversation, form, duration, many=many))


@grants_app.command()
def revoke(grant: Annotated[str, typer.Argument(metavar="GRANT", help="The permission's id.")]) -> None:
    """Withdraw a permission, at once."""
    from pilothouse.cli import grants as command

    perform(lambda: command.revoke(grant))


@audit_app.command()
def export(conversation: Conversation = None) -> None:
    """Print the record as JSON: every call with who allowed it and why."""
    from pilothouse.cli import audit as command

    perform(lambda: command.export(conversation))


@audit_app.command()
def verify(
    conversation: Conversation = None,
    against: Annotated[
        Path | None,
        _option("--against", "A record that was exported earlier: what it has must still be there.", "FILE"),
    ] = None,
) -> None:
    """Find out whether anyone changed the record.

    Ends with 1 and names the first event that is not as it was written.
    """
    from pilothouse.cli import audit as command

    perform(lambda: command.verify(conversation, against))
