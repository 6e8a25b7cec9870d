"""`pilothouse mcp sign-in`: a person signs in to a server in a browser, which is sent back to this program."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from typing import Annotated, NamedTuple
from urllib.parse import urlsplit

import typer

from pilothouse.cli.options import ServerName, given
from pilothouse.cli.prompting import read_line, read_secret, read_unseen, someone_is_there
from pilothouse.cli.serve import open_browser
from pilothouse.cli.servers import find, try_server
from pilothouse.cli.sign_in_listener import come_back_to, is_answer, listening
from pilothouse.cli.terminal import Terminal, exact, exact_json, messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types import limits
from pilothouse.types.client_documents import client_document, document_problem
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.origins import is_loopback, origin_of
from pilothouse.types.servers import ServerView
from pilothouse.types.sign_ins import ProgramSignIn, SignInAnswer, SignInStart, SignInStarted, answer_of

Browser = Annotated[bool, given("--browser/--no-browser", help="Open the address in a browser, where there is one.")]
ClientId = Annotated[
    str, given("--client-id", help="The client that you registered with the issuer; its secret is asked for.")
]

Port = Annotated[
    int, given("--port", min=0, max=65_535, help="Come back to this port of 127.0.0.1, for issuers that insist on one.")
]
AsProgram = Annotated[
    bool, given("--client-credentials", help="Sign in as a program, without a person: with --client-id and its secret.")
]
DocumentAddress = Annotated[
    str | None,
    typer.Argument(metavar="ADDRESS", help="Where the document will be; by default what is set.", show_default=False),
]
PageAddresses = Annotated[
    list[str] | None,
    given("--at", metavar="URL", help="Where you use the page, if not on this machine; may be given again."),
]


class OwnClient(NamedTuple):
    """The client that the person registered with an issuer, and the port that it comes back to; nothing for neither."""

    id: str = ""
    secret: str = ""
    port: int = 0


_NOBODY = OwnClient()


async def sign_in(
    name: ServerName,
    browser: Browser = True,
    client_id: ClientId = "",
    port: Port = 0,
    client_credentials: AsProgram = False,
) -> int:
    """Sign in to a server that asks for it.

    A browser opens where you sign in, and comes back by itself. From a browser elsewhere, paste the address that you
    were sent back to.
    """
    if client_credentials and not client_id.strip():
        fix = f"`{shlex.join(['pilothouse', 'mcp', 'sign-in', name])} --client-credentials --client-id ID`"
        raise PilothouseError("bad_request", "A program signs in with a client id: name it.", fix=fix)
    async with connect_host() as api:
        server = await find(api, name)
        if client_credentials:
            body = ProgramSignIn(client_id=client_id, client_secret=read_secret("client secret"))
            signed_in = await api.servers.sign_in_program(LOCAL_OWNER, server.id, body)
        else:
            client = OwnClient(client_id, _secret() if client_id else "", port)
            signed_in = await through_browser(api, server, client, browser=browser)
        output().line(f"Signed in to {one_line(signed_in.name)}{_as_whom(signed_in)}.", "green")
        return await try_server(api, signed_in)


def _secret() -> str:
    """Return the secret of the person's client; some have none."""
    if sys.stdin.isatty():
        return (read_unseen("Client secret, empty for none: ") or "").strip()
    return sys.stdin.readline().strip()


async def sign_out(name: ServerName) -> int:
    """Sign out of a server, and delete its tokens.

    They are revoked where that is offered.
    """
    async with connect_host() as api:
        server = await find(api, name)
        if server.signed_in is None:
            raise PilothouseError("bad_request", f"Nobody is signed in to {server.name}.")
        await api.servers.sign_out(LOCAL_OWNER, server.id)
    messages().line(f"Signed out of {one_line(server.name)}.")
    return 0


async def client_document_of(address: DocumentAddress = None, at: PageAddresses = None) -> int:
    """Print the client document for an address of yours.

    Places that take the address of such a document as a client id let you sign in with it. Put what is printed at the
    address, say where with `pilothouse settings client_document ADDRESS`, and sign in.
    """
    async with connect_host() as api:
        kept = (await api.settings.get(LOCAL_OWNER)).client_document
    chosen = address or kept
    if not chosen:
        fix = "pilothouse mcp client-document https://…"
        raise PilothouseError("bad_request", "Say at which https address the document will be.", fix=fix)
    if problem := document_problem(chosen):
        raise PilothouseError("bad_request", problem)
    document = client_document(chosen, [*_here(), *map(_page_origin, at or ())])
    output().line(exact_json(json.dumps(document, indent=2, ensure_ascii=False)))
    if chosen != kept:
        messages().line(f"Once it is there: pilothouse settings client_document {shlex.quote(chosen)}")
    return 0


