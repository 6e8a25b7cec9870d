"""The commands and their options, in the words of their help."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn

import typer
from typer.exceptions import TyperException
from typer.main import get_command

from pilothouse import __version__
from pilothouse.cli.command import leave, perform
from pilothouse.cli.groups import GROUPS, LateGroup
from pilothouse.cli.options import AsJson, Replace, command, given, new_app
from pilothouse.cli.terminal import cannot_print, silence
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    from pilothouse.cli.run import RunRequest

NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the link; open no browser.")]

_PORT = "The port; by default 7420, or the next one that is free; of a worker 7460."
_ROLE = "With PostgreSQL: `web` serves the page and works on nothing, `worker` works without a page, `all` does both."
_STATES = "Which, separated by commas: queued, running, waiting, completed, failed, cancelled, interrupted."
_NO_PROGRAMS = "Have this worker start no local MCP servers, no commands and no terminals; workers without it do."
_SLOTS = "How many answers this process works on at once; by default what the settings say."

app = new_app(
    "An agent host that you own: any model, everything visible, nothing lost.\n\n"
    "Without a command it starts the server and opens the page, like `serve`."
)


def perform_typed(arguments: Sequence[str]) -> NoReturn:
    """Run the command that was typed, and leave with its exit code."""
    leave(lambda: _perform(arguments))


def _perform(arguments: Sequence[str]) -> int:
    try:
        # A command leaves by itself; only help and the version come back here.
        return int(_commands()([*arguments], prog_name="pilothouse", standalone_mode=False) or 0)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        path = "pilothouse" if context is None else context.command_path
        raise PilothouseError(
            "bad_request", _in_a_sentence(error.format_message()), fix=f"See: {path} --help"
        ) from None
    except OSError as error:
        # A command has told its own failures; this is about printing help.
        silence(sys.stdout)
        raise cannot_print(error) from None


@cache
def _commands() -> Callable[..., Any]:
    """Return the command tree. It is built once: building it takes as long as a small command."""
    return get_command(app)


def _in_a_sentence(said: str) -> str:
    """Return a complaint without the names that only programmers have for it."""
    said = said.replace(": Value error, ", ": ").replace(": Input should ", ": it should ")
    return said if said.endswith((".", "?", ")")) else f"{said}."


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
        perform(lambda: serve(form=ServeForm()), for_long=True)


@dataclass(frozen=True, kw_only=True)
class ServeForm:
    """Where a server is wanted, and what it does there."""

    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1"
    port: Annotated[int | None, given(help=_PORT)] = None
    no_browser: NoBrowser = False
    expose_to_network: Annotated[
        bool, typer.Option("--expose-to-network", help="Allow an address that others on the network reach.")
    ] = False
    tls_cert: Annotated[str | None, given(metavar="FILE", help="Speak HTTPS, with this certificate (PEM).")] = None
    tls_key: Annotated[str | None, given(metavar="FILE", help="The certificate's private key (PEM).")] = None
    role: Annotated[Literal["all", "web", "worker"], typer.Option(help=_ROLE)] = "all"
    slots: Annotated[int | None, given(metavar="N", help=_SLOTS)] = None
    no_programs: Annotated[bool, typer.Option("--no-programs", help=_NO_PROGRAMS)] = False


@command(app, for_long=True)
async def serve(*, form: ServeForm) -> int:
    """Start the server and open its page.

    It prints one line: its address, and a link that opens the page once, signed in. Beside a running server it
    opens that one's page; beside another command it takes over when that ends.
    """
    from pilothouse.cli import serve as serving

    options = serving.ServeOptions(
        host=form.host,
        port=form.port,
        expose_to_network=form.expose_to_network,
        browser=not form.no_browser,
        certificate=(form.tls_cert, form.tls_key),
        role=form.role,
        slots=form.slots,
        programs=not form.no_programs,
    )
    return await serving.serve(options)


@command(app, "open")
async def open_page(no_browser: NoBrowser = False) -> int:
    """Open the running server's page with a new link."""
    from pilothouse.cli.serve import open_page

    return await open_page(browser=not no_browser)


