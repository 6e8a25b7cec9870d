"""Traces and metrics by OpenTelemetry, to a collector on loopback that takes them apart."""

from __future__ import annotations

import gzip
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.cli.test_start import imported
from tests.support.chats import Chat, open_chat
from tests.support.commands import environment, pilothouse
from tests.support.ports import free_port
from tests.support.tiny_http import Answer, Request, TinyHttp

SECRET = "a secret thought of mine"
CALL = [{"call": "think", "arguments": {"thoughts": SECRET}}]


class Collector(TinyHttp):
    """Takes what OTLP over HTTP brings."""

    def __init__(self) -> None:
        super().__init__(lambda _request: Answer(headers={"content-type": "application/x-protobuf"}))

    def _bodies(self, path: str) -> list[bytes]:
        return [_plain(request) for request in self.requests if request.target == path]

    @property
    def spans(self) -> list[Span]:
        found = [ExportTraceServiceRequest.FromString(body) for body in self._bodies("/v1/traces")]
        return [
            span for each in found for part in each.resource_spans for scope in part.scope_spans for span in scope.spans
        ]

    @property
    def metrics(self) -> dict[str, list[Any]]:
        found = [ExportMetricsServiceRequest.FromString(body) for body in self._bodies("/v1/metrics")]
        return {
            metric.name: list(metric.histogram.data_points)
            for each in found
            for part in each.resource_metrics
            for scope in part.scope_metrics
            for metric in scope.metrics
        }

    @property
    def everything(self) -> bytes:
        return b"".join(_plain(request) for request in self.requests)


def _plain(request: Request) -> bytes:
    return gzip.decompress(request.body) if request.headers.get("content-encoding") == "gzip" else request.body


def values(attributes: Any) -> dict[str, object]:
    return {each.key: _value(each) for each in attributes}


def _value(each: KeyValue) -> object:
    value: AnyValue = each.value
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [one.string_value for one in value.array_value.values]
    return getattr(value, kind) if kind else None


async def traced(home: Path, collector: Collector, turns: list[Any]) -> tuple[Chat, str]:
    async with open_chat(home, turns) as chat:
        run = await chat.say("A question that stays here")
    return chat, run.id


@pytest.fixture(autouse=True)
def quiet_again() -> Any:
    """The exporter's logger is one for the whole process."""
    logger = logging.getLogger("opentelemetry")
    before = logger.level
    yield
    logger.setLevel(before)


async def test_a_run_is_a_span_with_its_chats_and_tools_below_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        chat, run_id = await traced(home, collector, [CALL, ["An answer that stays here."]])
        spans = collector.spans
    (agent,) = [span for span in spans if span.name == "invoke_agent pilothouse"]
    below = [span for span in spans if span.parent_span_id == agent.span_id]
    model = next(span.name.removeprefix("chat ") for span in below if span.name.startswith("chat "))
    assert sorted(span.name for span in below) == sorted([f"chat {model}", f"chat {model}", "execute_tool think"])
    assert {span.trace_id for span in spans} == {agent.trace_id}
    about = values(agent.attributes)
    assert about["gen_ai.operation.name"] == "invoke_agent"
    assert about["gen_ai.conversation.id"] == chat.id
    assert (about["pilothouse.run.id"], about["pilothouse.run.status"]) == (run_id, "completed")
    answers = [values(span.attributes) for span in below if span.name == f"chat {model}"]
    assert {each["gen_ai.operation.name"] for each in answers} == {"chat"}
    assert {each["gen_ai.provider.name"] for each in answers} == {"scripted"}
    assert {each["gen_ai.request.model"] for each in answers} == {model}
    assert all(int(str(each["gen_ai.usage.input_tokens"])) > 0 for each in answers)
    assert [each["gen_ai.response.finish_reasons"] for each in answers] == [["tool_calls"], ["stop"]]
    (call,) = [values(span.attributes) for span in below if span.name == "execute_tool think"]
    assert (call["gen_ai.tool.name"], call["gen_ai.tool.type"]) == ("think", "function")
    assert call["pilothouse.call.outcome"] == "completed"
    for span in below:
        assert agent.start_time_unix_nano <= span.end_time_unix_nano <= agent.end_time_unix_nano


