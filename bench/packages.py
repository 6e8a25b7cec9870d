"""The warm start and the memory of a server that is a package: pinned and installed, against npx and uvx in turn."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from bench.results import table, verdict
from pilothouse.mcp.packages.pins import wanted_of
from pilothouse.mcp.packages.rooms import rooms_in, started_as
from pilothouse.mcp.packages.tools import Tools
from pilothouse.types.servers import Package

SERVERS = {
    "npm": Package(type="npm", identifier="@modelcontextprotocol/server-everything"),
    "pypi": Package(type="pypi", identifier="mcp-server-time", requirements=("mcp<2",)),
}
STARTERS = {"npm": "npx", "pypi": "uvx"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}
# Seconds and a share of memory that the pinned one may take.
WARM, SHARE = 1.0, 0.5


def starter(kind: str) -> tuple[str, ...]:
    """Return what `npx -y` and `uvx --with` stand for, by the tools that the product finds: neither need be on PATH."""
    tools = Tools()
    if kind == "npm":
        return (*tools.node().npm, "exec", "--yes", "--")
    return (tools.uv(), "tool", "run", "--with", "mcp<2")


async def installed(package: Package, room: Path) -> tuple[tuple[str, ...], dict[str, str], float]:
    """Install a package as a server has it; return how it is started and how long that took."""
    rooms = rooms_in(room / "cache")
    began = time.monotonic()
    pin = await rooms.pin(package, room)
    assert pin is not None, wanted_of(package)
    unpacked = await rooms.installed(package, pin, room)
    argv, env = started_as(unpacked, (pin.program,), {})
    return argv, env, time.monotonic() - began


def started(argv: Sequence[str], env: Mapping[str, str]) -> tuple[float, int]:
    """Start a server; return the seconds until it greets, and the bytes that its processes share out then."""
    began = time.monotonic()
    process = subprocess.Popen(
        argv,
        env={**os.environ, **env},
        start_new_session=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO).encode() + b"\n")
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline(), f"{argv} does not greet"
        seconds = time.monotonic() - began
        one = psutil.Process(process.pid)
        return seconds, sum(each.memory_info().rss for each in (one, *one.children(recursive=True)))
    finally:
        for each in (*psutil.Process(process.pid).children(recursive=True), psutil.Process(process.pid)):
            each.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    for kind, package in SERVERS.items():
        rival = STARTERS[kind]
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            argv, env, took = asyncio.run(installed(package, Path(folder)))
            ways = {"pinned": (argv, env), rival: ((*starter(kind), package.identifier), dict[str, str]())}
            found: dict[str, list[tuple[float, int]]] = {name: [] for name in ways}
            for _ in range(options.rounds + 1):
                for name, way in ways.items():
                    found[name].append(started(*way))
        # The first of each fills caches.
        warm = {name: statistics.median(each[0] for each in all_of[1:]) for name, all_of in found.items()}
        memory = {name: statistics.median(each[1] for each in all_of[1:]) for name, all_of in found.items()}
        first = {"pinned": took, rival: found[rival][0][0]}
        rows = [(name, f"{first[name]:.1f} s", f"{warm[name]:.2f} s", f"{memory[name] / 1e6:.0f} MB") for name in found]
        title = f"{package.identifier}: first, warm (median of {options.rounds}), memory"
        table(title, rows)
        verdict(f"warm start, {kind}", warm["pinned"], WARM, " s")
        verdict(f"memory to {rival}", memory["pinned"] / memory[rival], SHARE)


if __name__ == "__main__":
    main()
