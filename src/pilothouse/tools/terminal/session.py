"""A terminal session: a shell on a pseudo-terminal, read as it writes, shared by whoever types."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import pty
import struct
import termios
import time
from collections.abc import AsyncGenerator

import msgspec

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.sandbox.processes import Child, start_at
from pilothouse.tools.sandbox.sandbox import Order, Sandbox
from pilothouse.tools.terminal.output_buffer import Ring
from pilothouse.tools.terminal.recording import Began, Recording
from pilothouse.tools.terminal.text import TypedLine
from pilothouse.types import limits
from pilothouse.types.terminals import TerminalView

# A pseudo-terminal gives at most this much at a time.
_READ = 64 * 1024
# Reads in a row before others have their turn.
_READS = 16
# Colours of whatever ran before are undone before the next session writes.
_AFRESH = b"\x1b[0m\r\n"


class Window(msgspec.Struct, frozen=True):
    """How large a terminal is."""

    columns: int = limits.TERMINAL_COLUMNS
    rows: int = limits.TERMINAL_ROWS

    @classmethod
    def held(cls, columns: int, rows: int) -> Window:
        """Return a window that is neither empty nor absurd."""
        most = limits.TERMINAL_SIZE_MOST
        return cls(min(max(columns, 2), most), min(max(rows, 1), most))


class Session:
    """One shell at work. Made by `open_session`."""

    def __init__(self, master: int, tty_name: str, child: Child, began: Began, recording: Recording) -> None:
        self._master = master
        self._tty_name = tty_name
        self._child = child
        self.began = began
        self.recording = recording
        self.window = Window(began.columns, began.rows)
        self.ring = Ring(began.index)
        self.line = TypedLine()
        self.exit_code: int | None = None
        self._input = bytearray()
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(master, self._readable)
        self._watching = asyncio.create_task(self._watch(), name="terminal session")

    # --- what it is ---

    @property
    def running(self) -> bool:
        """Return whether the shell still runs."""
        return self.exit_code is None

    def view(self, conversation_id: str) -> TerminalView:
        """Return it as people see it."""
        view = self.began.view(conversation_id, self.ring.end, self.exit_code, running=self.running)
        size = {"columns": self.window.columns, "rows": self.window.rows}
        return msgspec.structs.replace(view, tty_name=self._tty_name, pid=self._child.pid, **size)

    # --- output ---

    def _readable(self) -> None:
        pieces: list[bytes] = []
        while len(pieces) < _READS and (piece := self._read()) is not None:
            if not piece:
                self._loop.remove_reader(self._master)
                break
            pieces.append(piece)
        self._take(b"".join(pieces))
        if self.recording.is_behind:
            self._loop.remove_reader(self._master)
            self.recording.when_written(self._resume)
        self._wake()

    def _read(self) -> bytes | None:
        """Return what is there to be read: None when there is nothing yet, no bytes at the end."""
        try:
            return os.read(self._master, _READ)
        except BlockingIOError:
            return None
        except OSError as error:
            # A terminal that nobody holds open any more says so with this.
            if error.errno != errno.EIO:
                raise
            return b""

    def _take(self, piece: bytes) -> None:
        self.ring.add(piece)
        self.recording.add(piece)

    def begin_afresh(self) -> None:
        """Set this session's output apart from what an earlier one left on the screen."""
        self._take(_AFRESH)

    def _resume(self) -> None:
        if self.running:
            self._loop.add_reader(self._master, self._readable)

    def _wake(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def output(self, from_index: int) -> AsyncGenerator[tuple[int, bytes], None]:
        """Yield (index, bytes) from an index on until the session has ended."""
        index = max(from_index, 0)
        while True:
            changed = self._changed
            piece = await self.read(index, limits.TERMINAL_PIECE)
            if piece[1]:
                yield piece
                index = piece[0] + len(piece[1])
            elif not self.running:
                return
            else:
                await changed.wait()

    async def read(self, index: int, most: int) -> tuple[int, bytes]:
        """Return where bytes from an index on begin, and the bytes: from memory, or from the recording."""
        if index < self.ring.start:
            index = max(index, self.recording.start)
            piece = await self.recording.read(index, most)
            if piece:
                return index, piece
        index = max(index, self.ring.start)
        return index, self.ring.read(index, most)

    # --- input ---

    def type(self, data: bytes) -> None:
        """Give input to whatever reads in the terminal, as it is."""
        if not self.running:
            raise BadArgument("The terminal session has ended; create a new one.", "SESSION_ENDED")
        if len(self._input) + len(data) > limits.TERMINAL_INPUT_BEHIND:
            raise BadArgument("The program in the terminal does not read its input.", "BUSY")
        self.line.typed(data)
        self._input += data
        self._writable()

    def _writable(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._input:
                try:
                    sent = os.write(self._master, self._input)
                except OSError as error:
                    if error.errno != errno.EIO:
                        raise
                    sent = len(self._input)
                del self._input[:sent]
        if self._input:
            self._loop.add_writer(self._master, self._writable)
        else:
            self._loop.remove_writer(self._master)

    async def wait_quiet(self) -> None:
        """Wait for the answer to input: until output pauses, and never long."""
        until = self._loop.time() + limits.TERMINAL_ANSWER
        quiet = limits.TERMINAL_ANSWER
        while self.running and (left := until - self._loop.time()) > 0:
            try:
                async with asyncio.timeout(min(left, quiet)):
                    await self._changed.wait()
            except TimeoutError:
                return
            quiet = limits.TERMINAL_QUIET

    def resize(self, window: Window) -> None:
        """Tell programs in the terminal how large it is."""
        if window != self.window and self.running:
            set_size(self._master, window)
            self.window = window
            self.recording.resize(window.columns, window.rows)

    # --- the end ---

    async def _watch(self) -> None:
        """Wait for the shell's end, then let go of everything."""
        await self._child.wait()
        self._loop.remove_reader(self._master)
        self._loop.remove_writer(self._master)
        # What was written last is still in the terminal.
        with contextlib.suppress(OSError):
            while piece := os.read(self._master, _READ):
                self._take(piece)
        # Before it is closed: its number may be anyone's then, and nothing may be typed or read there any more.
        self.exit_code = self._child.exit_code or 0
        os.close(self._master)
        await self._child.end()
        self.recording.ended(self.exit_code)
        self._wake()
        await self.recording.close()
        if not self.recording.stopped:
            # All of it is written down; it may be months before someone looks.
            self.ring.clear()

    async def close(self) -> None:
        """End the shell and everything in it: politely, then for good."""
        if self.running:
            await self._child.end(hangup=True)
        await asyncio.wait([self._watching])
        await self.recording.close()
        self.ring.clear()


def set_size(descriptor: int, window: Window) -> None:
    """Set the size of a terminal."""
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", window.rows, window.columns, 0, 0))


async def open_session(sandbox: Sandbox, order: Order, window: Window, recording: Recording) -> Session:
    """Start a shell on a terminal of its own."""
    master, slave = pty.openpty()
    try:
        os.set_blocking(master, False)
        set_size(slave, window)
        tty_name = os.ttyname(slave)
        child = await start_at(sandbox, order, slave)
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
    began = Began(
        folder=order.folder,
        shell=os.path.basename(order.argv[0]),
        columns=window.columns,
        rows=window.rows,
        at=time.time(),
        sandbox=sandbox.kind(),
        index=recording.index,
        network=order.network,
    )
    first = recording.exists
    recording.begin(began)
    session = Session(master, tty_name, child, began, recording)
    if first:
        session.begin_afresh()
    return session
