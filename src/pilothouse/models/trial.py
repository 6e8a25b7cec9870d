"""Tests a model with a real, tiny request."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from pathlib import Path

from pilothouse.types import limits
from pilothouse.types.messages import Message, ModelRequest, TextBlock
from pilothouse.types.models import ModelTest
from pilothouse.types.ports import Model
from pilothouse.types.stream import CallStart, Failed, Retrying, Stopped, TextDelta, ThinkingDelta

_PROMPT = Path(__file__).with_name("trial_prompt.txt")


async def try_model(model: Model, *, timeout: float = limits.TEST_TIMEOUT) -> ModelTest:
    """Ask a model for a few tokens and say how long it took, or what the provider answered instead."""
    prompt = TextBlock(text=_PROMPT.read_text(encoding="utf-8").strip())
    request = ModelRequest(messages=(Message("user", (prompt,)),), max_tokens=limits.TEST_MAX_TOKENS)
    try:
        async with asyncio.timeout(timeout):
            return await _ask(model, request)
    except TimeoutError:
        return ModelTest(ok=False, message=f"No answer came within {timeout:g} s.")


async def _ask(model: Model, request: ModelRequest) -> ModelTest:
    start = time.perf_counter()
    first: int | None = None
    async with aclosing(model.stream(request)) as events:
        async for event in events:
            elapsed = round((time.perf_counter() - start) * 1000)
            match event:
                case TextDelta() | ThinkingDelta() | CallStart():
                    first = elapsed if first is None else first
                case Failed():
                    return ModelTest(ok=False, message=event.message, total_ms=elapsed)
                case Retrying():
                    # The person wants to know now, not after the patience of a run.
                    return ModelTest(ok=False, message=_sentence(event.why), total_ms=elapsed)
                case Stopped():
                    return ModelTest(ok=True, message=_success(first, elapsed), first_token_ms=first, total_ms=elapsed)
    return ModelTest(ok=False, message="The answer ended without an end.")


def _success(first: int | None, total: int) -> str:
    if first is None:
        return f"Answered in {total / 1000:.2f} s, without text."
    return f"Answered in {total / 1000:.2f} s; the first token came after {first / 1000:.2f} s."


def _sentence(why: str) -> str:
    why = why.strip() or "the provider is not ready"
    return f"{why[0].upper()}{why[1:]}" + ("" if why.endswith(".") else ".")
