"""Traces and metrics by OpenTelemetry. Loaded only where an endpoint is set."""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import AsyncExitStack, suppress

from pilothouse.models.catalogue import ModelCatalogue
from pilothouse.telemetry.facts import Sink
from pilothouse.types.errors import PilothouseError

_log = logging.getLogger(__name__)
_MISSING = (
    "An endpoint for OpenTelemetry is set, and what sends to it is not installed, so nothing is sent: "
    "pip install 'pilothouse[telemetry]'."
)


def tracer(stack: AsyncExitStack, models: ModelCatalogue) -> Sink | None:
    """Return who sends traces and metrics; None, and a sentence, where what it takes is not installed."""
    try:
        from pilothouse.telemetry.otel import OtelSink
    except ImportError:
        _log.warning("%s", _MISSING)
        with suppress(OSError, AttributeError):
            sys.stderr.write(f"{_MISSING}\n")
        return None

    def provider(model: str) -> str:
        try:
            return models.provider_of(model)
        except PilothouseError:
            # It was removed meanwhile.
            return ""

    sink = OtelSink(provider)
    stack.push_async_callback(asyncio.to_thread, sink.close)
    return sink
