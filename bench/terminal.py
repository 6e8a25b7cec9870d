"""Terminals and commands: bytes through a pseudo-terminal against a bare read loop, and what the sandbox costs."""

from __future__ import annotations

import argparse
import asyncio
import os
import pty
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvloop

from bench.results import table, verdict
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.types.terminals import SandboxKind, TerminalSettings

LINE = "A line of output as programs write them, neither short nor long; 80 characters."
KINDS: tuple[SandboxKind, ...] = ("bubblewrap", "landlock", "none")


def flood(path: Path, megabytes: int) -> int:
    """Write a file of lines, to be printed; return how many bytes a terminal makes of it."""
    lines = megabytes * 1024 * 1024 // (len(LINE) + 1)
    path.write_text(f"{LINE}\n" * lines)
    return lines * (len(LINE) + 2)


def raw_seconds(path: Path) -> float:
    """Return how long reading and throwing away takes, in the shortest loop there is."""
    master, slave = pty.openpty()
    began = time.perf_counter()
    child = subprocess.Popen(["cat", str(path)], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    try:
        while os.read(master, 64 * 1024):
            pass
    except OSError:
        # Linux says with an error that the last writer is gone.
        pass
    child.wait()
    os.close(master)
    return time.perf_counter() - began


async def session_seconds(terminals: Terminals, folder: Path, name: str, expected: int) -> float:
    """Return how long the same takes in a session that is recorded, with a reader that is sent everything."""
    await terminals.open_terminal(name, str(folder))
    session = terminals.session(name)
    await session.wait_quiet()
    start, got = session.ring.end, 0
    began = time.perf_counter()
    await terminals.type(name, b"cat lines.txt\r")
    async for _, piece in terminals.output(name, start):
        got += len(piece)
        if got >= expected:
            break
    taken = time.perf_counter() - began
    await terminals.close_terminal(name)
    return taken


async def throughput(folder: Path, megabytes: int, rounds: int) -> None:
    """Compare megabytes a second."""
    work = folder / "work"
    expected = flood(work / "lines.txt", megabytes)
    terminals = Terminals(Sandbox(folder / "home", TerminalSettings), folder / "home" / "recordings")
    raw, ours = [], []
    for number in range(rounds):
        raw.append(await asyncio.to_thread(raw_seconds, work / "lines.txt"))
        ours.append(await session_seconds(terminals, work, f"c{number}", expected))
    await terminals.close()
    speeds = [expected / 1024**2 / statistics.median(taken) for taken in (raw, ours)]
    rows = [
        ("", "MB/s"),
        ("bare read loop", f"{speeds[0]:.1f}"),
        ("session: recorded, with a reader", f"{speeds[1]:.1f}"),
    ]
    table(f"{megabytes} MB through a pseudo-terminal, median of {rounds}", rows)
    verdict("a bare loop to a session", speeds[0] / speeds[1], 2.0)


async def median(times: int, work: Callable[[], Awaitable[object]]) -> float:
    """Return the middle time of a piece of work, in milliseconds."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        await work()
        taken.append((time.perf_counter() - began) * 1_000)
    return statistics.median(taken)


async def bare(folder: Path) -> None:
    """Start a program and wait for it, without anything around it."""
    child = await asyncio.create_subprocess_exec("true", cwd=folder, stdin=subprocess.DEVNULL)
    await child.wait()


async def cost(folder: Path, times: int) -> None:
    """Compare one command that does nothing."""
    work, home = folder / "work", folder / "home"
    plain = await median(times, lambda: bare(work))
    rows = [("", "ms", "more than bare"), ("bare", f"{plain:.1f}", "")]
    found: dict[str, float] = {}
    for kind in KINDS:
        sandbox = Sandbox(home, TerminalSettings, only=kind)
        if sandbox.kind() != kind:
            continue
        runner = SandboxRunner(sandbox)
        found[kind] = await median(times, lambda runner=runner: runner.run(["true"], str(work), 10.0))  # type: ignore[misc]
        name = kind if kind != "none" else "held by nothing, but ended whole"
        rows.append((name, f"{found[kind]:.1f}", f"{found[kind] - plain:.1f}"))
        sandbox.close()
    table(f"One command, median of {times}", rows)
    if "bubblewrap" in found:
        verdict("bubblewrap", found["bubblewrap"] - plain, 15.0, " ms more than bare")


async def measure(folder: Path, megabytes: int, times: int) -> None:
    """Measure both."""
    for name in ("work", "home"):
        (folder / name).mkdir()
    await throughput(folder, megabytes, 3)
    await cost(folder, times)


def main() -> None:
    """Read the options and measure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=32)
    options.add_argument("--times", type=int, default=50)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        uvloop.run(measure(Path(folder), given.megabytes, given.times))


if __name__ == "__main__":
    main()
