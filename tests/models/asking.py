"""Asking a model in tests: requests, models on an endpoint, and what came back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, TypeVar

import pytest_asyncio

from pilothouse.models.factory import make_model
from pilothouse.net.loop_clients import close_clients
from pilothouse.types.messages import Message, ModelRequest, TextBlock, ToolSpec
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Model
from pilothouse.types.stream import CallEnd, Failed, StreamEvent, TextDelta, ThinkingDelta
from tests.support.scripted_endpoint import Endpoint
from tests.support.wire_writers import Wire

KEY = "sk-test-0123456789abcdef"
THINK = ToolSpec(
    "think",
    "Think about something.",
    {
        "type": "object",
        "properties": {"thought": {"type": "string", "format": "x-any"}, "more": {"$ref": "#/$defs/more"}},
        "required": ["thought"],
        "$defs": {"more": {"oneOf": [{"type": "integer"}, {"type": "null"}]}},
    },
)
E = TypeVar("E", bound=StreamEvent)


@pytest_asyncio.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """A model server on loopback."""
    async with Endpoint() as server:
        yield server
        await close_clients()


def said(text: str, *more: Message) -> ModelRequest:
    """Return a request with one message of the person, then more."""
    return ModelRequest(messages=(Message("user", (TextBlock(text=text),)), *more), system="Be brief.", tools=(THINK,))


def config_at(wire: Wire, url: str, **fields: Any) -> ModelConfig:
    """Return the configuration of a model at an address."""
    return ModelConfig(**{"name": "A model", "provider": wire, "model": "m", "base_url": url, **fields})


def model_at(wire: Wire, url: str, *, first_byte: float = 10.0, silence: float = 10.0, **fields: Any) -> Model:
    """Return a model that waits briefly before it asks again."""
    return make_model(config_at(wire, url, **fields), KEY, first_byte=first_byte, silence=silence, first_wait=0.01)


async def answer_of(model: Model, request: ModelRequest, timeout: float = 20.0) -> list[StreamEvent]:
    """Return all events of an answer."""
    async with asyncio.timeout(timeout), aclosing(model.stream(request)) as events:
        return [event async for event in events]


def of(kind: type[E], events: list[StreamEvent]) -> list[E]:
    """Return the events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def text_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in of(TextDelta, events))


def thinking_of(events: list[StreamEvent]) -> str:
    return "".join(event.text for event in of(ThinkingDelta, events))


def calls_of(events: list[StreamEvent]) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in of(CallEnd, events)]


def failure_of(events: list[StreamEvent]) -> Failed:
    """Return the failure that ends the answer."""
    assert isinstance(events[-1], Failed), events
    return events[-1]
