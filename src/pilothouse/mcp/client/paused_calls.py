"""Calls that wait for the person: the server asked something in the middle of one, and the connection stays open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from uuid import uuid4

import msgspec

from pilothouse.mcp.client.jsonrpc import Call, RpcError
from pilothouse.types.json import JsonObject, an_object, objects_in
from pilothouse.types.ports import Ask

PAUSED = "held"
# The call was refused until the person went to an address; afterwards it is made again.
REPEAT = "repeat"
URL_NEEDED = -32042


class InputRequired(msgspec.Struct, frozen=True):
    """The call cannot go on before these are answered; `state` comes back with the answers."""

    asks: tuple[Ask, ...]
    state: JsonObject


class PausedCall:
    """A call of the handshake era, and what the server asked during it."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.handle = uuid4().hex
        self._open: dict[str, tuple[Ask, asyncio.Future[JsonObject]]] = {}
        self._told: set[str] = set()

    def ask(self, ask: Ask) -> asyncio.Future[JsonObject]:
        """Let the person be asked; return where the answer will be."""
        answer: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._open[ask.id] = (ask, answer)
        # Whoever followed the call has been told that it waits.
        self.call.on_progress = None
        if not self._told:
            self.call.interrupt(self.pending())
        return answer

    def pending(self) -> InputRequired | None:
        """Return what is still to be answered; None when that is nothing."""
        if not self._open:
            return None
        self._told |= self._open.keys()
        return InputRequired(tuple(ask for ask, _ in self._open.values()), {PAUSED: self.handle})

    def answer(self, answers: Mapping[str, JsonObject]) -> None:
        """Hand the answers to the server's requests."""
        for name, content in answers.items():
            asked = self._open.pop(name, None)
            if asked is not None and not asked[1].done():
                asked[1].set_result(content)
        self._told.clear()

    def drop(self) -> None:
        """Let nobody wait for an answer any more."""
        for _, answer in self._open.values():
            answer.cancel()
        self._open.clear()


def ask_of(name: str, params: JsonObject) -> Ask:
    """Return a server's question as the person is asked it."""
    message = params.get("message")
    said = message if isinstance(message, str) else ""
    if params.get("mode") == "url":
        return Ask(id=name, kind="url", message=said, url=str(params.get("url") or ""))
    schema = params.get("requestedSchema")
    return Ask(id=name, kind="form", message=said, schema=schema if isinstance(schema, dict) else {"type": "object"})


def asks_of(error: RpcError) -> tuple[Ask, ...]:
    """Return the addresses that a refusal sends the person to; none for any other refusal."""
    found = objects_in(an_object(error.data).get("elicitations")) if error.code == URL_NEEDED else []
    return tuple(
        ask_of(str(one.get("elicitationId") or number), {**one, "mode": "url"}) for number, one in enumerate(found)
    )
