"""What the programs that are compared share: `PROGRAM URL MODEL CONVERSATIONS AT_ONCE SERVER...`.

Each holds conversations with the same model server and the same echo server, some of them at once, and prints how long
each took, how long all took, the processor time and the memory at its peak.
"""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable

URL, MODEL = sys.argv[1], sys.argv[2]
CONVERSATIONS, AT_ONCE = int(sys.argv[3]), int(sys.argv[4])
SERVER = sys.argv[5:]
WARM_UP = 2
PROMPT = "Go."


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def measure(converse: Callable[[], Awaitable[str]]) -> None:
    """Hold the conversations and print what they took; a wrong answer is no measurement."""
    for _ in range(WARM_UP):
        await checked(converse)
    gate = asyncio.Semaphore(AT_ONCE)
    times: list[float] = []

    async def one() -> None:
        async with gate:
            began = time.perf_counter()
            await checked(converse)
            times.append(time.perf_counter() - began)

    began, used = time.perf_counter(), cpu()
    async with asyncio.TaskGroup() as group:
        for _ in range(CONVERSATIONS):
            group.create_task(one())
    told = {"times": times, "wall": time.perf_counter() - began, "cpu": cpu() - used}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**told, "peak_mb": peak}))


async def checked(converse: Callable[[], Awaitable[str]]) -> None:
    answer = await converse()
    if "done" not in answer:
        raise SystemExit(f"the answer was {answer!r}")
