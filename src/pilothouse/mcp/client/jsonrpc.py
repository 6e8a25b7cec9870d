"""JSON-RPC with one server: who asked what, who waits for which answer, and who does not wait any more."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from pilothouse.mcp.client.channel import (
    Channel,
    ChannelError,
    Garbage,
    Incoming,
    Message,
    Outgoing,
    RequestId,
    Undeliverable,
)
from pilothouse.types import limits
from pilothouse.types.json import JsonObject, an_object, encode

METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
# Characters of a method's name that are repeated in an error.
_METHOD_SHOWN = 200

OnProgress = Callable[[float | None, float | None, str], None]
# Direction, the message, its size in bytes.
Tap = Callable[[str, JsonObject, int], None]


class RpcError(Exception):
    """The server's own error answer."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class BadAnswer(Exception):
    """The server answered this request with something that is no answer."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ConnectionLost(ChannelError):
    """The connection ended before the answer came."""


class Handlers(NamedTuple):
    """Who takes what a server sends by itself."""

    # Method and parameters.
    on_notification: Callable[[str, JsonObject], None]
    # The same; None for a method that is not offered.
    on_request: Callable[[str, JsonObject], Awaitable[JsonObject] | None]
    # What it was, why it is no message.
    on_garbage: Callable[[str, str], None]


class Call:
    """A request on its way, from its id to its answer."""

    __slots__ = ("future", "id", "method", "on_progress", "quiet")

    def __init__(self, number: int, method: str, on_progress: OnProgress | None, quiet: bool) -> None:
        self.id = number
        self.method = method
        self.on_progress = on_progress
        # Nobody is told when it is given up.
        self.quiet = quiet
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def interrupt(self, value: object) -> None:
        """Give whoever waits this value now; the answer itself is waited for anew."""
        waiting, self.future = self.future, asyncio.get_running_loop().create_future()
        if not waiting.done():
            waiting.set_result(value)

    def forget(self) -> None:
        """Nobody will look at the answer, whatever it is."""
        if not self.future.cancel() and not self.future.cancelled():
            self.future.exception()


class JsonRpc:
    """One end of a connection: ids, answers, progress, cancelling, and the server's own requests."""

    def __init__(self, channel: Channel, handlers: Handlers, tap: Tap | None = None) -> None:
        self._channel = channel
        self._handlers = handlers
        self._tap = tap
        self._calls: dict[int, Call] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._last_id = 0
        self._answering = 0
        # Answers to requests of the server that it has not read yet, and their size.
        self._unread_answers = 0
        self._unread_bytes = 0
        # Answers to nothing that was asked, or to what was answered before.
        self.strays = 0
        # When the server last sent anything, on the loop's clock, and who wants to know of each time.
        self.heard_at = asyncio.get_running_loop().time()
        self.listeners: list[Callable[[], None]] = []
        # What every message carries beside its body, once the version is known.
        self.headers: Mapping[str, str] = {}

    async def open(self) -> None:
        await self._channel.open(self._arrived)
        self._channel.closed.add_done_callback(self._lost)

    @property
    def closed(self) -> asyncio.Future[ChannelError | None]:
        return self._channel.closed

    # --- asking ---

    async def request(
        self,
        method: str,
        params: JsonObject,
        *,
        headers: Mapping[str, str] | None = None,
        quiet: bool = False,
    ) -> JsonObject:
        """Ask and return the result; cancelling this tells the server."""
        call = await self.begin(method, params, headers=headers, quiet=quiet)
        result: JsonObject = await self.outcome(call)
        return result

    async def begin(
        self,
        method: str,
        params: JsonObject,
        *,
        headers: Mapping[str, str] | None = None,
        on_progress: OnProgress | None = None,
        quiet: bool = False,
    ) -> Call:
        """Send a request and return it; its outcome is awaited by `outcome`."""
        if self._channel.closed.done():
            raise ConnectionLost(_why(self._channel.closed), sent=False)
        self._last_id += 1
        call = Call(self._last_id, method, on_progress, quiet)
        if on_progress is not None:
            params = {**params, "_meta": {**params.get("_meta", {}), "progressToken": call.id}}
        message = {"jsonrpc": "2.0", "id": call.id, "method": method, "params": params}
        self._calls[call.id] = call
        try:
            await self._send(message, call.id, method, headers)
        except asyncio.CancelledError:
            # It may be on its way all the same.
            self.give_up(call)
            raise
        except BaseException:
            self._calls.pop(call.id, None)
            raise
        return call

    async def outcome(self, call: Call) -> Any:
        """Wait for a request's answer, or for what interrupts it; giving up waiting gives up the request."""
        try:
            return await call.future
        except asyncio.CancelledError:
            self.give_up(call)
            raise

    def give_up(self, call: Call) -> None:
        """Tell the server that nobody waits for this answer any more."""
        if self._calls.pop(call.id, None) is None or self._channel.closed.done():
            return
        self._channel.abandon(call.id)
        if not call.quiet:
            told = {"requestId": call.id, "reason": "cancelled"}
            self._later(lambda: self.notify("notifications/cancelled", told))

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Tell the server something."""
        message: JsonObject = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        await self._send(message, None, method, None)

    async def _send(
        self, message: JsonObject, number: RequestId | None, method: str, headers: Mapping[str, str] | None
    ) -> None:
        await self._channel.send(self._outgoing(message, number, method, headers))

    def _outgoing(
        self, message: JsonObject, number: RequestId | None, method: str, headers: Mapping[str, str] | None
    ) -> Outgoing:
        body = encode(message)
        if self._tap is not None:
            self._tap("out", message, len(body))
        carried = {**self.headers, **headers} if headers else self.headers
        return Outgoing(body=body, id=number, method=method, headers=carried)

    # --- hearing ---

    def _arrived(self, incoming: Incoming) -> None:
        if not isinstance(incoming, Undeliverable):
            self.heard_at = asyncio.get_running_loop().time()
            for heard in self.listeners:
                heard()
        if isinstance(incoming, Message):
            if self._tap is not None:
                self._tap("in", incoming.value, incoming.size)
            self._take(incoming.value)
        elif isinstance(incoming, Garbage):
            self._handlers.on_garbage(incoming.text, incoming.why)
            self._fail(incoming.id, BadAnswer(incoming.why))
        else:
            self._fail(incoming.id, incoming.error)

    def _take(self, message: JsonObject) -> None:
        method = message.get("method")
        if method is None:
            self._answered(message)
        elif not isinstance(method, str):
            self._handlers.on_garbage(str(message)[: limits.GARBAGE_BYTES], "a method that is no text")
        elif message.get("id") is not None:
            if not self._channel.closed.done():
                self._later(lambda: self._answer(message["id"], method, an_object(message.get("params"))))
        elif method == "notifications/progress":
            self._progressed(an_object(message.get("params")))
        else:
            self._handlers.on_notification(method, an_object(message.get("params")))

    def _answered(self, message: JsonObject) -> None:
        number = message.get("id")
        # Exactly as it was asked: `true` is not 1, and a text is not a number.
        call = self._calls.pop(number, None) if type(number) is int else None
        if call is None or call.future.done():
            self.strays += 1
            return
        error, result = message.get("error"), message.get("result")
        if error is not None:
            call.future.set_exception(_rpc_error(error))
        elif isinstance(result, dict):
            call.future.set_result(result)
        elif isinstance(result, list):
            call.future.set_result({"items": result})
        elif "result" in message and result is None:
            call.future.set_result({})
        else:
            call.future.set_exception(BadAnswer("neither a result nor an error"))

    def _fail(self, number: RequestId | None, error: Exception) -> None:
        call = self._calls.pop(number, None) if type(number) is int else None
        if call is not None and not call.future.done():
            call.future.set_exception(error)

    def _progressed(self, params: JsonObject) -> None:
        token = params.get("progressToken")
        call = self._calls.get(token) if type(token) is int else None
        if call is None or call.on_progress is None:
            self.strays += 1
            return
        message = params.get("message")
        call.on_progress(
            _number(params.get("progress")),
            _number(params.get("total")),
            message if isinstance(message, str) else "",
        )

    async def _answer(self, number: RequestId, method: str, params: JsonObject) -> None:
        reply: JsonObject = {"jsonrpc": "2.0", "id": number}
        answer = self._handlers.on_request(method, params) if self._answering < limits.SERVER_REQUESTS else None
        # Large parameters are not kept while the answer waits.
        del params
        if answer is None:
            reply["error"] = {"code": METHOD_NOT_FOUND, "message": f"{method[:_METHOD_SHOWN]} is not offered"}
        else:
            self._answering += 1
            try:
                reply["result"] = await answer
            except RpcError as error:
                reply["error"] = {"code": error.code, "message": error.message}
            finally:
                self._answering -= 1
        await self._send_answer(self._outgoing(reply, None, "", None))

    async def _send_answer(self, answer: Outgoing) -> None:
        """Send an answer; a server that leaves too many of them unread is stopped."""
        size = len(answer.body)
        many = self._unread_answers >= limits.SERVER_ANSWERS
        if many or (self._unread_answers and self._unread_bytes + size > limits.SERVER_ANSWERS_BYTES):
            if not self._channel.closed.done():
                message = "The server does not read the answers to its own requests; it was stopped."
                self._channel.fail(ChannelError(message))
            return
        self._unread_answers += 1
        self._unread_bytes += size
        try:
            await self._channel.send(answer)
        finally:
            self._unread_answers -= 1
            self._unread_bytes -= size

    # --- the end ---

    def _lost(self, closed: asyncio.Future[ChannelError | None]) -> None:
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if not call.future.done():
                call.future.set_exception(ConnectionLost(_why(closed)))
                # Whoever waited may be gone already.
                call.future.exception()

    def _later(self, work: Callable[[], Awaitable[None]]) -> None:
        task = asyncio.ensure_future(_forgiving(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End the connection, also when this is cancelled; what is still to be told is told first, if that is quick."""
        try:
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=limits.MCP_GOODBYE)
        finally:
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)
            await self._channel.close()


async def _forgiving(work: Callable[[], Awaitable[None]]) -> None:
    """Do something that nobody waits for; a connection that broke meanwhile says so elsewhere."""
    doing = work()
    # It may hold a large message.
    del work
    try:
        await doing
    except ChannelError:
        return


def _why(closed: asyncio.Future[ChannelError | None]) -> str:
    error = None if closed.cancelled() else closed.result()
    return error.message if error is not None else "The connection was closed."


def _rpc_error(error: object) -> Exception:
    if isinstance(error, str):
        return RpcError(INTERNAL_ERROR, error)
    if not isinstance(error, dict):
        return BadAnswer("an error that says nothing")
    code, message = error.get("code"), error.get("message")
    return RpcError(
        code if type(code) is int else INTERNAL_ERROR,
        message if isinstance(message, str) and message else "The server reported an error without a message.",
        error.get("data"),
    )


def _number(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # JSON has numbers that are larger than any float.
    return float(value) if abs(value) <= sys.float_info.max else None
