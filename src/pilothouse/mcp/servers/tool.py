"""A tool of a server as the agent calls it: the server is started if need be, and every outcome told honestly."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.server_requests import CannotAsk
from pilothouse.mcp.client.start_errors import TURNED_AWAY, NeedsConsent, NoRoom, patience, waiting
from pilothouse.mcp.oauth.errors import SIGN_IN_FAILED, SignInNeeded
from pilothouse.mcp.servers.roots import roots_of
from pilothouse.mcp.servers.secret_detection import secret_asked
from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.authority import SERVER, marked
from pilothouse.types.invisible import plain
from pilothouse.types.json import JsonObject, encode
from pilothouse.types.messages import ToolSpec
from pilothouse.types.origins import is_loopback_host, origin_of
from pilothouse.types.ports import (
    Ask,
    CallContext,
    CallFeedback,
    CallTimes,
    Resumed,
    ToolError,
    ToolOutput,
    ToolPaused,
)
from pilothouse.types.servers import ServerTool

if TYPE_CHECKING:
    from pilothouse.mcp.client.session import InputRequired, Session
    from pilothouse.mcp.servers.connection import Connection
    from pilothouse.mcp.servers.server import Server

# A stranger's tool may do anything; what it claims about itself lowers nothing.
_EFFECTS: frozenset[Effect] = frozenset({"reads", "writes", "runs", "sends"})
_SHOWN_CHARS = 100
# The question, and the key of a paused call's state, that stand for signing in.
_SIGN_IN = "sign-in"
# The same for a call that is made again in the older era.
_AGAIN = "again"
_PERHAPS = "It may have been carried out; check before you repeat it."


class McpTool:
    """One tool of one server, exactly as it was defined when the run began; implements the port `Tool`."""

    effects = _EFFECTS

    def __init__(self, server: Server, listed: ServerTool) -> None:
        self._server = server
        self._listed = listed
        said = listed.description[: limits.TOOL_DESCRIPTION_CHARS] or listed.title or listed.name
        schema = listed.input_schema or {"type": "object"}
        # Letters that only a model would read are in no text that it gets.
        self.spec = ToolSpec(name=listed.wire_name, description=plain(said), input_schema=plain(schema))
        self.server = server.name
        self.qualified_name = listed.qualified_name
        self._source = f"{SERVER}{marked(server.name, server.place)}"
        self.grant_key = f"{server.key}{listed.name}:{listed.fingerprint}"
        self.times = CallTimes(listed.seconds, limits.NO_SIGN)

    def limited(self, allowed: frozenset[Effect]) -> McpTool | None:
        """Return itself where everything is allowed, or where the person set its server to read only and it reads."""
        return self if allowed >= _EFFECTS or self._safe else None

    def withdrawn(self) -> str:
        """Return why it must not be called any more, or nothing."""
        outdated = _outdated(self._server, self._listed)
        return outdated.text if outdated is not None else ""

    async def access(self, arguments: JsonObject, context: CallContext) -> Access:
        """Say that a stranger's tool may do anything, and that what it is told leaves this program.

        Only the person's own word says that it goes no further, or a sandbox without the network.
        """
        config, name = self._server.entry.config, self._server.name
        kept_here = config.cannot_send or (config.sandbox and not config.network)
        return Access(
            operation=self.qualified_name,
            effects=_EFFECTS - {"sends"} if kept_here else _EFFECTS,
            destination="" if kept_here else _host(config.url) or name,
            through="" if kept_here else name,
            payload_bytes=len(encode(arguments)),
            brings=frozenset({"private", "untrusted"}),
            source=self._source,
            destructive=self._listed.annotations.get("destructiveHint") is True,
        )

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        """Return the times of its server or its own."""
        return self.times

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return the tool's name and the first telling argument."""
        telling = next((value for value in arguments.values() if isinstance(value, str) and value.strip()), "")
        line = " ".join(telling.split())
        short = f"{line[:_SHOWN_CHARS]}{'…' if len(line) > _SHOWN_CHARS else ''}"
        return Shown(
            action=self._listed.name,
            action_display_name=self._listed.title or self._listed.name,
            summary=f"{self.qualified_name}: {short}" if short else self.qualified_name,
            icon="server",
        )

    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        if (refused := self._refusal()) is not None:
            return _perhaps(refused) if _before_signing_in(context.resumed) else refused
        began = time.monotonic()
        attempt = _Attempt(self._server, self._listed, arguments, context, feedback)
        try:
            outcome = await attempt.carry_out(safe=self._safe)
        except asyncio.CancelledError:
            self._given_up(time.monotonic() - began)
            raise
        finally:
            # One that told nothing about the server, because it waits for a person, lets the next one try.
            self._server.breaker.undecided()
        if not isinstance(outcome, ToolPaused):
            self._server.history.call(self._listed.name, time.monotonic() - began, ok=outcome.error is None)
            self._server.lacks.answered(self._listed.name, outcome.text if outcome.error is not None else None)
        return outcome

    def _given_up(self, seconds: float) -> None:
        # Stopped early it says nothing about the server; not answered in its time it does.
        if seconds >= self.times.total:
            self._server.breaker.failed()
        self._server.history.call(self._listed.name, seconds, ok=False)

    def _refusal(self) -> ToolOutput | None:
        if (outdated := _outdated(self._server, self._listed)) is not None:
            return outdated
        wait = self._server.breaker.wait()
        if wait:
            name = self._server.name
            message = f"“{name}” failed several times in a row; it is tried again in {math.ceil(wait)} s."
            return _failure("SERVER_UNAVAILABLE", message, retryable=True)
        return None

    @property
    def _safe(self) -> bool:
        """Return whether repeating does no harm: the person set the server to read only, and the tool says it reads."""
        return self._server.entry.config.read_only and self._listed.annotations.get("readOnlyHint") is True


