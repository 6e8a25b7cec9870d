"""A conversation whose process kills itself while older turns are summed up, and another message waits behind that.

    python -m tests.faults.dying_compaction HOME

Says the ids of the conversation and of the two runs before it dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from pilothouse.types.api import CompactionWish
from tests.support.chats import ME, open_chat
from tests.support.waiting import eventually

SUMMARY = "They agreed on port 8123."
HELD = {"match": "Person: ", "steps": [{"wait": 60, "until": "/nowhere"}, SUMMARY]}


async def main(home: Path) -> None:
    async with open_chat(home, [HELD, "Port 8123, then."]) as chat:
        await chat.say("Which port?")
        asked = await chat.api.runs.compact(ME, chat.id, CompactionWish(keep="the port"))
        behind = await chat.send("Which was it?")
        print(chat.id, asked.run_id, behind.run_id, flush=True)
        await eventually(lambda: chat.items("compaction"), "the summary to begin")
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
