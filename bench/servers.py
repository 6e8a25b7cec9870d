"""The first token of `pilothouse run` with eight local servers, one slow by 3 s and one silent, against none."""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from bench.first_token import Command, until_first_byte
from bench.hosting import add_server, learn_tools
from bench.processes import PILOTHOUSE, ROOT, endpoint, write_models
from bench.results import table, verdict
from pilothouse.wiring import open_host

MODEL = "burst-20"
ECHO = str(ROOT / "bench" / "echo_server.py")
# How long each takes before it answers anything.
DELAYS = ("0", "0", "0", "0", "0", "0", "3", "never")
# What of the machine's own scatter is forgiven.
MOST = 1.05


async def add_servers(home: Path, *, known: bool) -> None:
    """Configure the servers; have the tools of those that answer known, as after the first time, or not."""
    async with open_host(home) as host:
        added = [
            await add_server(host.api, f"server {number}", [sys.executable, ECHO, delay])
            for number, delay in enumerate(DELAYS)
        ]
        for server_id in added[:6] if known else ():
            await learn_tools(host.api, server_id)


def prepared(folder: Path, url: str) -> dict[str, Path]:
    """Return a data folder without servers, one where they were never started, and one where they were."""
    homes = {name: folder / name for name in ("none", "new", "known")}
    for home in homes.values():
        write_models(home, url, [MODEL])
        if home.name != "none":
            asyncio.run(add_servers(home, known=home.name == "known"))
    return homes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    command: Command = [PILOTHOUSE, "run", "hi", "--model", MODEL]
    with tempfile.TemporaryDirectory(prefix="bench-") as temporary, endpoint() as url:
        homes = prepared(Path(temporary), url)
        times: dict[str, list[float]] = {name: [] for name in homes}
        for _ in range(options.rounds + 1):
            for name, home in homes.items():
                if name == "new":
                    shutil.rmtree(home / "cache" / "mcp", ignore_errors=True)
                environment = {**os.environ, "PILOTHOUSE_HOME": str(home)}
                times[name].append(until_first_byte(command, environment))
    # The first of each makes the database.
    middle = {name: statistics.median(found[1:]) for name, found in times.items()}
    words = {"none": "no servers", "new": "8 servers, never started before", "known": "8 servers, tools known"}
    table(
        f"start to first token, median of {options.rounds}",
        [(words[name], f"{value * 1000:.0f} ms", f"{value / middle['none']:.2f}") for name, value in middle.items()],
    )
    verdict("8 new servers to none", middle["new"] / middle["none"], MOST)
    verdict("8 known servers to none", middle["known"] / middle["none"], MOST)


if __name__ == "__main__":
    main()
