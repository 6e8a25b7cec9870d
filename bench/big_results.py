"""Large results through the whole program: one line of 50 MB over stdio, and 20 results of 1 MB in a conversation."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from bench.hosting import add_server, converse, learn_tools
from bench.processes import ROOT
from bench.results import table, verdict
from pilothouse.host.service import HostService
from pilothouse.types.api import ModelInput
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.wiring import open_host

ECHO = str(ROOT / "bench" / "echo_server.py")
MEGABYTE = 1_000_000
SIZES = (1, 5, 10, 25, 50)
# Enough for all results as the model gets them: a summary in between would be measured too.
WINDOW = 10_000_000


class Lag:
    """The longest time for which the event loop did nothing else."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def watch(self) -> None:
        """Look again and again."""
        while True:
            began = time.perf_counter()
            await asyncio.sleep(0.001)
            self.worst = max(self.worst, time.perf_counter() - began - 0.001)


def peak() -> float:
    """Return the most memory there was, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def ask(api: HostService, folder: Path, sizes: list[int]) -> float:
    """Let a scripted model call for results of these sizes, one after another; return the seconds it took."""
    turns = [[{"call": "bench__echo", "arguments": {"text": f"bytes:{size}"}}] for size in sizes]
    script = folder / f"{sizes[0]}x{len(sizes)}.json"
    await asyncio.to_thread(script.write_text, json.dumps({"turns": [*turns, "Done."]}))
    name = f"m{sizes[0]}x{len(sizes)}"
    model = ModelInput(name=name, id=name, provider="scripted", model=str(script), context_window=WINDOW)
    await api.models.add(ME, model)
    began = time.perf_counter()
    outcome = await converse(api, name)
    if outcome != "done":
        raise SystemExit(outcome)
    return time.perf_counter() - began


async def measure(folder: Path) -> None:
    """Measure both and print them."""
    async with open_host(folder / "home", role="server") as host:
        api = host.api
        await learn_tools(api, await add_server(api, "bench", [sys.executable, ECHO]))
        await ask(api, folder, [1000])
        lag = Lag()
        watching = asyncio.create_task(lag.watch())
        before = peak()
        await ask(api, folder, [MEGABYTE + number for number in range(20)])
        grown = peak() - before
        rows, worst, per_megabyte = [], 0.0, []
        for size in SIZES:
            lag.worst = 0.0
            taken = await ask(api, folder, [size * MEGABYTE])
            rows.append((f"{size} MB", f"{taken * 1000:.0f} ms", f"lag {lag.worst * 1000:.0f} ms", f"{peak():.0f} MB"))
            worst = max(worst, lag.worst)
            per_megabyte.append(taken / size)
        watching.cancel()
        await asyncio.wait([watching])
    table("one result line, from message to end of run", rows)
    table("20 results of 1 MB in one conversation", [("memory beyond what there was", f"{grown:.0f} MB")])
    verdict("50 MB to 10 MB, per megabyte", per_megabyte[-1] / per_megabyte[2], 1.5)
    verdict("longest lag of the event loop", worst * 1000, 100, " ms")


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        uvloop.run(measure(Path(folder)))


if __name__ == "__main__":
    main()