_SERVER = "Use this MCP server, or only these tools of it, instead of the usual ones; may be given more than once."
_MODE = (
    "What needs no question: ask, sandboxed (files in the folder, commands that the sandbox holds), auto_edit (files "
    "only), read_only, or auto_approve; without it the default, which is sandboxed in a folder where a sandbox keeps "
    "commands off the network, else ask."
)
_ALLOW = (
    "Do not ask before this tool is called, SERVER.* for all of a server, net:HOST for data that goes there, "
    "OPERATION:PATH for a path outside; may be given more than once."
)
_TEMPERATURE = "How freely the conversation's answers are worded: 0 always takes the likeliest word."
_PROMPT = "One of your prompts, by its name, in place of the system prompt."
_VAR = "What a variable of that prompt is; may be given more than once."
_MINI = "Switch this mini prompt on in the conversation; may be given more than once."
_TOPIC = "Put the conversation into this topic, by its name or its id."
_INSTEAD_OF = "Say it in the place of this message of yours, by its id, in a new branch."
_AFTER = "Say it after this run, by its id; in a new branch, if something followed there."
_FILES_BACK = "First put files back to what they were at that place; what someone else changed since stays."
_IMAGE = "Send this image along, `-` for one that is piped in; may be given more than once."


@dataclass(frozen=True, kw_only=True)
class ChatForm:
    """Which conversation, which model, which folder, which servers."""

    model: Annotated[str | None, given("--model", "-m", help="A model's id, or scripted:FILE.")] = None
    conversation: Annotated[
        str | None, given("--conversation", "-c", help="Go on with this conversation, by its id.")
    ] = None
    system: Annotated[str | None, given("--system", "-s", help="The conversation's system prompt.")] = None
    prompt: Annotated[str | None, given(metavar="NAME", help=_PROMPT)] = None
    var: Annotated[list[str] | None, given(metavar="NAME=VALUE", help=_VAR)] = None
    mini: Annotated[list[str] | None, given(metavar="NAME", help=_MINI)] = None
    topic: Annotated[str | None, given(metavar="NAME", help=_TOPIC)] = None
    folder: Annotated[str | None, given("--folder", "-f", metavar="DIR", help="The folder that it works in.")] = None
    mode: Annotated[str | None, given(metavar="MODE", help=_MODE)] = None
    server: Annotated[list[str] | None, given(metavar="NAME[:TOOL,TOOL]", help=_SERVER)] = None
    allow: Annotated[list[str] | None, given(metavar="SERVER.TOOL", help=_ALLOW)] = None
    thinking: Annotated[bool | None, given(help="Ask the model to think first, or not to.")] = None
    temperature: Annotated[float | None, given(metavar="0-2", min=0, max=2, help=_TEMPERATURE)] = None
    max_tokens: Annotated[int | None, given(min=1, help="The longest answer, in tokens, in this conversation.")] = None
    image: Annotated[list[str] | None, given("--image", "-i", metavar="FILE", help=_IMAGE)] = None


@dataclass(frozen=True, kw_only=True)
class RunForm(ChatForm):
    """The same, and where in a conversation the message stands."""

    branch: Annotated[int | None, given(min=0, help="Go on with this branch of it; 0 is the first.")] = None
    instead_of: Annotated[str | None, given(metavar="MESSAGE", help=_INSTEAD_OF)] = None
    after: Annotated[str | None, given(metavar="RUN", help=_AFTER)] = None
    stop: Annotated[bool, typer.Option("--stop", help="Stop answers at work that the new branch leaves behind.")] = (
        False
    )
    put_files_back: Annotated[bool, typer.Option("--put-files-back", help=_FILES_BACK)] = False


