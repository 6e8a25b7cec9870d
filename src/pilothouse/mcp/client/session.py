"""A connection that speaks MCP: both eras behind one set of verbs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from pilothouse.mcp.client.channel import Channel, ChannelError
from pilothouse.mcp.client.handshake import (
    Client,
    ExitedOnProbe,
    NoHandshake,
    ServerFacts,
    SpokenEra,
    handshake,
    modern_headers,
    negotiate,
)
from pilothouse.mcp.client.jsonrpc import (
    METHOD_NOT_FOUND,
    BadAnswer,
    ConnectionLost,
    Handlers,
    JsonRpc,
    OnProgress,
    RpcError,
    Tap,
)
from pilothouse.mcp.client.paused_calls import PAUSED, REPEAT, URL_NEEDED, InputRequired, PausedCall, ask_of, asks_of
from pilothouse.mcp.client.server_requests import CannotAsk, check_error, check_result
from pilothouse.mcp.client.tool_lists import ToolListing, list_tools
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.servers import Era

__all__ = [
    "BadAnswer",
    "CannotAsk",
    "ConnectionLost",
    "ExitedOnProbe",
    "InputRequired",
    "RpcError",
    "ServerFacts",
    "Session",
    "SessionOptions",
    "ToolListing",
    "connect",
]


def _nothing(*_: object) -> None:
    """Hear something and do nothing."""


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to connect, and who hears what the server says by itself."""

    client_version: str
    era: Era = "auto"
    # What was found out before; spares the question.
    remembered: SpokenEra | None = None
    # It was found out that it needs the handshake era; where it refuses that, the modern one is better than nothing.
    fallback: bool = False
    connect_timeout: float = limits.MCP_CONNECT
    probe_timeout: float = limits.PROBE_TIMEOUT
    # Addresses of folders that the server is told it may work in; more may be named later where it says so.
    roots: Sequence[str] = ()
    more_roots: bool = False
    on_tools_changed: Callable[[], None] = _nothing
    # Level, text.
    on_log: Callable[[str, str], None] = _nothing
    # What it was, why it is no message.
    on_garbage: Callable[[str, str], None] = _nothing
    tap: Tap | None = None


async def connect(channel: Channel, options: SessionOptions) -> Session:
    """Open a channel and agree on the protocol; raise a ChannelError that says why not. A failed channel is closed."""
    session = Session(channel, options)
    try:
        async with asyncio.timeout(options.connect_timeout):
            await session.open()
    except BaseException as error:
        await session.close()
        if isinstance(error, TimeoutError):
            message = f"It did not answer within {options.connect_timeout:g} s."
            raise ChannelError(message, fix="Check that it is an MCP server, or allow more time.", sent=False) from None
        raise
    return session


