"""A person at a conversation's terminal: what they type goes in, what it writes comes out as it is."""

from __future__ import annotations

import asyncio
import logging
from contextlib import aclosing, suppress

import msgspec
from starlette.websockets import WebSocket

from pilothouse.host.service import HostService
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import encode_text
from pilothouse.types.terminals import (
    OpenTerminal,
    ResizeTerminal,
    SelectText,
    TerminalCommand,
    TerminalEnded,
    TerminalOpened,
    TerminalProblem,
    TerminalSelection,
    TerminalSize,
    TypeInput,
)
from pilothouse.web.problems import internal_problem
from pilothouse.web.sessions import Caller
from pilothouse.web.socket import GONE, next_command, serve

log = logging.getLogger(__name__)

_commands = msgspec.json.Decoder(TerminalCommand)


async def terminal_socket(socket: WebSocket) -> None:
    """Serve one window until it leaves, its session ends, or the server stops."""
    caller: Caller = socket.scope["caller"]
    await serve(socket, _Window(socket, socket.app.state.host, caller.owner, socket.path_params["id"]).run)


class _Window:
    """One window at a terminal; several may look at the same one."""

    def __init__(self, socket: WebSocket, host: HostService, owner: str, conversation_id: str) -> None:
        self._socket = socket
        self._host = host
        self._owner = owner
        self._id = conversation_id
        self._showing: asyncio.Task[None] | None = None
        # Done when there is nothing more to show.
        self._over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Obey until the window is closed or its terminal has ended."""
        obeying = asyncio.create_task(self._obey())
        try:
            await asyncio.wait({obeying, self._over}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            tasks = {obeying} if self._showing is None else {obeying, self._showing}
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _obey(self) -> None:
        while True:
            try:
                if (command := await next_command(self._socket, _commands)) is None:
                    return
                await self._do(command)
            except PilothouseError as error:
                await self._send(TerminalProblem(str(error)))
            except Exception as error:
                internal_problem(log, self._socket.scope, error)
                await self._send(TerminalProblem("That did not work; the reason is in the log."))

    async def _do(self, command: TerminalCommand) -> None:
        if isinstance(command, OpenTerminal):
            await self._open(command)
        elif isinstance(command, TypeInput):
            await self._host.terminals.type(self._owner, self._id, command.data.encode("utf-8", "replace"))
        elif isinstance(command, ResizeTerminal):
            size = TerminalSize(columns=command.columns, rows=command.rows)
            await self._host.terminals.resize(self._owner, self._id, size)
        elif isinstance(command, SelectText):
            await self._host.terminals.select(self._owner, self._id, TerminalSelection(text=command.text))

    async def _open(self, command: OpenTerminal) -> None:
        if self._showing is not None:
            raise PilothouseError("conflict", "This window shows the terminal already.")
        size = TerminalSize(columns=command.columns, rows=command.rows)
        terminal = await self._host.terminals.open(self._owner, self._id, size)
        # Whoever comes anew, or from very long ago, is shown the newest part.
        first = max(terminal.end_index - limits.TERMINAL_REPLAY, 0)
        index = command.start if first <= command.start <= terminal.end_index else first
        await self._send(TerminalOpened(terminal, index))
        self._showing = asyncio.create_task(self._show(index))

    async def _show(self, index: int) -> None:
        """Send output as it comes; a window that takes none for long is let go and may come back."""
        try:
            async with aclosing(await self._host.terminals.output(self._owner, self._id, index)) as output:
                async for _, piece in output:
                    async with asyncio.timeout(limits.WRITE_TIMEOUT):
                        await self._socket.send_bytes(piece)
            sessions = (await self._host.terminals.list(self._owner, self._id)).sessions
            await self._send(TerminalEnded(sessions[0].exit_code if sessions else None))
        except (TimeoutError, *GONE):
            return
        except PilothouseError as error:
            await self._send(TerminalProblem(str(error)))
        finally:
            if not self._over.done():
                self._over.set_result(None)

    async def _send(self, frame: object) -> None:
        with suppress(*GONE):
            await self._socket.send_text(encode_text(frame))
