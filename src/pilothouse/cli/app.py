"""The commands and their options, in the words of their help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pilothouse import __version__
from pilothouse.cli.authority_app import audit_app, grants_app, policy_app
from pilothouse.cli.command import leave, perform
from pilothouse.cli.conversations_app import conversations_app
from pilothouse.cli.form_options import with_form
from pilothouse.cli.mcp_app import mcp_app
from pilothouse.cli.models_app import models_app
from pilothouse.cli.options import AsJson, Expose, Host, NoBrowser, Port, TlsCert, TlsKey, new_app
from pilothouse.cli.plugins_app import plugins_app
from pilothouse.cli.talk_form import FORM, TalkForm
from pilothouse.cli.terminals_app import terminals_app

BackupFile = Annotated[
    Path | None, typer.Argument(metavar="FILE", help="Where to; a folder gets a new file.", show_default=False)
]
Replace = Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")]

app = new_app(
    "An agent host that you own: any model, everything visible, nothing lost.\n\n"
    "Without a command it starts the server and opens the page, like `serve`."
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"pilothouse {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def pilothouse(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Start the server unless a command was named."""
    if context.invoked_subcommand is None:
        serve()


@app.command()
def serve(
    host: Host = "127.0.0.1",
    port: Port = None,
    no_browser: NoBrowser = False,
    expose_to_network: Expose = False,
    tls_cert: TlsCert = None,
    tls_key: TlsKey = None,
) -> None:
    """Start the server and open its page.

    It prints one line: its address, and a link that opens the page once, signed in. Beside a running server it
    opens that one's page; beside another command it takes over when that ends.
    """
    from pilothouse.cli import serve as command

    wish = command.Wish(
        host=host,
        port=port,
        expose_to_network=expose_to_network,
        browser=not no_browser,
        certificate=(tls_cert, tls_key),
    )
    perform(lambda: command.serve(wish), for_long=True)


@app.command("open")
def open_page(no_browser: NoBrowser = False) -> None:
    """Open the running server's page with a new link."""
    from pilothouse.cli import serve as command

    perform(lambda: command.open_page(browser=not no_browser))


@app.command()
@with_form(TalkForm, FORM)
def run(
    message: Annotated[
        str | None,
        typer.Argument(
            metavar="MESSAGE",
            help="What to say. Text piped in is added below it; `-` takes only that.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the events, one JSON object a line.")] = False,
    *,
    form: TalkForm,
) -> None:
    """Send a message and print its answer as it comes.

    Ends with 0 when it is done, 1 when it failed, 2 when the command was not understood, 3 when a question or
    your consent to a server's command is waited for, 130 when it was cancelled.
    """
    from pilothouse.cli import run as command

    request = command.RunRequest(
        message=message,
        model=form.model,
        conversation=form.conversation,
        system=form.system,
        folder=form.folder,
        mode=form.mode,
        server=tuple(form.server or ()),
        allow=tuple(form.allow or ()),
        thinking=form.thinking,
        json=json,
    )
    perform(lambda: command.run(request))


@app.command()
def answer(
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="The question's id; none lists what waits.")
    ] = None,
    choice: Annotated[str | None, typer.Argument(metavar="CHOICE", help="One of its choices.")] = None,
    text: Annotated[
        str | None, typer.Option(help="An answer in words, or why not, for the model.", show_default=False)
    ] = None,
    content: Annotated[
        str | None,
        typer.Option(
            metavar="JSON", help="The fields of a form, or how long and for what it lasts.", show_default=False
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Answer a question that a run waits with.

    Then show how the run goes on. Without a choice it asks in the terminal.
    """
    from pilothouse.cli import answer as command

    given = command.GivenAnswer(choice=choice, text=text, content=content)
    perform(lambda: command.answer(question, given, as_json=json))


@app.command()
def approvals(json: AsJson = False) -> None:
    """List every question that waits for you."""
    from pilothouse.cli import grants as command

    perform(lambda: command.approvals(as_json=json))


@app.command()
@with_form(TalkForm, FORM)
def chat(*, form: TalkForm) -> None:
    """Talk in the terminal; /help lists what else it can do."""
    from pilothouse.cli import chat as command

    perform(lambda: command.chat(form))


@app.command()
def changes(run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")], json: AsJson = False) -> None:
    """List the files that a run changed and nobody put back."""
    from pilothouse.cli import changes as command

    perform(lambda: command.list_changes(run, as_json=json))


@app.command()
def undo(
    of: Annotated[str, typer.Argument(metavar="RUN_OR_CALL", help="The id of a run, or of one of its calls.")],
    json: AsJson = False,
) -> None:
    """Put files back as they were before a run or a call.

    What someone changed since is shown and left alone; then it ends with 1.
    """
    from pilothouse.cli import changes as command

    perform(lambda: command.undo(of, as_json=json))


@app.command()
def backup(file: BackupFile = None, replace: Replace = False, json: AsJson = False) -> None:
    """Write everything into one file, beside a running server.

    It holds the conversations with all their parts, the settings, the models and the rules, and prints the file's
    name. By default that is a new one in the folder `backups` of the data folder.
    """
    from pilothouse.cli import backups as command

    leave(lambda: command.backup(file, replace=replace, as_json=json))


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `pilothouse backup` wrote.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="In the place of what is there, which is kept aside.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Bring back what a backup holds, verified.

    Into the data folder, or into PostgreSQL where that is set up, whichever of the two it came from. No server may be
    running on it. A file that is damaged changes nothing.
    """
    from pilothouse.cli import backups as command

    leave(lambda: command.restore(file, replace=replace, as_json=json))


@app.command()
def retention(
    days: Annotated[
        int | None, typer.Option(min=1, help="Remove what nobody touched for so many days.", show_default=False)
    ] = None,
    megabytes: Annotated[
        int | None, typer.Option(min=1, help="Remove the longest untouched above this size.", show_default=False)
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Keep everything.")] = False,
    json: AsJson = False,
) -> None:
    """Show what is removed by itself, or change it.

    Without options it only shows what would be removed now. A running server does it once a day, for good, and never
    where something is at work or waits for you.
    """
    from pilothouse.cli import retention as command

    leave(lambda: command.retention(days, megabytes, off=off, as_json=json))


@app.command()
def doctor(json: AsJson = False) -> None:
    """Say what works, what does not, and the fix.

    It looks at what is installed, found and reachable. Ends with 1 when something is broken.
    """
    from pilothouse.cli import doctor as command

    perform(lambda: command.doctor(as_json=json))


app.add_typer(models_app, name="models")
app.add_typer(mcp_app, name="mcp")
app.add_typer(conversations_app, name="conversations")
app.add_typer(terminals_app, name="terminal")
app.add_typer(policy_app, name="policy")
app.add_typer(grants_app, name="grants")
app.add_typer(audit_app, name="audit")
app.add_typer(plugins_app, name="plugins")
