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

from tests.support.summary_chats import SUMMARY, look_tool, open_summary_chat, summary_turns, wait_for_summary

HELD = {"text": SUMMARY, "pieces": 4, "every": 60, "until": "/nowhere"}


async def main(home: Path, calls: Path) -> None:
    async with open_summary_chat(home, summary_turns(HELD), look_tool(calls=calls)) as chat:
        sent = await chat.send()
        print(chat.id, sent.run_id, flush=True)
        await wait_for_summary(chat, SUMMARY[:4])
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
