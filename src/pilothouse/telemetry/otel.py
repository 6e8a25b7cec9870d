"""Spans and metrics by the GenAI conventions of OpenTelemetry: an agent's invocation, and in it its chats and tools.

Made from what the timeline says, with the times that stand there. Names, numbers and ids: never what was said, asked
for or found.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from socket import gethostname

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context

from pilothouse import __version__
from pilothouse.telemetry.counters import Names, model_name, tool_name
from pilothouse.telemetry.facts import AnswerFacts, CallFacts, RunFacts
from pilothouse.types import limits
from pilothouse.types.runs import RunStatus

# The conventions' own bounds of tokens.
_TOKEN_BOUNDS = [float(4**power) for power in range(14)]
# What the conventions call those who answer; others are named as they are here.
_PROVIDERS = {
    "anthropic-compatible": "anthropic",
    "openai-compatible": "openai",
    "openai-responses": "openai",
    "gemini": "gcp.gemini",
    "bedrock-converse": "aws.bedrock",
}
_AGENT = "pilothouse"
# How each of our words for the end of an answer is called there.
_STOPS = {"end": "stop", "length": "length", "tool": "tool_calls"}
Attributes = dict[str, str | int | list[str]]


class OtelSink:
    """Sends a span for each run, answer and call, and the two metrics of models; implements `Sink`."""

    def __init__(self, provider_of: Callable[[str], str]) -> None:
        self._provider_of = provider_of
        resource = Resource.create(
            {
                "service.name": os.environ.get("OTEL_SERVICE_NAME") or "pilothouse",
                "service.version": __version__,
                "service.instance.id": f"{gethostname()}-{os.getpid()}",
            }
        )
        # Its own words about an endpoint that is away would stand on the console, over and over.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        self._meters = MeterProvider(metric_readers=[reader], resource=resource, shutdown_on_exit=False)
        self._tracer = self._traces.get_tracer("pilothouse", __version__)
        meter = self._meters.get_meter("pilothouse", __version__)
        self._duration = meter.create_histogram(
            "gen_ai.client.operation.duration",
            unit="s",
            description="GenAI operation duration.",
            explicit_bucket_boundaries_advisory=list(limits.REQUEST_BOUNDS),
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage",
            unit="{token}",
            description="Number of input and output tokens used.",
            explicit_bucket_boundaries_advisory=_TOKEN_BOUNDS,
        )
        self._models = Names()
        # The spans of runs at work here.
        self._runs: dict[str, Span] = {}

    # --- runs ---

    def began(self, run: RunFacts, waited: float | None) -> None:
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": _AGENT,
            "gen_ai.agent.name": _AGENT,
            "gen_ai.conversation.id": run.conversation_id,
            "pilothouse.run.id": run.id,
        }
        span = self._tracer.start_span(
            f"invoke_agent {_AGENT}", attributes=attributes, start_time=_nanoseconds(run.began_at)
        )
        self._runs[run.id] = span

    def left(self, run: RunFacts, status: RunStatus, at: float, error: str) -> None:
        if (span := self._runs.pop(run.id, None)) is not None:
            span.set_attribute("pilothouse.run.status", status)
            _end(span, at, error)

    def ended(self, status: RunStatus) -> None:
        """Nothing: a run's end is told with its span."""

    # --- what they do ---

    def answered(self, answer: AnswerFacts) -> None:
        model = self._models.of(model_name(answer.model))
        provider = self._provider(answer.model)
        shared: Attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
        }
        failed: Attributes = {"error.type": answer.error} if answer.error else {}
        own: Attributes = {
            "gen_ai.conversation.id": answer.conversation_id,
            "gen_ai.usage.input_tokens": answer.input_tokens,
            "gen_ai.usage.output_tokens": answer.output_tokens,
        }
        if answer.stop:
            own["gen_ai.response.finish_reasons"] = [_STOPS.get(answer.stop, answer.stop)]
        seconds = answer.seconds or 0.0
        times = (answer.ended_at - seconds, answer.ended_at)
        self._below(answer.run_id, f"chat {model}", times, {**shared, **own}, answer.error)
        if answer.seconds is not None:
            self._duration.record(answer.seconds, {**shared, **failed})
        for kind, count in (("input", answer.input_tokens), ("output", answer.output_tokens)):
            self._tokens.record(count, {**shared, "gen_ai.token.type": kind})

    def called(self, call: CallFacts) -> None:
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": call.tool[: limits.METRIC_NAME_CHARS],
            "gen_ai.tool.type": "extension" if call.server else "function",
            "gen_ai.tool.call.id": call.call_id[: limits.METRIC_NAME_CHARS],
            "gen_ai.conversation.id": call.conversation_id,
            "pilothouse.call.outcome": call.outcome,
        }
        error = call.error or ("" if call.outcome == "completed" else call.outcome)
        times = (call.ended_at - call.seconds, call.ended_at)
        self._below(call.run_id, f"execute_tool {tool_name(call)}", times, attributes, error)

    # --- sending ---

    def close(self) -> None:
        """Send what waits, within a bound, and end."""
        for span in self._runs.values():
            span.end()
        self._traces.force_flush(limits.TELEMETRY_FLUSH_MS)
        self._traces.shutdown()
        self._meters.shutdown(limits.TELEMETRY_FLUSH_MS)

    def _provider(self, model: str) -> str:
        provider = self._provider_of(model)
        return _PROVIDERS.get(provider, provider or "unknown")

    def _below(self, run_id: str, name: str, times: tuple[float, float], attributes: Attributes, error: str) -> None:
        """Make a span below its run's; one of its own where the run is not at work here."""
        parent = self._runs.get(run_id)
        span = self._tracer.start_span(
            name,
            context=set_span_in_context(parent) if parent is not None else None,
            kind=SpanKind.CLIENT if attributes["gen_ai.operation.name"] == "chat" else SpanKind.INTERNAL,
            attributes=attributes,
            start_time=_nanoseconds(times[0]),
        )
        _end(span, times[1], error)


def _end(span: Span, at: float, error: str) -> None:
    if error:
        span.set_attribute("error.type", error)
        span.set_status(Status(StatusCode.ERROR))
    span.end(_nanoseconds(at))


def _nanoseconds(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
