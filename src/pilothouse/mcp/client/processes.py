"""Processes of local servers: what they are given, who is alive, and how all of them come to an end.

A server may start others, and those may leave its process group. Everything that descends from it inherits a mark
in its environment, by which it is found again; where there is no /proc only the group is ended.
A server's pid is written down with the time it was started, so that the next start of the program finds what a
killed one left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from pilothouse.types import limits

MARK = "PILOTHOUSE_SERVER"
_PROC = Path("/proc")
# A killed process needs about this long to be gone.
_GONE = 0.005
# Of the person's own environment, what programs need to run and to reach the network as the person does.
_INHERITED = (
    "HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LANG", "TZ", "TMPDIR", "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
    "DOCKER_HOST", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "USERPROFILE", "PATHEXT",
)  # fmt: skip
# Where package runners are told their registry, cache and certificates.
_INHERITED_PREFIXES = ("LC_", "npm_config_", "NPM_CONFIG_", "UV_", "PIP_")
# These often carry a credential inside.
_NEVER = ("TOKEN", "PASSWORD", "SECRET", "_AUTH", "APIKEY", "API_KEY")


class Record(msgspec.Struct, frozen=True):
    """A server's process, written down, and the process that started it."""

    pid: int
    started: str
    mark: str
    host_pid: int
    host_started: str


def environment(declared: Mapping[str, str], mark: str, ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return what a server's process is given: what every program needs, and what was declared for it."""
    kept = {
        name: value
        for name, value in ours.items()
        if (name in _INHERITED or name.startswith(_INHERITED_PREFIXES))
        and not any(word in name.upper() for word in _NEVER)
    }
    return {**kept, **declared, MARK: mark}


def with_us(argv: Sequence[str]) -> list[str]:
    """Return a command that the system ends when we die, where it can do that."""
    keeper = shutil.which("setpriv", path=os.defpath) if sys.platform == "linux" else None
    # The one of a small system is another program and does not know the option.
    if keeper and Path(keeper).resolve().name != "setpriv":
        keeper = None
    return [keeper, "--pdeathsig", "KILL", "--", *argv] if keeper else list(argv)


def start_time(pid: int) -> str:
    """Return when a process was started, in the system's own count; empty when it is not alive or nobody can tell."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return ""
    # The name in the second field may hold spaces and brackets; the rest follows the last bracket.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def memory_of(pid: int) -> int | None:
    """Return the resident memory of a process and of its children, in bytes."""
    page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
    total = 0
    for one in (pid, *_children(pid)):
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int((_PROC / str(one) / "statm").read_text().split()[1]) * page
    return total or None


def _children(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for child in (_PROC / str(pid) / "task" / str(pid) / "children").read_text().split():
            yield int(child)
            yield from _children(int(child))


def marked(mark: str) -> list[int]:
    """Return the processes that carry a mark, ours excepted."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def signal_sandboxed(pid: int, number: signal.Signals) -> None:
    """Send a signal to what a process holds, all that descends from it; to that one itself while it holds nothing."""
    children = tuple(_children(pid))
    if not children:
        signal_group(pid, number)
    for child in children:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(child, number)


def signal_group(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process and everything in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def kill_marked(mark: str) -> None:
    """End what a server left behind outside of its group, and what that starts meanwhile; wait until it is gone."""
    until = time.monotonic() + limits.PROCESS_GRACE
    while found := [pid for pid in marked(mark) if start_time(pid)]:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > until:
            return
        time.sleep(_GONE)


class Ledger:
    """The processes that are alive, on disk, for whoever starts after us."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, pid: int, mark: str) -> None:
        record = Record(pid, start_time(pid), mark, os.getpid(), start_time(os.getpid()))
        # A full disk is no reason not to start a server.
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._path(pid).write_bytes(msgspec.json.encode(record))

    def strike(self, pid: int) -> None:
        self._path(pid).unlink(missing_ok=True)

    def reap(self) -> int:
        """End what a program that died has left running; return how many servers that were."""
        ended = 0
        for path in self._folder.glob("*.json") if self._folder.is_dir() else ():
            try:
                record = msgspec.json.decode(path.read_bytes(), type=Record)
            except (OSError, msgspec.MsgspecError):
                path.unlink(missing_ok=True)
                continue
            if start_time(record.host_pid) == record.host_started and record.host_started:
                continue
            ended += self._end(record)
            path.unlink(missing_ok=True)
        return ended

    def _end(self, record: Record) -> bool:
        alive = bool(record.started) and start_time(record.pid) == record.started
        if alive:
            signal_group(record.pid, signal.SIGKILL)
        left = marked(record.mark)
        kill_marked(record.mark)
        return alive or bool(left)

    def _path(self, pid: int) -> Path:
        return self._folder / f"{pid}.json"


async def end(pid: int, mark: str, exited: asyncio.Future[int], *, sandboxed: bool = False) -> None:
    """End a process whose input was closed, and all that descends from it: politely, then firmly, then for good.

    A process that only holds the server in a sandbox is told last; with it everything inside ends at once.
    """
    politely, firmly = (signal_sandboxed, signal.SIGTERM) if sandboxed else (signal_group, signal.SIGKILL)
    for tell, number in ((politely, signal.SIGTERM), (signal_group, firmly)):
        await asyncio.wait([exited], timeout=limits.PROCESS_GRACE)
        if exited.done():
            break
        tell(pid, number)
    if sandboxed:
        await asyncio.wait([exited], timeout=limits.PROCESS_GRACE)
    # Those that outlived it: first in its group, then elsewhere.
    signal_group(pid, signal.SIGKILL)
    await asyncio.to_thread(kill_marked, mark)
    await asyncio.wait([exited], timeout=limits.PROCESS_GRACE)
