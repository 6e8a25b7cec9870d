"""The commands under `pilothouse mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.command import perform
from pilothouse.cli.form_options import given, with_form
from pilothouse.cli.options import AsJson, new_app
from pilothouse.cli.server_form import Era, ServerForm, Wire

mcp_app = new_app("Add MCP servers, look at them, and use their tools.")

ServerNames = Annotated[
    list[str], typer.Argument(metavar="SERVER…", help="The server's name, prefix or id; or several.")
]
ServerName = Annotated[str, typer.Argument(metavar="SERVER", help="The server's name, prefix or id.")]
AnyServer = Annotated[str | None, typer.Argument(metavar="SERVER", help="The server; none means all.")]
Tools = Annotated[
    list[str] | None, typer.Option("--tool", help="Only this tool; may be given more than once.", show_default=False)
]
ConsentTo = Annotated[
    str | None,
    typer.Option(
        "--consent",
        metavar="FINGERPRINT",
        help="Agree to start exactly the command that was shown with this fingerprint.",
        show_default=False,
    ),
]
_KEPT = "the value is asked for, or read from what is piped in, and kept as a secret."

# One for each field of the form.
FORM = (
    given(str | None, "--name", help="The name to show; its lower-cased form is the prefix of its tools."),
    given(str | None, "--command-line", help="The command as one text, split like a shell would."),
    given(str | None, "--url", help="Where it is, for a server that is reached over the network."),
    given(list[str] | None, "--env", metavar="NAME=VALUE", help="A variable that is no secret."),
    given(list[str] | None, "--secret-env", metavar="NAME", help=f"A variable; {_KEPT}"),
    given(list[str] | None, "--header", metavar="'NAME: VALUE'", help="A header that is no secret."),
    given(list[str] | None, "--secret-header", metavar="NAME", help=f"A header; {_KEPT}"),
    given(list[str] | None, "--secret", metavar="NAME", help=f"What ${{secret:NAME}} in its texts stands for; {_KEPT}"),
    given(bool, "--token", help=f"Send a bearer token; {_KEPT}"),
    given(str | None, "--cwd", metavar="FOLDER", help="Where a command is started."),
    given(Wire | None, "--wire", help="How a URL is spoken to; by default that is found out."),
    given(Era | None, "--era", help="Which form of the protocol; by default that is found out."),
    given(float | None, "--timeout", min=0, metavar="SECONDS", help="How long a call may take; 0 for the usual."),
    given(list[str] | None, "--tool-timeout", metavar="TOOL=SECONDS", help="The same for one of its tools."),
    given(bool | None, "--always-on/--when-needed", help="Keep it running, or stop it when nobody uses it."),
    given(bool | None, "--per-conversation/--shared", help="Start one for each conversation, or share one."),
    given(bool | None, "--read-only/--read-write", help="Offer only tools that say they change nothing."),
    given(bool | None, "--cannot-send/--can-send", help="Nothing it is told leaves this machine: you vouch for that."),
    given(bool | None, "--sandbox/--no-sandbox", help="Hold it in a sandbox: it can write to its folder only."),
    given(bool | None, "--network/--no-network", help="Whether it may use the network in its sandbox."),
    given(list[str] | None, "--root", metavar="FOLDER", help="A folder that it is told it may work in."),
    given(str | None, "--trust-certificate", metavar="SHA256", help="Accept exactly this certificate of the URL."),
)


@mcp_app.command("list")
def list_servers(json: AsJson = False) -> None:
    """List the servers and the state of each."""
    from pilothouse.cli import servers as command

    perform(lambda: command.list_servers(as_json=json))


@mcp_app.command(context_settings={"allow_interspersed_args": False})
@with_form(ServerForm, FORM)
def add(
    target: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND… or URL", help="The command with its arguments, or a URL.", show_default=False),
    ] = None,
    *,
    form: ServerForm,
) -> None:
    """Add a server, print its prefix and try it.

    Options come before the command. A name may stand before it too: `NAME -- COMMAND…`, or `NAME URL`. A local command
    is shown whole and starts only after you agree; without a terminal to ask in, it ends with 3 and says how to agree.
    """
    from pilothouse.cli import servers as command

    perform(lambda: command.add(target, form))


@mcp_app.command()
@with_form(ServerForm, FORM)
def edit(server: ServerName, *, form: ServerForm) -> None:
    """Change what is given of a server, keep the rest, and try it.

    A changed command needs your consent again.
    """
    from pilothouse.cli import servers as command

    perform(lambda: command.edit(server, form))


@mcp_app.command()
def remove(name: ServerName) -> None:
    """Stop and remove a server with every secret kept for it."""
    from pilothouse.cli import servers as command

    perform(lambda: command.remove(name))


@mcp_app.command()
def enable(names: ServerNames, tool: Tools = None, consent: ConsentTo = None) -> None:
    """Switch servers on, or some tools of one."""
    from pilothouse.cli import servers as command

    perform(lambda: command.enable(names, tool or (), consent))


@mcp_app.command()
def disable(name: ServerName, tool: Tools = None) -> None:
    """Switch a server off, or some of its tools."""
    from pilothouse.cli import servers as command

    perform(lambda: command.disable(name, tool or ()))


@mcp_app.command()
def stop(name: ServerName) -> None:
    """Stop a server but leave it on: its next call starts it."""
    from pilothouse.cli import servers as command

    perform(lambda: command.stop(name))


# The same, for those who think of the connection.
mcp_app.command("disconnect", hidden=True)(stop)


@mcp_app.command("test")
def try_server(name: ServerName, consent: ConsentTo = None) -> None:
    """Connect to a server and ask for its tools.

    It says how that went, or what to try.
    """
    from pilothouse.cli import servers as command

    perform(lambda: command.test(name, consent))


@mcp_app.command()
def tools(
    name: AnyServer = None,
    json: AsJson = False,
    confirm: Annotated[
        str | None,
        typer.Option(
            metavar="TOOL", help="Show what changed in this tool's definition and accept it.", show_default=False
        ),
    ] = None,
) -> None:
    """List the tools of a server, or of all; --json has their schemas."""
    from pilothouse.cli import server_tools as command

    perform(lambda: command.tools(name, as_json=json, confirm=confirm))


@mcp_app.command()
def about(name: ServerName) -> None:
    """Show what a server says about itself, and decide about a change.

    Until you accept the new words models are told the old ones.
    """
    from pilothouse.cli import server_about as command

    perform(lambda: command.about(name))


@mcp_app.command()
def call(
    name: Annotated[str, typer.Argument(metavar="SERVER.TOOL", help="The tool.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ARGUMENTS", help="NAME=VALUE for each, one JSON object, or `-` for one that is piped in."
        ),
    ] = None,
    json: AsJson = False,
    consent: ConsentTo = None,
) -> None:
    """Call a tool by hand and print what it gives.

    Ends with 1 when the tool failed.
    """
    from pilothouse.cli import server_tools as command

    perform(lambda: command.call(name, arguments or (), as_json=json, consent=consent))


@mcp_app.command()
def status(name: AnyServer = None, json: AsJson = False) -> None:
    """Show how servers are: state, process, latencies, last errors."""
    from pilothouse.cli import server_facts as command

    perform(lambda: command.status(name, as_json=json))


@mcp_app.command()
def logs(name: ServerName, json: AsJson = False) -> None:
    """Print what a server wrote, oldest first."""
    from pilothouse.cli import server_facts as command

    perform(lambda: command.logs(name, as_json=json))


@mcp_app.command("import")
def import_file(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The file, `-` for what is piped in; none says which files there are."),
    ] = None,
) -> None:
    """Add the servers of another program's settings file.

    It knows those of Claude, VS Code, Cursor, Windsurf, Zed, Cline, Gemini CLI and others like them. What such a file
    leaves open is asked for; secrets are kept as secrets. None of the servers starts before you agree to its command.
    """
    from pilothouse.cli import server_import as command

    perform(lambda: command.import_file(file))
