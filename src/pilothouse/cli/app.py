"""The commands and their options, in the words of their help."""

from __future__ import annotations

from typing import Annotated

import typer

from pilothouse import __version__
from pilothouse.cli.command import perform

# Plain help: drawing boxes around it would take longer than everything else.
app = typer.Typer(
    name="pilothouse",
    help="An agent host that you own: any model, everything visible, nothing lost.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[
    int | None, typer.Option(help="The port; by default 7420, or the next one that is free.", show_default=False)
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the link; open no browser.")]
Expose = Annotated[bool, typer.Option("--expose-to-network", help="Allow an address that others on the network reach.")]


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
    """An agent host that you own: any model, everything visible, nothing lost.

    Without a command it starts the server and opens the page, like `serve`.
    """
    if context.invoked_subcommand is None:
        serve()


@app.command()
def serve(
    host: Host = "127.0.0.1", port: Port = None, no_browser: NoBrowser = False, expose_to_network: Expose = False
) -> None:
    """Start the server, print its address with a link that opens the page once, and open it."""
    from pilothouse.cli import serve as command

    perform(lambda: command.serve(host, port, browser=not no_browser, expose_to_network=expose_to_network))


@app.command("open")
def open_page(no_browser: NoBrowser = False) -> None:
    """Print a new link to the running server's page and open it."""
    from pilothouse.cli import serve as command

    perform(lambda: command.open_page(browser=not no_browser))


@app.command()
def run(
    message: Annotated[
        str | None,
        typer.Argument(
            help="What to say. Text that is piped in is added below; `-` takes only that.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="A model's id, or scripted:FILE.", show_default=False),
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option("--conversation", "-c", help="Go on with this conversation, by its id.", show_default=False),
    ] = None,
    system: Annotated[
        str | None, typer.Option("--system", "-s", help="The conversation's system prompt.", show_default=False)
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the events, one JSON object a line.")] = False,
) -> None:
    """Send a message and print its answer as it comes.

    Ends with 0 when it is done, 1 when it failed, 2 when the command was not understood, 3 when a question
    waits for an answer, 130 when it was cancelled.
    """
    from pilothouse.cli import run as command

    request = command.RunRequest(message=message, model=model, conversation=conversation, system=system, json=json)
    perform(lambda: command.run(request))
