"""A server as a process of ours: messages are lines on its standard input and output, its log is standard error."""

from __future__ import annotations

import asyncio
import contextlib
import re
import signal
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

import msgspec

from pilothouse.mcp.client.channel import ChannelError, Deliver, Garbage, Incoming, Outgoing, RequestId
from pilothouse.mcp.client.large_messages import read_large
from pilothouse.mcp.client.processes import Ledger, end, environment, signal_group, signal_sandboxed, with_us
from pilothouse.mcp.client.transports.arrivals import arrivals
from pilothouse.mcp.client.transports.pending_calls import PendingCalls
from pilothouse.types import limits
from pilothouse.types.server_sandbox import SandboxedProgram

_BOM = b"\xef\xbb\xbf"
# The id of an answer that cannot be read otherwise; it stands near the beginning or the end.
_ID = re.compile(rb'"id"\s*:\s*(\d{1,15})\s*[,}]')
_NEAR = 4_096


def _nothing(_: str) -> None:
    """Hear a line and do nothing."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What to start, exactly."""

    # The program's absolute path and its arguments; no shell ever sees them.
    argv: Sequence[str]
    env: Mapping[str, str] = {}
    cwd: str | None = None
    on_stderr: Callable[[str], None] = _nothing
    ledger: Ledger | None = None
    # Puts the command with its variables into a sandbox.
    within: Callable[[Mapping[str, str]], contextlib.AbstractContextManager[SandboxedProgram]] | None = None