def _request(form: ChatForm, message: str | None = None, *, json: bool = False) -> RunRequest:
    from pilothouse.cli.run import RunRequest

    said = {name: value for name, value in asdict(form).items() if value is not None}
    lists = {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
    return RunRequest(message=message, json=json, **said | lists)


@command(app)
async def run(
    message: Annotated[
        str | None,
        typer.Argument(
            metavar="MESSAGE",
            help="What to say. Text piped in is added below it, as private as a file; `-` takes only that.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the events, one JSON object a line.")] = False,
    *,
    form: RunForm,
) -> int:
    """Send a message and print its answer as it comes.

    Ends with 0 when it is done, 1 when it failed, 2 when the command was not understood, 3 when a question or
    your consent to a server's command is waited for, 4 when the answer was cut by a limit, 130 when it was cancelled.
    """
    from pilothouse.cli.run import run

    return await run(_request(form, message, json=json))


@command(app)
async def answer(
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="The question's id; none lists what waits.")
    ] = None,
    choice: Annotated[str | None, typer.Argument(metavar="CHOICE", help="One of its choices.")] = None,
    text: Annotated[str | None, given(help="An answer in words, or why not, for the model.")] = None,
    content: Annotated[
        str | None, given(metavar="JSON", help="The fields of a form, or how long and for what it lasts.")
    ] = None,
    json: AsJson = False,
) -> int:
    """Answer a question that a run waits with.

    Then show how the run goes on. Without a choice it asks in the terminal.
    """
    from pilothouse.cli.answer import GivenAnswer, answer

    return await answer(question, GivenAnswer(choice=choice, text=text, content=content), as_json=json)


@command(app)
async def approvals(json: AsJson = False) -> int:
    """List every question that waits for you."""
    from pilothouse.cli.answer import approvals

    return await approvals(as_json=json)


@command(app)
async def chat(*, form: ChatForm) -> int:
    """Talk in the terminal; /help lists what else it can do."""
    from pilothouse.cli.chat import chat

    return await chat(_request(form))


@command(app)
async def compare(
    message: Annotated[str, typer.Argument(metavar="MESSAGE", help="What each model is asked.")],
    model: Annotated[list[str], given("--model", "-m", help="A model to ask; give two or three.")],
    conversation: Annotated[str | None, given("--conversation", help="The conversation to go on with.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each model.")] = False,
) -> int:
    """Have two or three models answer one message.

    Each answers in a branch of its own; `conversations choose` says with which one to go on. Ends with 1 when one
    failed.
    """
    from pilothouse.cli.compare import ComparisonRequest, compare

    asked = ComparisonRequest(message=message, models=tuple(model), conversation=conversation, json=json)
    return await compare(asked)


_RUNS = "A run's id, or a conversation's for its last finished run; several are replayed one after the other."


@dataclass(frozen=True, kw_only=True)
class ReplayForm:
    """What is to be otherwise than in the run."""

    model: Annotated[str | None, given("--model", "-m", help="The model to ask instead, or scripted:FILE.")] = None
    system: Annotated[str | None, given("--system", "-s", help="The system prompt instead; empty for none.")] = None
    prompt: Annotated[str | None, given(metavar="FILE", help="A file that has the system prompt instead.")] = None
    temperature: Annotated[float | None, given(metavar="0-2", min=0, max=2, help="The temperature instead.")] = None
    thinking: Annotated[bool | None, given(help="Ask the model to think first, or not to.")] = None


@command(app)
async def replay(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help=_RUNS)],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for each run.")] = False,
    *,
    form: ReplayForm,
) -> int:
    """Ask a model what a run asked, with what its tools gave then.

    No tool is executed and nobody is asked; then the difference is shown step by step. Ends with 0 when all came to
    their end, 5 when one stopped at a call that was not recorded, 1 or 2 when one failed or could not be replayed.
    """
    from pilothouse.cli.replays import ReplayRequest, replay

    return await replay(ReplayRequest(runs=tuple(runs), json=json, **asdict(form)))


@command(app)
async def changes(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id.")], json: AsJson = False
) -> int:
    """List the files that a run changed and nobody put back."""
    from pilothouse.cli.changes import list_changes

    return await list_changes(run, as_json=json)