async def test_tokens_and_times_of_models_are_metrics(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        await traced(home, collector, [CALL, ["Done."]])
        metrics = collector.metrics
    (duration,) = metrics["gen_ai.client.operation.duration"]
    assert duration.count == 2
    assert values(duration.attributes)["gen_ai.operation.name"] == "chat"
    tokens = {
        str(values(point.attributes)["gen_ai.token.type"]): point for point in metrics["gen_ai.client.token.usage"]
    }
    assert tokens.keys() == {"input", "output"}
    assert tokens["input"].count == 2
    assert tokens["input"].sum > tokens["output"].sum > 0


async def test_what_was_said_asked_for_or_found_is_never_sent(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        await traced(home, collector, [CALL, ["An answer that stays here."]])
        sent = collector.everything
    assert b"invoke_agent" in sent
    for private in (SECRET, "stays here", str(home), str(home.parent)):
        assert private.encode() not in sent


@pytest.mark.slow
async def test_a_failure_is_a_span_with_its_code(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.url}/v1/traces")
        wrong = [{"call": "think", "arguments": {"nothing": "of that name"}}]
        await traced(home, collector, [wrong, ["Done."]])
        spans = collector.spans
    (call,) = [span for span in spans if span.name == "execute_tool think"]
    assert call.status.code == Status.STATUS_CODE_ERROR
    assert values(call.attributes)["error.type"] == "INVALID_ARGUMENTS"


@pytest.mark.slow
async def test_a_collector_that_is_away_holds_nobody_up(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{free_port()}")
    async with open_chat(home) as chat:
        assert (await chat.say()).status == "completed"


@pytest.mark.slow
def test_without_the_extra_one_sentence_is_said_and_the_program_goes_on(home: Path, tmp_path: Path) -> None:
    # What stands before the installed one, and is none.
    fake = tmp_path / "without" / "opentelemetry"
    fake.mkdir(parents=True)
    (fake / "__init__.py").write_text("raise ImportError('not installed')")
    script = tmp_path / "s.yaml"
    script.write_text("- ok")
    import subprocess

    done = subprocess.run(
        [sys.executable, "-m", "pilothouse", "run", "hi", "--model", f"scripted:{script}"],
        capture_output=True,
        text=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
        env=environment(
            home, PYTHONPATH=str(tmp_path / "without"), OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{free_port()}"
        ),
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "ok\n")
    assert done.stderr.count("pip install 'pilothouse[telemetry]'") == 1
    assert "Traceback" not in done.stderr
    logged = (home / "logs" / "pilothouse.log").read_text()
    assert "pilothouse[telemetry]" in logged


@pytest.mark.slow
def test_without_an_endpoint_nothing_of_it_is_loaded(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "s.yaml"
    script.write_text("- ok")
    loaded = imported(home, "run", "hi", "--model", f"scripted:{script}")
    assert not {name for name in loaded if name.startswith(("opentelemetry", "google.protobuf", "requests"))}


@pytest.mark.slow
def test_a_command_of_one_run_is_traced_to_its_end(home: Path, tmp_path: Path) -> None:
    import asyncio

    script = tmp_path / "s.yaml"
    script.write_text("- ok")

    async def work() -> list[str]:
        async with Collector() as collector:
            arguments = ("run", "hi", "--model", f"scripted:{script}")
            done = await asyncio.to_thread(pilothouse, home, *arguments, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
            assert done.out == "ok\n", done.err
            return sorted(span.name for span in collector.spans)

    assert asyncio.run(work()) == ["chat scripted", "invoke_agent pilothouse"]