class Stdio(asyncio.SubprocessProtocol):
    """A running server process."""

    def __init__(self, launch: Launch) -> None:
        loop = asyncio.get_running_loop()
        self._launch = launch
        self._mark = uuid4().hex
        self._deliver: Deliver = _drop
        self._closed: asyncio.Future[ChannelError | None] = loop.create_future()
        self._exited: asyncio.Future[int] = loop.create_future()
        self._transport: asyncio.SubprocessTransport | None = None
        self._sandboxed: SandboxedProgram | None = None
        self._ending = False
        # One message at a time goes into the pipe; the others wait for this lock.
        self._writing = asyncio.Lock()
        self._blocked: asyncio.Future[None] | None = None
        self._lines = _Lines(limits.STDIO_LINE_BYTES)
        self._unread: deque[bytes] = deque()
        self._reading: asyncio.Task[None] | None = None
        self._log = _Lines(limits.STDERR_LINE_BYTES, drops=True)
        self.pid = 0
        self.started_at = 0.0
        # Bytes that were handed to the pipe so far.
        self._written = 0
        self._pending = PendingCalls()

    @property
    def closed(self) -> asyncio.Future[ChannelError | None]:
        return self._closed

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        return self._exited.result() if self._exited.done() else None

    async def open(self, deliver: Deliver) -> None:
        launch = self._launch
        self._deliver = deliver
        try:
            await self._spawn(launch)
        except FileNotFoundError:
            raise ChannelError(f"There is no program {launch.argv[0]}.", fix="Install it.", sent=False) from None
        except PermissionError:
            message = f"The program {launch.argv[0]} may not be started."
            raise ChannelError(message, fix="Check its permissions.", sent=False) from None
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            message = f"The program {launch.argv[0]} could not be started: {why}."
            raise ChannelError(message, fix="Close other programs and try again.", sent=False) from None

    async def _spawn(self, launch: Launch) -> None:
        loop = asyncio.get_running_loop()
        given = environment(launch.env, self._mark)
        if launch.within is None:
            await loop.subprocess_exec(
                lambda: self, *with_us(launch.argv), env=given, cwd=launch.cwd, start_new_session=True
            )
            return
        with launch.within(given) as sandboxed:
            self._sandboxed = sandboxed
            await loop.subprocess_exec(
                lambda: self,
                *with_us(sandboxed.argv),
                # What was declared for it counts, also where the sandbox would say otherwise.
                env={**sandboxed.environment, **launch.env},
                cwd="/",
                pass_fds=sandboxed.descriptors,
                start_new_session=True,
            )

    async def send(self, message: Outgoing) -> None:
        """Write a line; a process that does not read is given up after a while."""
        async with self._writing:
            await self._write(message)

    async def _write(self, message: Outgoing) -> None:
        if self._closed.done() or self._transport is None:
            error = self._closed.result() if self._closed.done() else None
            raise ChannelError(error.message if error else "The server is not running.", sent=False)
        pipe = cast(asyncio.WriteTransport, self._transport.get_pipe_transport(0))
        if pipe.is_closing():
            # It reads nothing any more; a moment later it is known why.
            error = await asyncio.shield(self._closed)
            raise ChannelError(error.message if error else "The server is not running.", sent=False)
        pipe.write(message.body + b"\n")
        self._written += len(message.body) + 1
        complete = self._written - 1
        self._pending.leaving(message, complete)
        while self._blocked is not None:
            before = self._progress(pipe)
            try:
                async with asyncio.timeout(limits.STDIO_WRITE):
                    await asyncio.shield(self._blocked)
            except TimeoutError:
                # The call that it works on may be what keeps it from reading, and may have ended just now.
                progress = self._progress(pipe)
                if progress[0] >= complete:
                    return
                if progress != before or self._pending.is_any:
                    continue
                # What is not out yet never goes out: a message that is not whole cannot be carried out.
                self._close_input()
                error = ChannelError(f"The server read nothing for {limits.STDIO_WRITE:g} s.", sent=False)
                self._end(error)
                raise error from None

    def _progress(self, pipe: asyncio.WriteTransport) -> tuple[int, int]:
        """Return how many bytes left and how many calls are over; what has not left yet is not worked on."""
        gone = self._written - pipe.get_write_buffer_size()
        self._pending.left(gone)
        return gone, self._pending.ended

    def abandon(self, request_id: RequestId) -> None:
        """Remember that nobody waits for this answer; all of them come over one pipe."""
        self._pending.over(request_id)

    def fail(self, error: ChannelError) -> None:
        """Stop reading; what the process has already written is dropped."""
        self._unread.clear()
        if self._transport is not None:
            self._output.close()
        if not self._closed.done():
            self._closed.set_result(error)

    async def close(self) -> None:
        """End the process and all that descends from it."""
        self._end(None)
        transport = self._transport
        if transport is None or self._ending:
            return
        self._ending = True
        if self._reading is not None:
            self._reading.cancel()
        self._close_input()
        try:
            await end(self.pid, self._mark, self._exited, sandboxed=self._sandboxed is not None)
        finally:
            transport.close()
            if self._sandboxed is not None:
                await asyncio.to_thread(self._sandboxed.ended)
            if self._launch.ledger is not None:
                self._launch.ledger.strike(self.pid)

    def hurry(self) -> None:
        """Ask a process to end that does not end by itself."""
        if self.pid:
            tell = signal_group if self._sandboxed is None else signal_sandboxed
            tell(self.pid, signal.SIGTERM)

    def _close_input(self) -> None:
        """Let the process read the end; what is not in the pipe yet is not wanted any more."""
        transport = cast(asyncio.SubprocessTransport, self._transport)
        pipe = cast(asyncio.WriteTransport | None, transport.get_pipe_transport(0))
        if pipe is not None and not pipe.is_closing():
            pipe.abort()

    # --- what the event loop tells ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember the process."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        self.pid = self._transport.get_pid() or 0
        self.started_at = time.time()
        if self._launch.ledger is not None:
            self._launch.ledger.write(self.pid, self._mark)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Take what the process wrote."""
        if fd == 2:
            for line in self._log.feed(data):
                self._launch.on_stderr(line.decode("utf-8", "replace").rstrip("\r"))
            return
        if self._closed.done():
            return
        self._unread.extend(self._lines.feed(data))
        if self._reading is None:
            self._read()
        if self._lines.overflown:
            self._output.close()
            size = limits.STDIO_LINE_BYTES // 1024 // 1024
            self._end(ChannelError(f"The server sent a line of more than {size} MB; it was stopped."))

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """See the end of a pipe: a server that cannot be asked, or cannot answer, is of no use."""
        if fd == 2:
            return
        if fd == 0:
            self.resume_writing()
        # Its exit code usually follows at once, and says more.
        what = "input" if fd == 0 else "output"
        asyncio.get_running_loop().call_later(0.2, self._end, ChannelError(f"The server closed its {what}."))

    def process_exited(self) -> None:
        """Learn that the process ended."""
        code = self._transport.get_returncode() if self._transport is not None else None
        if not self._exited.done():
            self._exited.set_result(code if code is not None else -1)
        how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        # What it wrote last may still be in the pipe.
        asyncio.get_running_loop().call_later(0.05, self._end, ChannelError(f"The server {how}."))

    def pause_writing(self) -> None:
        if self._blocked is None:
            self._blocked = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        """The pipe has room again."""
        blocked, self._blocked = self._blocked, None
        if blocked is not None and not blocked.done():
            blocked.set_result(None)

    @property
    def _output(self) -> asyncio.ReadTransport:
        transport = cast(asyncio.SubprocessTransport, self._transport)
        return cast(asyncio.ReadTransport, transport.get_pipe_transport(1))

    def _read(self) -> None:
        noise = 0
        for _ in range(limits.STDIO_LINES_AT_ONCE):
            if not self._unread:
                return
            line = self._unread.popleft().strip().removeprefix(_BOM)
            if len(line) > limits.LARGE_MESSAGE_BYTES:
                self._begin(self._take_large(line))
                return
            if line:
                noise += self._take(line)
        if self._unread:
            self._begin(self._rest(is_noisy=noise > limits.STDIO_LINES_AT_ONCE // 2))

    def _begin(self, reading: Coroutine[Any, Any, None]) -> None:
        """Go on later; what comes meanwhile waits in the pipe, not in our memory."""
        if not self._output.is_closing():
            self._output.pause_reading()
        self._reading = asyncio.create_task(reading, name="mcp-reading")

    async def _rest(self, *, is_noisy: bool) -> None:
        """Let others have their turn: a server that never stops writing must not hold everyone up."""
        # What it said last counts, and nothing comes after it.
        await asyncio.sleep(limits.STDIO_NOISE_REST if is_noisy and not self._exited.done() else 0)
        self._go_on()

    def _go_on(self) -> None:
        self._reading = None
        if not self._output.is_closing():
            self._output.resume_reading()
        self._read()

    async def _take_large(self, line: bytes) -> None:
        arrived: Sequence[Incoming]
        try:
            arrived = await read_large(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            text = line[: limits.GARBAGE_BYTES].decode("utf-8", "replace")
            arrived = [_addressed(Garbage(text, f"not JSON: {error}"), line)]
        for incoming in arrived:
            self._pending.came(incoming)
            self._deliver(incoming)
        self._go_on()

    def _take(self, line: bytes) -> int:
        """Deliver a line; return how much of it was no message."""
        arrived = arrivals(line)
        for incoming in arrived:
            addressed = _addressed(incoming, line)
            self._pending.came(addressed)
            self._deliver(addressed)
        return sum(isinstance(incoming, Garbage) for incoming in arrived)

    def _end(self, error: ChannelError | None) -> None:
        if error is not None and self._reading is not None:
            # What it said last counts.
            self._reading.add_done_callback(lambda _: self._end(error))
        elif not self._closed.done():
            self._closed.set_result(error)


class _Lines:
    """Cuts bytes into lines in one pass, however long a line is."""

    def __init__(self, most: int, *, drops: bool = False) -> None:
        self._most = most
        self._drops = drops
        self._parts: list[bytes] = []
        self._size = 0
        self.overflown = False

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that are complete now."""
        *whole, rest = data.split(b"\n")
        lines: list[bytes] = []
        for piece in whole:
            self._add(piece)
            if self.overflown:
                return lines
            lines.append(b"".join(self._parts) if len(self._parts) != 1 else self._parts[0])
            self._parts.clear()
            self._size = 0
        self._add(rest)
        return lines

    def _add(self, piece: bytes) -> None:
        room = self._most - self._size
        if len(piece) > room:
            if not self._drops:
                self.overflown = True
                self._parts.clear()
                return
            piece = piece[:room]
        if piece:
            self._parts.append(piece)
            self._size += len(piece)


def _addressed(incoming: Incoming, line: bytes) -> Incoming:
    """Return garbage with the id of the request that it answers, where it can be made out."""
    if not isinstance(incoming, Garbage) or b'"method"' in line[:_NEAR]:
        return incoming
    found = _ID.search(line[:_NEAR]) or _ID.search(line[-_NEAR:])
    return msgspec.structs.replace(incoming, id=int(found[1])) if found else incoming


def _drop(_: Incoming) -> None:
    """Before it is opened nothing can come."""
