"""A host to which many messages come while its disk is busy with the first: how often is the log synced for them all?

    python -m tests.faults.messages_at_once HOME NOTES COUNT

`NOTES` is the folder of `unsynced_disk.Disk`; its `delay` is a named pipe here, at which every fsync waits until
someone opens the other end. Prints how often the log was synced until the last message was accepted.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

from pilothouse.store.writer import Unit, Writer
from pilothouse.types.api import NewConversation, NewMessage
from pilothouse.wiring import open_host
from tests.support.chats import ME


class Messages:
    """Counts the messages that were given to the writer, and the syncs when each of them was on disk."""

    def __init__(self, log: Path, ids: list[str]) -> None:
        self._log = log
        self._waiting = set(ids)
        self.all_given = asyncio.Event()
        self.syncs: list[int] = []

    def count_syncs(self) -> int:
        return sum(line.endswith("/pilothouse.db-wal") for line in self._log.read_text().splitlines())

    def watch(self) -> None:
        write = Writer.write

        async def watched(writer: Writer, unit: Unit[object], *, promised: bool = True, key: str = "") -> object:
            if key not in self._waiting:
                return await write(writer, unit, promised=promised, key=key)
            self._waiting.remove(key)
            written = asyncio.ensure_future(write(writer, unit, promised=promised, key=key))
            if not self._waiting:
                # Its turn comes first: then it is in the queue.
                asyncio.get_running_loop().call_soon(self.all_given.set)
            done = await written
            self.syncs.append(self.count_syncs())
            return done

        Writer.write = watched  # type: ignore[method-assign, assignment]


async def main(home: Path, notes: Path, count: int) -> None:
    async with open_host(home) as host:
        made = [await host.api.conversations.create(ME, NewConversation(title=str(n))) for n in range(count)]
        ids = [conversation.id for conversation in made]
        messages, gate = Messages(notes / "log", ids), notes / "delay"
        messages.watch()
        before = messages.count_syncs()
        os.mkfifo(gate)
        script = notes / "script.json"
        script.write_text(json.dumps({"turns": [{"text": "Yes."}]}))
        message = NewMessage(text="Go", model_id=f"scripted:{script}")
        sent = [asyncio.ensure_future(host.api.runs.post_message(ME, one, message)) for one in ids]
        given = asyncio.ensure_future(messages.all_given.wait())
        await asyncio.wait([given, *sent], return_when=asyncio.FIRST_COMPLETED)
        assert given.done(), [one.result() for one in sent if one.done()]
        # Opening blocks until an fsync waits at the pipe.
        opened = await asyncio.to_thread(os.open, gate, os.O_WRONLY)
        gate.unlink()
        os.close(opened)
        await asyncio.gather(*sent)
        print(max(messages.syncs) - before, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
