"""`pilothouse serve` and `pilothouse open`: the page and the API, and a way in."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Literal

import msgspec

from pilothouse.cli import garbage
from pilothouse.cli.terminal import messages, output
from pilothouse.cli.wrapping import say
from pilothouse.connection import connect_server, wait_until_gone
from pilothouse.types import limits
from pilothouse.types.address import ServerAddress
from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    from pilothouse.wiring import Role, Stop

# A browser that runs already takes the link within this; the command then ends without it.
_BROWSER_START = 5.0
PLAIN_HTTP = (
    "Others on the network can reach this server, and it speaks plain HTTP: whoever is on the way can read everything, "
    "your sign-in too. Give it a certificate with --tls-cert and --tls-key."
)


ServeRole = Literal["all", "web", "worker"]


class ServeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server is wanted, and whether a browser is."""

    host: str = "127.0.0.1"
    port: int | None = None
    expose_to_network: bool = False
    browser: bool = True
    # A certificate's file and its key's; None for plain HTTP.
    certificate: tuple[str | None, str | None] = (None, None)
    # What this process does of what a server does.
    role: ServeRole = "all"
    # How many runs it works on at once; None for as many as the settings say.
    slots: int | None = None
    # Whether it starts local servers, commands and terminals.
    programs: bool = True

    def met_by(self, address: ServerAddress) -> bool:
        """Return whether a server at this address is one."""
        elsewhere = self.host != "127.0.0.1" or self.expose_to_network or self.certificate != (None, None)
        return not elsewhere and self.port in (None, 0, address.port)


async def serve(options: ServeOptions) -> int:
    """Serve until told to stop, which is not a failure; beside a server, show the way to that one."""
    _check_role(options)
    from pilothouse.wiring import stop_on_signals

    with stop_on_signals() as stop:
        if os.environ.get("PILOTHOUSE_DATABASE_URL"):
            # Several may share it.
            await _serve_here(options, None, stop)
        else:
            await _serve_folder(options, stop)
    return 0


async def _serve_folder(options: ServeOptions, stop: Stop) -> None:
    """Serve the data folder, which one process has at a time, once nobody else has it."""
    before: ServerAddress | None = None
    end, quiet_until = (time.monotonic() + each for each in (limits.FOLDER_PATIENCE, limits.FOLDER_QUIET))
    from pilothouse.wiring import unless_stopped

    while not stop.is_set():
        waiting = asyncio.ensure_future(_let_go_first(options, before))
        if not await unless_stopped(waiting, stop):
            return
        if (other := waiting.result()) is not None:
            if other.kind == "server":
                return
            before, now = other, time.monotonic()
            end, quiet_until = now + limits.FOLDER_PATIENCE, now + limits.FOLDER_QUIET
        try:
            await _serve_here(options, before, stop)
        except PilothouseError as error:
            passing = _by_another(error)
            if passing.code != "data_locked" or time.monotonic() > end:
                raise passing from None
            # Someone is just coming or going.
            if time.monotonic() > quiet_until:
                quiet_until = end
                say(messages(), f"{passing.message} Waiting until it ends, {limits.FOLDER_PATIENCE:.0f} s at most.")
            await unless_stopped(asyncio.ensure_future(asyncio.sleep(limits.FOLDER_RETRY)), stop)
        else:
            return


def _check_role(options: ServeOptions) -> None:
    from pilothouse.wiring.host import check_role

    if options.role == "web" and options.slots is not None:
        raise PilothouseError(
            "bad_request",
            "--slots has no place beside --role web: such a process serves the page and works on no run.",
            fix="Give --slots to the workers.",
        )
    if not options.programs and options.role != "worker":
        raise PilothouseError(
            "bad_request",
            "--no-programs goes with --role worker only: what such a worker does not start, others do.",
            fix="Leave it out, or add --role worker.",
        )
    if options.slots is not None and not 1 <= options.slots <= limits.RUNS_AT_ONCE_MOST:
        message = f"--slots goes from 1 to {limits.RUNS_AT_ONCE_MOST}, not {options.slots}."
        raise PilothouseError("bad_request", message, fix="Give another number, or leave it out.")
    if options.role != "all":
        check_role(options.role, os.environ.get("PILOTHOUSE_DATABASE_URL") or None)


