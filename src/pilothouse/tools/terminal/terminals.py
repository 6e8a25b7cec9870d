"""All terminals and background commands of this host; implements the port `TerminalHost`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import msgspec

from pilothouse.helper.client import Helper
from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.sandbox.sandbox import Order, Sandbox
from pilothouse.tools.snapshots.covering import Snapshots
from pilothouse.tools.terminal.background import Background, start_background
from pilothouse.tools.terminal.masking import Bare
from pilothouse.tools.terminal.recording import Began, Recording, sweep
from pilothouse.tools.terminal.session import Session, Window, open_session
from pilothouse.tools.terminal.shells import session_command, session_environment
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import Cover
from pilothouse.types.terminals import ProcessOutput, ProcessView, TerminalList, TerminalView
from pilothouse.types.terminals import Recording as RecordingFile


class LastCommand(msgspec.Struct, frozen=True):
    """The last command of a conversation, as far as it is known."""

    text: str
    at: float
    exit_code: int | None = None


class Terminals:
    """Sessions by conversation, background commands, what was selected, and recordings that outlive us.

    Implements the port `TerminalHost`.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        recordings: Path,
        cover: Cover | None = None,
        helper: Helper | None = None,
        snapshots: Snapshots | None = None,
    ) -> None:
        # What holds commands.
        self.sandbox = sandbox
        # Keeps what commands change; without it nothing of that can be undone.
        self.snapshots = snapshots
        # Takes the secrets that we know out of whatever is written down or goes to a model.
        self.cover = cover or Bare()
        # Draws screens; it is started anew where others need it after our end.
        self.helper = helper or Helper()
        self._folder = recordings
        self._sessions: dict[str, Session] = {}
        self._recordings: dict[str, Recording] = {}
        self._opening: dict[str, asyncio.Lock] = {}
        self._background: dict[str, dict[str, Background]] = {}
        self._selected: dict[str, str] = {}
        self._last: dict[str, LastCommand] = {}
        sandbox.scratch.sweep()
        sweep(recordings)

    # --- sessions ---

    def running(self) -> list[str]:
        """Return the conversations in which a session or a background command runs."""
        sessions = [key for key, session in self._sessions.items() if session.running]
        background = [key for key, ours in self._background.items() if any(each.running for each in ours.values())]
        return [*dict.fromkeys([*sessions, *background])]

    async def terminals(self, conversation_id: str) -> TerminalList:
        """Return what runs in a conversation, and the session that ran there last."""
        view = self.last_session(conversation_id)
        processes = tuple(each.view() for each in self._background.get(conversation_id, {}).values())
        return TerminalList(sessions=() if view is None else (view,), processes=processes, sandbox=self.sandbox.view())

    def last_session(self, conversation_id: str) -> TerminalView | None:
        """Return the conversation's session, or the one that ended with an earlier process of ours."""
        session = self._sessions.get(conversation_id)
        if session is not None:
            return session.view(conversation_id)
        recording = self._recording(conversation_id)
        if recording.last is None:
            return None
        return recording.last.view(conversation_id, recording.index, recording.exit_code)

    def began(self, conversation_id: str) -> Began | None:
        """Return how the conversation's session began, or the last one that it had."""
        session = self._sessions.get(conversation_id)
        return session.began if session is not None else self._recording(conversation_id).last

    async def open_terminal(
        self,
        conversation_id: str,
        working_directory: str,
        columns: int = limits.TERMINAL_COLUMNS,
        rows: int = limits.TERMINAL_ROWS,
        identity: tuple[int, int] | None = None,
    ) -> TerminalView:
        window = Window.held(columns, rows)
        async with self._opening.setdefault(conversation_id, asyncio.Lock()):
            session = self._sessions.get(conversation_id)
            if session is not None and session.running and session.began.folder == working_directory:
                session.resize(window)
                return session.view(conversation_id)
            if session is not None:
                await self._close(conversation_id)
            if sum(each.running for each in self._sessions.values()) >= limits.TERMINALS_RUNNING:
                raise PilothouseError(
                    "conflict",
                    f"{limits.TERMINALS_RUNNING} terminals run already.",
                    fix="Close one that you do not need.",
                )
            order = self._order(conversation_id, working_directory, identity)
            try:
                session = await open_session(self.sandbox, order, window, self._recording(conversation_id))
            except BadArgument as error:
                raise PilothouseError("bad_request", error.message) from None
            except OSError as error:
                raise PilothouseError("internal", f"The terminal could not be started: {error.strerror}.") from None
            self._sessions[conversation_id] = session
            return session.view(conversation_id)

    def _order(self, conversation_id: str, folder: str, identity: tuple[int, int] | None) -> Order:
        settings = self.sandbox.settings
        return Order(
            argv=session_command(settings.shell),
            folder=folder,
            identity=identity,
            network=settings.network,
            environment=session_environment(settings.shell),
            terminal=True,
            owner=conversation_id,
        )

    def session(self, conversation_id: str) -> Session:
        """Return the conversation's session; raise when there is none."""
        session = self._sessions.get(conversation_id)
        if session is None:
            raise PilothouseError(
                "not_found", "This conversation has no terminal session.", fix="Create one with create_session."
            )
        return session

    async def output(self, conversation_id: str, from_index: int) -> AsyncGenerator[tuple[int, bytes], None]:
        session = self._sessions.get(conversation_id)
        if session is not None:
            async for piece in session.output(from_index):
                yield piece
            return
        recording = self._recording(conversation_id)
        index = max(from_index, recording.start)
        while data := await recording.read(index, limits.TERMINAL_PIECE):
            yield index, data
            index += len(data)

    async def type(self, conversation_id: str, data: bytes) -> None:
        if len(data) > limits.TERMINAL_INPUT_BYTES:
            raise PilothouseError("too_large", "That is too much input at once.", fix="Put it into a file.")
        session = self.session(conversation_id)
        try:
            session.type(data)
        except BadArgument as error:
            raise PilothouseError("conflict", error.message) from None
        if session.line.entered:
            self.remember(conversation_id, session.line.entered)

    async def resize(self, conversation_id: str, columns: int, rows: int) -> None:
        self.session(conversation_id).resize(Window.held(columns, rows))

    async def close_terminal(self, conversation_id: str) -> None:
        async with self._opening.setdefault(conversation_id, asyncio.Lock()):
            await self._close(conversation_id)

    async def _close(self, conversation_id: str) -> None:
        session = self._sessions.get(conversation_id)
        if session is not None:
            await session.close()
            self._sessions.pop(conversation_id, None)

    # --- what people and the agent remember ---

    async def select(self, conversation_id: str, text: str) -> None:
        self._selected[conversation_id] = text[: limits.SELECTION_CHARS]

    def selected(self, conversation_id: str) -> str:
        """Return what the person has selected."""
        return self._selected.get(conversation_id, "")

    def remember(self, conversation_id: str, text: str, exit_code: int | None = None) -> None:
        self._last[conversation_id] = LastCommand(text, time.time(), exit_code)

    def last_command(self, conversation_id: str) -> LastCommand | None:
        return self._last.get(conversation_id)

    # --- background commands ---

    async def start_background(self, order: Order, item_id: str, text: str) -> ProcessView:
        """Start a command in the background."""
        ours = self._background.setdefault(order.owner, {})
        if sum(each.running for each in ours.values()) >= limits.BACKGROUND_COMMANDS:
            raise BadArgument(
                f"{limits.BACKGROUND_COMMANDS} commands of this conversation run in the background already; stop one.",
                "TOO_MANY",
            )
        self._drop_ended()
        started = await start_background(self.sandbox, order, item_id, text, self.cover)
        ours[started.id] = started
        return started.view()

    def _drop_ended(self) -> None:
        """Let go of commands that ended long ago, of whichever conversation."""
        listed = [each.view() for ours in self._background.values() for each in ours.values() if not each.running]
        ended = sorted(listed, key=lambda view: view.ended_at or 0.0)
        for old in ended[: -limits.BACKGROUND_KEPT]:
            del self._background[old.conversation_id][old.id]

    def background(self, conversation_id: str, process_id: str) -> Background:
        """Return a background command; raise when there is none of that id."""
        found = self._background.get(conversation_id, {}).get(process_id)
        if found is None:
            raise PilothouseError("not_found", f"There is no background command {process_id} in this conversation.")
        return found

    async def process_output(self, conversation_id: str, process_id: str, from_index: int) -> ProcessOutput:
        return self.background(conversation_id, process_id).output(from_index)

    async def stop_process(self, conversation_id: str, process_id: str) -> ProcessView:
        found = self.background(conversation_id, process_id)
        await found.stop()
        return found.view()

    # --- recordings, and the end ---

    def _recording(self, conversation_id: str) -> Recording:
        found = self._recordings.get(conversation_id)
        if found is None:
            found = self._recordings[conversation_id] = Recording(self._folder, conversation_id, self.cover)
        return found

    async def recording(self, conversation_id: str) -> RecordingFile:
        found = self._recording(conversation_id)
        if not found.exists:
            raise PilothouseError("not_found", "This conversation has no recording of a terminal.")
        return RecordingFile(name=f"{conversation_id}.cast", data=await found.cast(conversation_id))

    async def forget(self, conversation_id: str) -> None:
        """End everything of a conversation that was deleted; its recording goes when it cannot be restored any more."""
        await self.close_terminal(conversation_id)
        await asyncio.gather(*(each.stop() for each in self._background.pop(conversation_id, {}).values()))
        self._selected.pop(conversation_id, None)
        self._last.pop(conversation_id, None)
        self._opening.pop(conversation_id, None)
        recording = self._recordings.pop(conversation_id, None) or Recording(self._folder, conversation_id)
        recording.mark(deleted=True)
        await asyncio.to_thread(self.sandbox.scratch.forget, conversation_id)

    async def restored(self, conversation_id: str) -> None:
        """Keep the recording of a conversation that was brought back."""
        self._recording(conversation_id).mark(deleted=False)

    async def close(self) -> None:
        """End everything; recordings stay."""
        await asyncio.to_thread(self.helper.close)
        ending = [self.close_terminal(conversation_id) for conversation_id in list(self._sessions)]
        ending_too = [each.stop() for ours in self._background.values() for each in ours.values()]
        await asyncio.gather(*ending, *ending_too)
        await asyncio.to_thread(self.sandbox.close)
