"""A conversation whose process kills itself while a command is looked at, set aside or undone.

    python -m tests.faults.dying_undo snapshot|aside|undo HOME WORK COMMAND

Says the ids of the conversation and of its run before it dies.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pilothouse.tools.files import restoring, steps
from pilothouse.tools.snapshots import mirror
from tests.behaviour.test_command_changes import command, freely, unasked
from tests.support.chats import ME, open_chat


def die_at(owner: Any, name: str, count: int) -> None:
    """Die once something was done so many times."""
    work, left = getattr(owner, name), [count]

    def dying(*arguments: Any, **named: Any) -> Any:
        result = work(*arguments, **named)
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
            signal.pause()
        return result

    setattr(owner, name, dying)


async def main(point: str, home: Path, work: Path, text: str) -> None:
    if point == "snapshot":
        die_at(mirror, "read", 2)
    elif point == "aside":
        die_at(steps.RemoveFile, "take", 1)
    async with open_chat(home, [command(text), "Done."], settings=unasked(work)) as chat:
        await freely(chat)
        sent = await chat.send()
        print(chat.id, sent.run_id, flush=True)
        await chat.settled(sent.run_id)
        die_at(restoring, "put_back", 3)
        await chat.api.changes.undo_run(ME, sent.run_id)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]))