class _Attempt:
    """One call with its repetitions, where a repetition is safe."""

    def __init__(
        self, server: Server, tool: ServerTool, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> None:
        self._server = server
        self._tool = tool
        self._name = tool.name
        self._promised = tool.output_schema
        self._arguments = arguments
        self._context = context
        self._resumed = None if _AGAIN in _state(context.resumed) else _before_signing_in(context.resumed)
        self._feedback = feedback
        self._attempts = 0
        self._connection: Connection | None = None

    async def carry_out(self, *, safe: bool) -> ToolOutput | ToolPaused:
        """Call, and once more when nothing reached the server or repeating does no harm; wait while it is busy."""
        if (declined := _declined(self._server.name, self._context.resumed)) is not None:
            return declined
        while True:
            self._attempts += 1
            try:
                return await self._once()
            except _Outdated as refused:
                return self._output(_perhaps(refused.output) if self._resumed else refused.output)
            except SignInNeeded as error:
                return self._paused(error)
            except CannotAsk as error:
                if (outcome := self._asked_in_vain(error, safe=safe)) is not None:
                    return outcome
            except ChannelError as error:
                busy = error.status in TURNED_AWAY
                again = (
                    self._attempts <= (limits.MODEL_TRIES if busy else 1)
                    and (safe or not error.sent)
                    and not self._stopped
                )
                if isinstance(error, _NotStarted) or not again:
                    return self._failed(error)
                if busy:
                    await self._wait(error)

    @property
    def _stopped(self) -> bool:
        """Return whether a person stopped the server under this call: then it is not started again for it."""
        return self._connection is not None and self._connection.stopped

    def _asked_in_vain(self, error: CannotAsk, *, safe: bool) -> ToolOutput | ToolPaused | None:
        """Go over to the older era, where the server can ask; None when the call is made again at once."""
        self._server.breaker.succeeded()
        if not self._server.fall_back():
            return self._output(_could_not_ask(self._server, error))
        self._resumed = None
        return None if safe else _again(self._server.name)

    async def _wait(self, error: ChannelError) -> None:
        """Give a busy server the time that it asks for, or longer each time; that time is told and not the call's."""
        # Those that were turned away together do not come back together.
        varied = random.uniform(1, 1 + limits.BACKOFF_JITTER)  # noqa: S311
        until = time.monotonic() + patience(self._attempts, error.retry_after) * varied
        while (left := until - time.monotonic()) > 0:
            self._feedback.waits(waiting(error, left))
            await asyncio.sleep(min(left, limits.STARTING_TOLD))

    async def _once(self) -> ToolOutput | ToolPaused:
        # Imported at the first call: a run that only offers tools does without.
        from pilothouse.mcp.client.content import checked_output  # noqa: PLC0415
        from pilothouse.mcp.client.session import BadAnswer, InputRequired, RpcError  # noqa: PLC0415

        server, context = self._server, self._context
        try:
            session, reply = await self._replied()
        except RpcError as error:
            server.breaker.succeeded()
            return self._output(_failure("TOOL_ERROR", error.message))
        except BadAnswer as error:
            server.breaker.succeeded()
            return self._output(_failure("BAD_ANSWER", f"“{server.name}” gave an answer that makes no sense: {error}"))
        server.breaker.succeeded()
        if isinstance(reply, InputRequired):
            handle = reply.state.get("held")
            if field := secret_asked(reply.asks):
                if isinstance(handle, str):
                    session.release(handle)
                return self._output(_secret(server.name, field))
            if isinstance(handle, str):
                server.paused_calls[context.call_id] = (session, handle)
            return ToolPaused(reply.asks, reply.state)
        return self._output(await checked_output(reply, self._promised))

    async def _replied(self) -> tuple[Session, JsonObject | InputRequired]:
        """Return what the server answered, and in which session; it is busy from before it is started."""
        context = self._context
        connection = self._server.connection_in(context.conversation_id, context.working_directory)
        self._connection = connection
        is_known = connection.up and self._attempts == 1
        with connection.using():
            try:
                session = await self._started()
            except SignInNeeded:
                raise
            except ChannelError as error:
                raise _NotStarted(error) from None
            # A server that has come up since may have another tool under that name than the one that was looked at.
            if not is_known and (refused := _outdated(self._server, self._tool)) is not None:
                raise _Outdated(refused)
            await session.tell_roots(roots_of(self._server.entry, connection.folders.common()))
            return session, await self._ask(session)

    async def _started(self) -> Session:
        """Return the session; while the server starts, the call's own clock does not run."""
        server, conversation = self._server, self._context.conversation_id
        if server.connection(conversation).up:
            return await server.session(conversation)
        starting = asyncio.ensure_future(server.session(conversation))
        self._feedback.waits(f"Starting {server.name}...")
        try:
            await asyncio.wait([starting])
        finally:
            starting.cancel()
        return starting.result()

    async def _ask(self, session: Session) -> JsonObject | InputRequired:
        resumed, progress = self._resumed, self._feedback.progress
        self._feedback.begins()
        async with session.kept_alive(self._feedback.sign):
            if resumed is None:
                return await session.call_tool(self._name, self._arguments, on_progress=progress)
            self._server.paused_calls.pop(self._context.call_id, None)
            return await session.resume_call(
                self._name, self._arguments, resumed.state, resumed.answers, on_progress=progress
            )

    def _paused(self, needed: SignInNeeded) -> ToolPaused:
        """Let the run wait until the person signed in; nothing was carried out."""
        self._server.asked_to_sign_in(needed)
        before = self._resumed
        state = {"state": before.state, "answers": dict(before.answers)} if before else {}
        resumed = self._context.resumed
        tried = f"{SIGN_IN_FAILED} " if resumed is not None and _SIGN_IN in resumed.state else ""
        ask = Ask(id=_SIGN_IN, kind="sign_in", message=f"{tried}{needed.message}")
        return ToolPaused((ask,), {_SIGN_IN: state})

    def _failed(self, error: ChannelError) -> ToolOutput:
        server = self._server
        if isinstance(error, _NotStarted):
            if not isinstance(error.cause, NeedsConsent | NoRoom):
                server.breaker.failed()
            message = f"“{server.name}” is not available. {error.cause.outline}"
            code = "NEEDS_CONSENT" if isinstance(error.cause, NeedsConsent) else "SERVER_UNAVAILABLE"
            refused = _failure(code, message, retryable=True)
            return self._output(_perhaps(refused) if self._resumed else refused)
        server.breaker.failed()
        server.history.error(f"{self._name}: {error.message}")
        if error.status in (401, 403, 429):
            return self._output(_failure("SERVER_REFUSED", error.outline, retryable=error.status == 429))
        after = _PERHAPS if error.sent else "It was not carried out."
        return self._output(_failure("SERVER_LOST", f"{error.outline} {after}", retryable=not error.sent))

    def _output(self, output: ToolOutput) -> ToolOutput:
        if self._attempts == 1:
            return output
        data = {**output.data, "attempts": self._attempts}
        return ToolOutput(output.text, output.error, data, output.parts)


def _host(url: str) -> str:
    """Return where a server is; nothing for one on this machine, whose own name says more."""
    host = urlsplit(origin_of(url)).hostname or ""
    return "" if is_loopback_host(host) else host


class _Outdated(Exception):
    """The tool is not the one any more that the run began with; nothing was sent."""

    def __init__(self, output: ToolOutput) -> None:
        super().__init__(output.text)
        self.output = output


class _NotStarted(ChannelError):
    """The server could not be reached at all."""

    def __init__(self, cause: ChannelError) -> None:
        super().__init__(cause.message, fix=cause.fix, sent=False, status=cause.status)
        self.cause = cause


def _before_signing_in(resumed: Resumed | None) -> Resumed | None:
    """Return what a call goes on from, a sign-in in between left out."""
    if resumed is None or _SIGN_IN not in resumed.state:
        return resumed
    before = resumed.state[_SIGN_IN]
    return Resumed(before["state"], before["answers"]) if before else None


def _declined(server: str, resumed: Resumed | None) -> ToolOutput | None:
    """Return what a call ends with whose person did not do what it was paused for."""
    if _refused(_SIGN_IN, resumed):
        return _failure("SIGN_IN_NEEDED", f"The person did not sign in to “{server}”.")
    if _refused(_AGAIN, resumed):
        message = f"“{server}” could not ask what it wanted to, and the person does not want the call made again."
        return _failure("COULD_NOT_ASK", f"{message} {_PERHAPS}")
    return None


def _refused(question: str, resumed: Resumed | None) -> bool:
    """Return whether the person was asked this and did not accept."""
    if resumed is None or question not in resumed.state:
        return False
    return resumed.answers.get(question, {}).get("action") != "accept"


def _again(server: str) -> ToolPaused:
    """Let the person decide whether a call is made again in which the server could not ask."""
    message = (
        f"“{server}” wanted to ask you something in the middle of this call and could not: the newest protocol does "
        "not have that. It is spoken to in the older one now. Part of the call may have been done. Accept to have it "
        "made again from its beginning."
    )
    return ToolPaused((Ask(id=_AGAIN, kind="form", message=message),), {_AGAIN: True})


def _state(resumed: Resumed | None) -> JsonObject:
    return resumed.state if resumed is not None else {}


def _could_not_ask(server: Server, error: CannotAsk) -> ToolOutput:
    chosen = server.entry.config.era == "modern"
    why = f" “{server.name}” is set to the newest protocol only; the person can set its era to auto." if chosen else ""
    return _failure("TOOL_ERROR", f"{error.message}{why} {_PERHAPS}")


def _outdated(server: Server, tool: ServerTool) -> ToolOutput | None:
    """Return why a tool as it was when the run began must not be called any more; None when it may be."""
    if not server.current or not server.entry.enabled:
        return _failure("SERVER_OFF", f"The server “{server.name}” was switched off or changed.")
    state, fingerprint = server.parts.catalogue.state(server.entry, tool.name)
    if state is None:
        return _failure("TOOL_NOT_FOUND", f"The server “{server.name}” does not offer {tool.name} any more.")
    if state != "offered" or fingerprint != tool.fingerprint:
        message = f"The definition of {tool.qualified_name} changed; the person must look at it first."
        return _failure("TOOL_CHANGED", message)
    return None


def _perhaps(refused: ToolOutput) -> ToolOutput:
    """Return a refusal for a call that the server had begun before it asked something."""
    code = refused.error.code if refused.error is not None else ""
    return _failure(code, f"{refused.text} {_PERHAPS}")


def _secret(server: str, field: str) -> ToolOutput:
    message = (
        f"“{server}” asked for “{field[:_SHOWN_CHARS]}” in a form. Secrets are not asked for in a conversation; "
        f"nothing was sent. Give it to the server in Settings, MCP. {_PERHAPS}"
    )
    return _failure("SECRET_ASKED", message)


def _failure(code: str, message: str, *, retryable: bool = False) -> ToolOutput:
    return ToolOutput(text=message, error=ToolError(code, message, retryable))
