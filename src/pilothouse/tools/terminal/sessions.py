"""The operations that are about the conversation's terminal session, which the person shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from pilothouse.tools.arguments import BadArgument, optional_int, optional_string, success
from pilothouse.tools.terminal.masking import covered_ends, held_back
from pilothouse.tools.terminal.operation import TerminalOperation
from pilothouse.tools.terminal.output_buffer import HeadTail
from pilothouse.tools.terminal.screen import screen_of
from pilothouse.tools.terminal.session import Session
from pilothouse.tools.terminal.shells import session_command
from pilothouse.tools.terminal.text import decode, for_model, plain, whole_of
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse, Effect
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, CallFeedback, ToolOutput

SESSION_ID: JsonObject = {"type": "string", "description": "The session; each conversation has its own one."}


class _OfSession(TerminalOperation):
    """An operation on the session of this conversation, never on another's."""

    def check_session(self, arguments: JsonObject, context: CallContext) -> None:
        for key in ("session_id", "conversation_id"):
            named = optional_string(arguments, key)
            if named and named != context.conversation_id:
                raise BadArgument(f"There is no terminal session {named[:80]} in this conversation.", "NOT_FOUND")

    def session(self, arguments: JsonObject, context: CallContext) -> Session:
        self.check_session(arguments, context)
        return self._terminals.session(context.conversation_id)

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return that it looks at what the session says, which may be the world's if it began with the network."""
        access = await super().access(arguments, context)
        began = self.session(arguments, context).began
        return msgspec.structs.replace(access, brings=self._brings(began.sandbox, network=began.network))

    async def said(self, session: Session, index: int, context: CallContext) -> ToolOutput:
        """Return a session's output from an index on, its middle left out where it is long."""
        cover, first = self._terminals.cover, session.began.index
        _, recent = await session.read(max(session.ring.end - cover.reach, first), cover.reach)
        end = max(session.ring.end - (held_back(recent, cover) if session.running else 0), index)
        at, kept, lead = min(max(index - cover.reach, first), index), HeadTail(), 0
        while at < end:
            where, piece = await session.read(at, min(limits.TERMINAL_PIECE, end - at))
            if not piece:
                break
            lead = lead if kept.total else max(index - where, 0)
            kept.add(piece)
            at = where + len(piece)
        ends = covered_ends(kept, cover, lead)
        told = for_model(ends)
        state = "" if session.running else f" The session ended with exit code {session.exit_code}."
        data: JsonObject = {"sessionId": context.conversation_id, "endIndex": at, "running": session.running}
        whole = whole_of(plain(decode(ends.head + ends.tail)), told)
        return success(f"end_index: {at}.{state}\n{told or '(no output)'}", data, whole)


class CreateSession(_OfSession):
    """Starts the session, or takes the one that is there."""

    name = "create_session"
    doing = "Opening a terminal"
    effects: frozenset[Effect] = frozenset({"reads", "writes", "runs", "sends"})
    properties: ClassVar[JsonObject] = {
        "conversation_id": {"type": "string", "description": "Not needed: it is this conversation's."},
        "working_directory": {"type": "string", "description": "Not needed: it is the conversation's."},
    }

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return the shell that would be started; one that runs in this folder needs nobody's word."""
        self.check_session(arguments, context)
        argv = session_command(self._terminals.sandbox.settings.shell)
        use = await self.use(context, "", argv, self._terminals.sandbox.settings.network)
        wanted = optional_string(arguments, "working_directory")
        if wanted and wanted.rstrip("/") not in (use.folder, (context.working_directory or "").rstrip("/")):
            raise BadArgument(f"A session works in the conversation's folder, {use.folder}; use cd to go elsewhere.")
        view = self._terminals.last_session(context.conversation_id)
        if view is not None and view.running and view.working_directory == use.folder:
            return await super().access(arguments, context)
        return await self.command_access(use, context)

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Start it and return its first words."""
        argv = session_command(self._terminals.sandbox.settings.shell)
        now = await self.use(context, "", argv, self._terminals.sandbox.settings.network)
        self.hold(context, now)
        before = self._terminals.last_session(context.conversation_id)
        size = (before.columns, before.rows) if before is not None else (limits.TERMINAL_COLUMNS, limits.TERMINAL_ROWS)
        identity = context.access.folder_identity if context.access is not None else None
        view = await self._terminals.open_terminal(context.conversation_id, now.folder, *size, identity)
        await self._terminals.session(context.conversation_id).wait_quiet()
        return success(
            f"session_id: {view.session_id}, tty_name: {view.tty_name}, {view.shell} in {view.working_directory}.",
            {"sessionId": view.session_id, "ttyName": view.tty_name},
        )


class SendInput(_OfSession):
    """Types into the session."""

    name = "send_input"
    doing = "Typing"
    effects: frozenset[Effect] = frozenset({"reads", "writes", "runs", "sends"})
    properties: ClassVar[JsonObject] = {
        "session_id": SESSION_ID,
        "input": {"type": "string", "description": "Sent as it is; a command runs only if it ends with \\r\\n."},
    }

    def about(self, arguments: Mapping[str, object]) -> str:
        return str(arguments.get("input") or "").strip()

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        return await self.command_access(self._typed(arguments, context), context)

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Type it, wait a moment, and return what came."""
        now = self._typed(arguments, context)
        self.hold(context, now)
        session = self.session(arguments, context)
        async with self.covering(context, now) as covered:
            before = session.ring.end
            await self._terminals.type(context.conversation_id, _input(arguments).encode())
            await session.wait_quiet()
        output = await self.said(session, before, context)
        return covered.added_to(output)

    def _typed(self, arguments: JsonObject, context: CallContext) -> CommandUse:
        began = self.session(arguments, context).began
        held = "" if began.sandbox == "none" else began.sandbox
        network = began.network or self._terminals.sandbox.view().is_open
        return CommandUse(text=_input(arguments), folder=began.folder, sandbox=held, network=network, typed=True)