class Session:
    """One open connection; `facts` says with whom."""

    facts: ServerFacts

    def __init__(self, channel: Channel, options: SessionOptions) -> None:
        self._options = options
        self._client = Client(options.client_version, roots=options.more_roots or bool(options.roots))
        self._root_list = tuple(options.roots)
        # Whether it was ever given one.
        self.has_roots = False
        # Set while the server knows the newest roots; None until it asked for the first time.
        self._roots_known: asyncio.Event | None = None
        handlers = Handlers(self._notified, self._requested, options.on_garbage)
        self._rpc = JsonRpc(channel, handlers, options.tap)
        # The schemas of the tools, for arguments that are repeated in headers.
        self._schemas: dict[str, JsonObject] = {}
        # Calls of the handshake era that are under way, oldest first, and those that wait for the person.
        self._running: dict[int, PausedCall] = {}
        self._paused: dict[str, PausedCall] = {}
        self._expiries: dict[str, asyncio.TimerHandle] = {}
        self._listening: asyncio.Task[None] | None = None

    @property
    def closed(self) -> asyncio.Future[ChannelError | None]:
        return self._rpc.closed

    @property
    def strays(self) -> int:
        """Return how many answers came that nobody had asked for."""
        return self._rpc.strays

    @property
    def paused_count(self) -> int:
        """Return how many calls wait for the person in this connection, and end with it."""
        return len(self._paused)

    async def open(self) -> None:
        """Connect and find out what the server speaks."""
        await self._rpc.open()
        self.facts = facts = await self._negotiate()
        changes = facts.capabilities.get("tools")
        if facts.era == "modern" and isinstance(changes, dict) and changes.get("listChanged"):
            self._listening = asyncio.create_task(self._listen(), name="mcp-listen")

    async def _negotiate(self) -> ServerFacts:
        options = self._options
        try:
            if options.era == "handshake" or (options.era == "auto" and options.remembered == "handshake"):
                return await handshake(self._rpc, self._client)
        except NoHandshake:
            if not options.fallback:
                raise
        return await negotiate(self._rpc, self._client, options.probe_timeout, modern=options.era == "modern")

    # --- asking ---

    async def request(self, method: str, params: JsonObject) -> JsonObject:
        """Ask anything; raise RpcError, BadAnswer or a ChannelError."""
        sent, headers = self._stamped(method, params)
        return await self._rpc.request(method, sent, headers=headers)

    async def list_tools(self) -> ToolListing:
        """Return the server's tools; raise a ChannelError when it cannot list them."""
        try:
            listing = await list_tools(self.request)
        except TimeoutError:
            raise ChannelError(f"It did not list its tools within {limits.LIST_TIMEOUT:g} s.") from None
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND:
                return ToolListing([], notes=["the server has no tools/list"])
            raise ChannelError(f"It could not list its tools: {error.message}") from None
        except BadAnswer as error:
            raise ChannelError(f"Its list of tools cannot be read: {error.message}.") from None
        self._schemas = {
            tool["name"]: tool["inputSchema"]
            for tool in listing.tools
            if isinstance(tool.get("name"), str) and isinstance(tool.get("inputSchema"), dict)
        }
        return listing

    async def ping(self) -> None:
        """Ask for a sign of life; a server that says it does not know the question is alive."""
        method = "ping" if self.facts.era == "handshake" else "server/discover"
        sent, headers = self._stamped(method, {})
        with contextlib.suppress(RpcError, BadAnswer):
            await self._rpc.request(method, sent, headers=headers, quiet=True)

    @contextlib.asynccontextmanager
    async def kept_alive(self, heard: Callable[[], None]) -> AsyncIterator[None]:
        """Report everything that the server sends; when it sends nothing, ask for a sign of life.

        What is not answered ends nothing: a tool may hold up its own server until it is done.
        """
        self._rpc.listeners.append(heard)
        asking = asyncio.create_task(self._ping_when_silent(), name="mcp-pings")
        try:
            yield
        finally:
            self._rpc.listeners.remove(heard)
            asking.cancel()
            await asyncio.wait([asking])

    async def _ping_when_silent(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(max(0.0, self._rpc.heard_at + limits.SIGN_ASKED - clock()) or limits.SIGN_ASKED)
            if clock() - self._rpc.heard_at >= limits.SIGN_ASKED:
                with contextlib.suppress(ChannelError):
                    await self.ping()

    async def call_tool(
        self, name: str, arguments: JsonObject, *, on_progress: OnProgress | None = None
    ) -> JsonObject | InputRequired:
        """Call a tool; cancelling this tells the server."""
        return await self._call({"name": name, "arguments": arguments}, on_progress)

    async def resume_call(
        self,
        name: str,
        arguments: JsonObject,
        state: JsonObject,
        answers: Mapping[str, JsonObject],
        *,
        on_progress: OnProgress | None = None,
    ) -> JsonObject | InputRequired:
        """Go on with a call that asked something; raise ConnectionLost when the server does not know of it any more."""
        if PAUSED in state:
            return await self._resume_paused(str(state[PAUSED]), answers, on_progress)
        if REPEAT in state:
            if any(answer.get("action") != "accept" for answer in answers.values()):
                raise RpcError(URL_NEEDED, "The person did not open the address that the server asked for.")
            return await self._call({"name": name, "arguments": arguments}, on_progress)
        return await self._call(_answered({"name": name, "arguments": arguments}, state, answers), on_progress)

    async def tell_roots(self, roots: Sequence[str]) -> None:
        """Offer these folders from now on; one that looks at them is given a moment to ask for them anew."""
        if tuple(roots) == self._root_list or not self._client.roots:
            return
        self._root_list = tuple(roots)
        if self.facts.era == "modern":
            return
        if self._roots_known is not None:
            self._roots_known.clear()
        # A connection that broke meanwhile says so at the call.
        with contextlib.suppress(TimeoutError, ChannelError):
            await self._rpc.notify("notifications/roots/list_changed")
            if self._roots_known is not None:
                async with asyncio.timeout(limits.ROOTS_ASKED):
                    await self._roots_known.wait()
                    await self.ping()
                # What it was told it looks up on its disk first.
                await asyncio.sleep(limits.ROOTS_TAKEN)

    def release(self, handle: str) -> None:
        """Give up a call that waits for the person, and tell the server."""
        paused = self._paused.pop(handle, None)
        if paused is not None:
            self._let_go(paused)
            self._rpc.give_up(paused.call)

    async def _call(self, params: JsonObject, on_progress: OnProgress | None) -> JsonObject | InputRequired:
        for _ in range(limits.INPUT_ROUNDS):
            sent, headers = self._stamped("tools/call", params)
            call = await self._rpc.begin("tools/call", sent, headers=headers, on_progress=on_progress)
            try:
                result: JsonObject | InputRequired = await self._outcome(PausedCall(call))
            except RpcError as error:
                asks = asks_of(error)
                if not asks:
                    if self.facts.era == "modern":
                        check_error(error.message, roots=self._client.roots)
                    raise
                return InputRequired(asks, {REPEAT: True})
            if isinstance(result, InputRequired):
                return result
            if result.get("resultType") != "input_required":
                if self.facts.era == "modern":
                    check_result(result, roots=self._client.roots)
                return result
            required = self._required(result)
            if required.asks:
                return required
            # The server needs nothing of the person: what it needs is known, or it only wants to be asked again.
            await asyncio.sleep(0 if required.state["answered"] else limits.INPUT_WAIT)
            params = _answered(params, required.state, {})
        raise BadAnswer("it asks for input again and again without saying for which")

    async def _outcome(self, paused: PausedCall) -> Any:
        self._running[paused.call.id] = paused
        try:
            return await self._rpc.outcome(paused.call)
        finally:
            del self._running[paused.call.id]

    def _required(self, result: JsonObject) -> InputRequired:
        """Return what a result of the modern era asks of the person; the rest is answered at once."""
        wanted = result.get("inputRequests")
        asks, answered = [], {}
        for name, request in wanted.items() if isinstance(wanted, dict) else ():
            method = request.get("method") if isinstance(request, dict) else None
            if method == "elicitation/create":
                asks.append(ask_of(name, request.get("params") or {}))
            elif method == "roots/list" and self._client.roots:
                answered[name] = self._roots()
            else:
                raise BadAnswer(f"it asks for {method}, which was not offered")
        return InputRequired(tuple(asks), {"requestState": result.get("requestState"), "answered": answered})

    async def _resume_paused(
        self, handle: str, answers: Mapping[str, JsonObject], on_progress: OnProgress | None
    ) -> JsonObject | InputRequired:
        paused = self._paused.pop(handle, None)
        if paused is None:
            raise ConnectionLost("The server was restarted while it waited for the answer.")
        self._expiries.pop(handle).cancel()
        paused.call.on_progress = on_progress
        paused.answer(answers)
        more = paused.pending()
        if more is not None:
            self._pause(paused)
            return more
        result: JsonObject | InputRequired = await self._outcome(paused)
        return result

    def _pause(self, paused: PausedCall) -> None:
        self._paused[paused.handle] = paused
        later = asyncio.get_running_loop().call_later
        self._expiries[paused.handle] = later(limits.HELD_CALL, self.release, paused.handle)

    def _let_go(self, paused: PausedCall) -> None:
        paused.drop()
        paused.call.forget()
        timer = self._expiries.pop(paused.handle, None)
        if timer is not None:
            timer.cancel()

    def _stamped(self, method: str, params: JsonObject) -> tuple[JsonObject, Mapping[str, str] | None]:
        """Return a request's parameters and headers as the era wants them."""
        if self.facts.era == "handshake":
            return params, None
        schema = self._schemas.get(str(params.get("name"))) if method == "tools/call" else None
        sent = {**params, "_meta": {**params.get("_meta", {}), **self._client.meta()}}
        return sent, modern_headers(method, params, schema)

    # --- hearing ---

    def _notified(self, method: str, params: JsonObject) -> None:
        if method == "notifications/tools/list_changed":
            self._options.on_tools_changed()
        elif method == "notifications/message":
            data = params.get("data")
            text = data if isinstance(data, str) else msgspec.json.encode(data).decode()
            source = params.get("logger")
            self._options.on_log(str(params.get("level") or "info"), f"{source}: {text}" if source else text)

    def _requested(self, method: str, params: JsonObject) -> Awaitable[JsonObject] | None:
        if method == "ping":
            return _done({})
        if method == "roots/list" and self._client.roots:
            return _done(self._roots())
        if method == "elicitation/create" and (self._running or self._paused):
            return self._elicit(params)
        return None

    async def _elicit(self, params: JsonObject) -> JsonObject:
        # The protocol does not say for which call it asks; servers that ask do one thing at a time.
        paused = next(iter((self._running or self._paused).values()))
        answer = paused.ask(ask_of(uuid4().hex, params))
        if paused.handle not in self._paused:
            self._pause(paused)
        try:
            return await answer
        except asyncio.CancelledError:
            return {"action": "cancel"}

    def _roots(self) -> JsonObject:
        self._roots_known = self._roots_known or asyncio.Event()
        self._roots_known.set()
        self.has_roots = self.has_roots or bool(self._root_list)
        return {"roots": [{"uri": uri} for uri in self._root_list]}

    async def _listen(self) -> None:
        """Hear of changes for as long as the connection lasts."""
        while True:
            params: JsonObject = {"notifications": {"toolsListChanged": True}}
            try:
                await self.request("subscriptions/listen", params)
            except (RpcError, BadAnswer, ConnectionLost):
                return
            except ChannelError:
                pass
            await asyncio.sleep(limits.LISTEN_AGAIN)
            # What changed while nobody listened is not told again.
            self._options.on_tools_changed()

    # --- the end ---

    async def close(self) -> None:
        """End the connection and give up every call, also when this is cancelled."""
        for handle in list(self._paused):
            self.release(handle)
        try:
            if self._listening is not None:
                self._listening.cancel()
                await asyncio.wait([self._listening])
        finally:
            await self._rpc.close()


def _answered(params: JsonObject, state: JsonObject, answers: Mapping[str, JsonObject]) -> JsonObject:
    """Return a call of the modern era as it is made again, with what was asked during the last one."""
    again = {**params, "inputResponses": {**state.get("answered", {}), **answers}}
    if state.get("requestState") is not None:
        again["requestState"] = state["requestState"]
    return again


async def _done(result: JsonObject) -> JsonObject:
    return result
