"""`pilothouse serve` and `pilothouse open`: the page and the API, and a way in."""

from __future__ import annotations

import os
import sys
import threading

from pilothouse.cli.terminal import messages, output
from pilothouse.connection import connect_server
from pilothouse.types.errors import PilothouseError

# A browser that runs already takes the link within this; the command then ends without it.
_BROWSER_START = 5.0


async def serve(host: str, port: int | None, *, browser: bool, expose_to_network: bool) -> int:
    """Serve until told to stop; being told is not a failure."""
    if not os.environ.get("PILOTHOUSE_DATABASE_URL"):
        await _refuse_a_second()
    from pilothouse.wiring import bind, run_server

    def ready(url: str, link: str, note: str) -> None:
        if note:
            messages().line(note)
        output().line(f"Pilothouse is at {url} — open {link}")
        if browser:
            open_browser(link)

    await run_server(bind(host, port, expose_to_network=expose_to_network), ready)
    return 0


async def _refuse_a_second() -> None:
    async with connect_server() as running:
        if running is not None:
            raise PilothouseError(
                "data_locked",
                f"A Pilothouse server runs on this data folder already, at {running.url}.",
                fix="Open it with `pilothouse open`, or set PILOTHOUSE_HOME to another folder for a second one.",
            )


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
