"""MCP servers that want a sign-in, as programs, with the OAuth of the official SDK and of FastMCP."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tests.support.ports import free_port
from tests.support.real_servers import python_program, start_program_on_port

_FOLDER = Path(__file__).parent


@contextmanager
def start_sign_in_server(kind: Literal["sdk", "fastmcp"], *arguments: str) -> Iterator[str]:
    """Start a server that lets in who signed in; yields its origin."""
    port = free_port()
    command = python_program("python", str(_FOLDER / f"{kind}_sign_in.py"), str(port), *arguments)
    with start_program_on_port(command, port):
        yield f"http://127.0.0.1:{port}"