def _here() -> list[str]:
    """Return the origins of this machine: without a port for a listener, which has another one each time."""
    hosts = ("http://127.0.0.1", "http://localhost")
    return [*hosts, *(f"{host}:{limits.DEFAULT_PORT}" for host in hosts)]


def _page_origin(typed: str) -> str:
    """Return the origin of an address at which the page is used."""
    parts = urlsplit(origin_of(typed))
    if parts.scheme != "https" and not is_loopback(typed):
        message = f"A sign-in comes back to https, or to this machine; not to “{typed[: limits.TITLE_CHARS]}”."
        raise PilothouseError("bad_request", message, fix="Give the address that the browser shows, with https://.")
    port = {"https": ":443", "http": ":80"}[parts.scheme]
    return f"{parts.scheme}://{parts.netloc.removesuffix(port)}"


async def through_browser(
    api: ClientApi, server: ServerView, client: OwnClient = _NOBODY, *, browser: bool = True
) -> ServerView:
    """Send the person to sign in, and wait until they are back; raise one sentence when that comes to nothing."""
    aside = messages()
    async with listening(client.port) as listener:
        start = SignInStart(redirect_uri=listener.address, client_id=client.id, client_secret=client.secret)
        try:
            begun = await api.servers.begin_sign_in(LOCAL_OWNER, server.id, start)
        except PilothouseError as error:
            raise _with_way(error, server, client.port or limits.SIGN_IN_PORT) from None
        listener.expected.set_result(_state(begun))
        _tell(begun, aside)
        if browser:
            open_browser(begun.url)
        answer = await _answer(listener.arrived, begun, aside)
    return await api.servers.finish_sign_in(LOCAL_OWNER, SignInAnswer(address=answer))


def _with_way(error: PilothouseError, server: ServerView, port: int) -> PilothouseError:
    """Return a failure with what to type for it, where only a client of the person's own helps."""
    if error.code != "needs_client":
        return error
    again = f"`pilothouse mcp sign-in {server.slug} --client-id ID --port {port}`"
    there = f"It is sent back to {come_back_to(port)}, with {again}."
    return PilothouseError(error.code, error.message, fix=f"{error.fix} {there}")


def _tell(begun: SignInStarted, aside: Terminal) -> None:
    """Print what one should know before one leaves."""
    aside.line(f"{exact(begun.server)} asks you to sign in at {exact(begun.host)}.", "bold")
    # Where all of them are new, that says nothing.
    new = begun.added if len(begun.added) < len(begun.scopes) else ()
    for scope in begun.scopes:
        aside.line(f"  it may: {exact(scope)}{'  (new)' if scope in new else ''}", "dim")
    if begun.left_out:
        are = "is" if begun.left_out == 1 else "are"
        aside.line(f"  {begun.left_out} more that it names {are} not asked for: too long, or too many.", "dim")
    aside.line(f"Open this address within {begun.seconds / 60:g} minutes:")
    # Whole and alone, so that it can be copied.
    aside.line(f"  {exact(begun.url)}")


def _state(begun: SignInStarted) -> str:
    """Return the state that the answer of a sign-in must have: its own address carries it."""
    return answer_of(begun.url).get("state", "")


async def _answer(arrived: asyncio.Future[str], begun: SignInStarted, aside: Terminal) -> str:
    """Return the address that the browser was sent back to: it comes by itself, or the person pastes it."""
    waits: set[asyncio.Future[str | None]] = {asyncio.ensure_future(_arrival(arrived))}
    if someone_is_there(aside):
        waits.add(asyncio.ensure_future(_pasted(_state(begun), aside)))
    try:
        done, _ = await asyncio.wait(waits, timeout=begun.seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
        await asyncio.wait(waits)
    if not done:
        message = f"Authorization timed out after {begun.seconds / 60:g} minutes."
        raise PilothouseError("sign_in_failed", message, fix="Sign in again.")
    answer = next(iter(done)).result()
    if not answer or not answer.strip():
        raise PilothouseError("cancelled", "Nobody signed in.")
    return answer


async def _arrival(arrived: asyncio.Future[str]) -> str | None:
    return await arrived


async def _pasted(state: str, aside: Terminal) -> str | None:
    """Return the address that the person pastes; another than that of this sign-in is told, and asked for again."""
    while (typed := await read_line("Or paste where you were sent back to: ", aside)) and typed.strip():
        if is_answer(typed, state):
            return typed
        aside.line("That is not where this sign-in comes back to: paste the whole address of the tab.", "yellow")
    return None


def _as_whom(server: ServerView) -> str:
    account = server.signed_in.account if server.signed_in is not None else ""
    return f" as {one_line(account)}" if account else ""
