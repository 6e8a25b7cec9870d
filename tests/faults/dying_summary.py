"""A conversation whose process kills itself while a large result is summed up.

    python -m tests.faults.dying_summary HOME CALLS

Says the ids of the conversation and of its run before it dies; CALLS has a line for each call of the tool.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from tests.support.summing_up import SUMMARY, looking, script, summing_up, until_summing_up

HELD = {"text": SUMMARY, "pieces": 4, "every": 60, "until": "/nowhere"}


async def main(home: Path, calls: Path) -> None:
    async with summing_up(home, script(HELD), looking(calls=calls)) as chat:
        sent = await chat.send()
        print(chat.id, sent.run_id, flush=True)
        await until_summing_up(chat, SUMMARY[:4])
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