class GetOutput(_OfSession):
    """Reads what the session wrote from an index on."""

    name = "get_output"
    doing = "Reading the terminal"
    properties: ClassVar[JsonObject] = {
        "session_id": SESSION_ID,
        "from_index": {"type": "integer", "description": "Only output from this byte on; end_index of the last look."},
    }

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Return the output and its end_index."""
        session = self.session(arguments, context)
        index = optional_int(arguments, "from_index", session.began.index)
        if index > session.ring.end:
            raise BadArgument(f"`from_index` is beyond the end; the output ends at {session.ring.end}.", "OUT_OF_RANGE")
        return await self.said(session, index, context)


class GetHistory(_OfSession):
    """Reads everything that the session wrote."""

    name = "get_history"
    doing = "Reading the terminal's history"
    properties: ClassVar[JsonObject] = {"session_id": SESSION_ID}

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Return the whole of it, its middle left out where it is long."""
        session = self.session(arguments, context)
        return await self.said(session, session.began.index, context)


class GetTerminalBuffer(_OfSession):
    """Reads the screen as the person sees it."""

    name = "get_terminal_buffer"
    doing = "Looking at the screen"
    properties: ClassVar[JsonObject] = {"session_id": SESSION_ID}

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Return the visible lines."""
        session = self.session(arguments, context)
        return success(
            await screen_of(session, self._terminals.helper) or "(the screen is empty)",
            {"sessionId": context.conversation_id},
        )


class GetTerminalSelection(TerminalOperation):
    """Reads what the person marked in the terminal."""

    name = "get_terminal_selection"
    doing = "Looking at the selection"

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return that it looks at a piece of what the session says, or said before it was closed."""
        access, began = await super().access(arguments, context), self._terminals.began(context.conversation_id)
        if began is None:
            return access
        return msgspec.structs.replace(access, brings=self._brings(began.sandbox, network=began.network))

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """Return the marked text."""
        text = self._terminals.selected(context.conversation_id)
        return success(text or "Nothing is selected in the terminal.", {"selection": text})


class CloseSession(_OfSession):
    """Ends the session."""

    name = "close_session"
    doing = "Closing the terminal"
    effects: frozenset[Effect] = frozenset({"runs"})
    properties: ClassVar[JsonObject] = {"session_id": SESSION_ID}

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Return that it ends programs; there must be a session."""
        self.session(arguments, context)
        return await super().access(arguments, context)

    async def execute(self, arguments: JsonObject, context: CallContext, feedback: CallFeedback) -> ToolOutput:
        """End the shell and everything in it."""
        self.session(arguments, context)
        await self._terminals.close_terminal(context.conversation_id)
        return success("The terminal session is closed, with everything that ran in it.")


def _input(arguments: JsonObject) -> str:
    value = arguments.get("input")
    if not isinstance(value, str) or not value:
        raise BadArgument("`input` is missing; it must be a text.")
    if len(value) > limits.TERMINAL_INPUT_BYTES // 4:
        raise BadArgument("`input` is too long; put it into a file.")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise BadArgument("`input` has characters in it that are no text.")
    return value
