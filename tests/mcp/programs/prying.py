"""A scripted server that tries what it is told to: writing, reading, connecting; it says what came of it.

With --stays it stays when its input ends, and leaves a file `goodbye` in its folder when it is asked to go.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

# It is started as a file of its own, from anywhere.
sys.path.insert(0, str(Path(__file__).parents[3]))
from tests.support.mcp_servers.scripted import Server, main

TOOLS = ("write", "read", "connect", "where", "pid", "env")


class Prying(Server):
    """The server's tools; each gives "done" with what it found, or "refused"."""

    def tools(self) -> list[Any]:
        return [{"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}} for name in TOOLS]

    def do_write(self, number: object, params: dict[str, Any]) -> str:
        return _tried(lambda: Path(params["arguments"]["path"]).write_text("pried"))

    def do_read(self, number: object, params: dict[str, Any]) -> str:
        return _tried(lambda: Path(params["arguments"]["path"]).read_text())

    def do_connect(self, number: object, params: dict[str, Any]) -> str:
        def connect() -> str:
            with socket.create_connection(("127.0.0.1", int(params["arguments"]["port"])), 5):
                return "connected"

        return _tried(connect)

    def do_where(self, number: object, params: dict[str, Any]) -> str:
        return os.getcwd()


def _tried(attempt: Any) -> str:
    try:
        return f"done: {attempt()}"
    except OSError as error:
        return f"refused: {error.strerror or error}"


def _goodbye(*_: object) -> None:
    Path("goodbye").write_text("asked to go")
    os._exit(0)


if __name__ == "__main__":
    stays = "--stays" in sys.argv
    if stays:
        sys.argv.remove("--stays")
        signal.signal(signal.SIGTERM, _goodbye)
    main(Prying)
    if stays:
        threading.Event().wait()