@command(app)
async def undo(
    of: Annotated[str, typer.Argument(metavar="RUN_OR_CALL", help="The id of a run, or of one of its calls.")],
    json: AsJson = False,
) -> int:
    """Put files back as they were before a run or a call.

    What someone changed since is shown and left alone; then it ends with 1.
    """
    from pilothouse.cli.changes import undo

    return await undo(of, as_json=json)


@command(app)
async def drop(
    of: Annotated[str, typer.Argument(metavar="NOTICE", help="The id of the notice about what was set aside.")],
) -> int:
    """Forget for good what was set aside after a command."""
    from pilothouse.cli.changes import drop

    return await drop(of)


@app.command()
def backup(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Where to; a folder gets a new file.", show_default=False)
    ] = None,
    replace: Replace = False,
    json: AsJson = False,
) -> None:
    """Write everything into one file, beside a running server.

    It holds the conversations with all their parts, the settings, the models and the rules, and prints the file's
    name. By default that is a new one in the folder `backups` of the data folder.
    """
    from pilothouse.cli import backups

    leave(lambda: backups.backup(file, replace=replace, as_json=json))


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
    from pilothouse.cli import backups

    leave(lambda: backups.restore(file, replace=replace, as_json=json))


@app.command()
def retention(
    days: Annotated[int | None, given(min=1, help="Remove what nobody touched for so many days.")] = None,
    megabytes: Annotated[int | None, given(min=1, help="Remove the longest untouched above this size.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Keep everything.")] = False,
    json: AsJson = False,
) -> None:
    """Show what is removed by itself, or change it.

    Without options it only shows what would be removed now. A running server does it once a day, for good, and never
    where something is at work or waits for you.
    """
    from pilothouse.cli import backups

    leave(lambda: backups.retention(days, megabytes, off=off, as_json=json))


@command(app)
async def settings(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this one.", show_default=False)] = None,
    value: Annotated[
        str | None,
        typer.Argument(metavar="VALUE", help="Its new value; `default` takes back what you set.", show_default=False),
    ] = None,
    export: Annotated[
        Path | None, given(metavar="FOLDER", help="Write settings, models and rules of PostgreSQL there as files.")
    ] = None,
    taken: Annotated[
        Path | None, given("--import", metavar="FOLDER", help="Take such files over into PostgreSQL.")
    ] = None,
    json: AsJson = False,
) -> int:
    """Show the settings, or change one: default_mode ask."""
    if export is not None or taken is not None:
        from pilothouse.cli.settings_files import settings_files

        return settings_files(export, taken)
    from pilothouse.cli.settings import settings

    return await settings(name, value, as_json=json)


@command(app)
async def usage(
    days: Annotated[int, typer.Option(help="How many days back, with today.")] = limits.USAGE_DAYS_SHOWN,
    json: AsJson = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print a table for other programs.")] = False,
) -> int:
    """Show what models were asked for, and what it cost, by day.

    It counts answers, summaries and titles, also of conversations that are gone.
    """
    from pilothouse.cli.usage import usage

    return await usage(days, as_json=json, as_csv=csv)


@command(app)
async def runs(
    status: Annotated[str, typer.Option(metavar="STATES", help=_STATES)] = "queued,running,waiting",
    limit: Annotated[int, typer.Option(min=1, max=limits.PAGE_ITEMS, help="How many at most.")] = 100,
    json: AsJson = False,
) -> int:
    """List what is at work and what waits."""
    from pilothouse.cli.operations import runs

    return await runs(status, limit, as_json=json)


@command(app)
async def processes(json: AsJson = False) -> int:
    """List the processes that serve and work here."""
    from pilothouse.cli.operations import processes

    return await processes(as_json=json)


@command(app)
async def doctor(json: AsJson = False) -> int:
    """Say what works, what does not, and the fix.

    It looks at what is installed, found and reachable. Ends with 1 when something is broken.
    """
    from pilothouse.cli.doctor import doctor

    return await doctor(as_json=json)


for _name, (_module, _help) in GROUPS.items():
    app.add_typer(new_app(_help, cls=LateGroup), name=_name)
