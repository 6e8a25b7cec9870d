"""A line to a database elsewhere: everything takes a while on its way, and round trips are counted.

A process of its own, so that what it takes of the processor is nobody else's.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class _Counter:
    """How often whoever connected said something after an answer: each is a round trip."""

    said = 0


class _End(asyncio.Protocol):
    """One end of a connection: what comes in here goes out at the other, later."""

    def __init__(self, delay: float, counter: _Counter | None) -> None:
        self._delay = delay
        # Of the end at which the questions come in.
        self._counter = counter
        self._transport: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self.other: _End | None = None
        self.spoke_last = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        for data in self._early:
            transport.write(data)
        self._early.clear()

    def data_received(self, data: bytes) -> None:
        other = self.other
        assert other is not None
        if not self.spoke_last and self._counter is not None:
            self._counter.said += 1
        self.spoke_last, other.spoke_last = True, False
        asyncio.get_running_loop().call_later(self._delay, other.give, data)

    def connection_lost(self, error: Exception | None) -> None:
        if self.other is not None:
            asyncio.get_running_loop().call_later(self._delay, self.other.close)

    def give(self, data: bytes) -> None:
        """Let data out at this end."""
        if self._transport is None:
            self._early.append(data)
        elif not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """End this end."""
        if self._transport is not None:
            self._transport.close()


async def _serve(port: int, milliseconds: float) -> None:
    loop, counter, opening = asyncio.get_running_loop(), _Counter(), set[asyncio.Task[object]]()

    def connected() -> _End:
        near, far = _End(milliseconds / 1000, counter), _End(milliseconds / 1000, None)
        near.other, far.other = far, near
        task: asyncio.Task[object] = asyncio.ensure_future(loop.create_connection(lambda: far, "127.0.0.1", port))
        opening.add(task)
        task.add_done_callback(opening.discard)
        return near

    server = await loop.create_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(counter.said, flush=True)


class SlowLine:
    """Such a line at work."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.port = int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def round_trips(self) -> int:
        """Return how many there were so far."""
        assert self._process.stdin is not None
        self._process.stdin.write("?\n")
        self._process.stdin.flush()
        return int(self._line())


@contextmanager
def open_slow_line(url: str, milliseconds: float) -> Iterator[tuple[SlowLine, str]]:
    """Put such a line before a database, so many milliseconds each way; give it, and the URL that leads through it."""
    authority, _, name = url.rpartition("/")
    host, _, port = authority.rpartition(":")
    command = [sys.executable, "-m", "tests.faults.slow_line", port, str(milliseconds)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            line = SlowLine(process)
            yield line, f"{host}:{line.port}/{name}"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]), float(sys.argv[2])))