def _by_another(error: PilothouseError) -> PilothouseError:
    """Return why there can be no server; a port may be held by another of ours that is leaving the folder."""
    from pilothouse.wiring import folder_holder

    if error.code != "port_taken" or not (holder := folder_holder()):
        return error
    port = error.message.removesuffix(" by another program.")
    holder = f"{holder[:1].lower()}{holder[1:]}"
    fix = "End it, or choose another port with --port and another folder with PILOTHOUSE_HOME."
    return PilothouseError("data_locked", f"{port}: {holder}", fix=fix)


async def _let_go_first(options: ServeOptions, before: ServerAddress | None) -> ServerAddress | None:
    """Return who has the folder, None when nobody does; a command is waited for, a server stays."""
    other = await _show_the_other(options, before)
    if other is not None and other.kind == "command":
        await wait_until_gone(other)
    return other


async def _show_the_other(options: ServeOptions, before: ServerAddress | None) -> ServerAddress | None:
    """Say where the page is if someone has the folder, and return who that is."""
    async with connect_server() as running:
        other = running.address if running is not None else None
        if running is None or other is None:
            return None
        if other.kind == "server" and not options.met_by(other):
            raise PilothouseError(
                "data_locked",
                f"A Pilothouse server runs on this data folder already, at {other.url}.",
                fix="Open it with `pilothouse open`, stop it first, or set PILOTHOUSE_HOME for a second one.",
            )
        if before is not None and before.url == other.url:
            # Another took over in the same place; an open page does not notice.
            return other
        _say_where(other.url, await running.new_link(), browser=options.browser)
        if other.kind == "command":
            say(messages(), f"Another command (process {other.pid}) serves it; when that ends, this one does.")
        return other


async def _serve_here(options: ServeOptions, before: ServerAddress | None, stop: Stop) -> None:
    from pilothouse.wiring import bind, run_server

    def ready(url: str, link: str, note: str) -> None:
        garbage.started()
        if before is not None and before.url == url:
            say(messages(), f"The other command has ended; the server at {url} is this one now.")
            return
        if note:
            say(messages(), note)
        if options.role == "worker":
            output().line(f"Pilothouse works here; whether it is well is told at {url}/api/ready")
            return
        _say_where(url, link, browser=options.browser)

    # An open page finds us where whoever was here before has been.
    rather = before.port if before is not None and options.met_by(before) else None
    role: Role = "server" if options.role == "all" else options.role
    listener = bind(
        options.host,
        options.port,
        expose_to_network=options.expose_to_network,
        rather=rather,
        certificate=options.certificate,
        role=role,
    )
    if listener.exposed and listener.tls is None:
        say(messages(), PLAIN_HTTP)
    await run_server(listener, ready, stop, role=role, slots=options.slots, programs=options.programs)


def _say_where(url: str, link: str, *, browser: bool) -> None:
    output().line(f"Pilothouse is at {url} — open {link}")
    if browser:
        open_browser(link)


async def open_page(*, browser: bool) -> int:
    """Print a new one-time link of the running server and open it."""
    async with connect_server() as running:
        if running is None:
            raise PilothouseError(
                "server_away", "No Pilothouse server runs on this data folder.", fix="Start one: pilothouse serve"
            )
        link = await running.new_link()
    output().line(link)
    if browser and (opening := open_browser(link)):
        opening.join(_BROWSER_START)
    return 0


def open_browser(link: str) -> threading.Thread | None:
    """Open a browser where there is a screen, without waiting for it."""
    if not _has_screen():
        return None
    thread = threading.Thread(target=_open, args=(link,), daemon=True)
    thread.start()
    return thread


def _has_screen() -> bool:
    if sys.platform in ("win32", "darwin"):
        return not os.environ.get("SSH_CONNECTION")
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(link: str) -> None:
    import webbrowser

    try:
        webbrowser.open(link)
    except (webbrowser.Error, OSError):
        # The link is on the screen anyway.
        return
