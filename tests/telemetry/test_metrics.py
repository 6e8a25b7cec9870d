"""What a process counts, and who is told."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import httpx2
from prometheus_client.parser import text_string_to_metric_families

from pilothouse.telemetry.counters import OTHER, Names
from pilothouse.types import limits
from pilothouse.web.run import ServerOptions
from tests.support.chats import ME, Chat, open_chat
from tests.support.commands import pilothouse_process
from tests.support.in_process_server import TOKEN, serve_host
from tests.support.waiting import eventually

METRICS_TOKEN = "0123456789abcdef-for-metrics"
CALL = [{"call": "think", "arguments": {"thoughts": "a secret thought"}}]


async def told(chat: Chat) -> dict[tuple[str, ...], float]:
    """Return what the host counts, by name and labels."""
    return read((await chat.api.metrics(0.0)).decode())


def read(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *(value for name, value in sorted(sample.labels.items()) if name != "le")): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("le") in (None, "+Inf")
    }


async def _is_idle(chat: Chat) -> bool:
    return (await told(chat))["pilothouse_runs_at_work",] == 0


async def test_runs_answers_and_calls_are_counted_by_how_they_end(home: Path) -> None:
    failing: list[Any] = [{"fault": 401}]
    async with open_chat(home, [CALL, ["Done."], failing]) as chat:
        began = time.monotonic()
        assert (await chat.say("first")).status == "completed"
        counted = await told(chat)
        assert counted["pilothouse_runs_ended_total", "completed"] == 1
        await eventually(lambda: _is_idle(chat), "nothing to be at work")
        assert counted["pilothouse_runs_queued",] == 0
        assert counted["pilothouse_run_wait_seconds_count",] == 1
        assert 0 <= counted["pilothouse_run_wait_seconds_sum",] <= time.monotonic() - began
        model = next(key[1] for key in counted if key[0] == "pilothouse_tokens_total")
        assert counted["pilothouse_model_request_seconds_count", model, "completed"] == 2
        assert counted["pilothouse_tokens_total", model, "input"] > 0
        assert counted["pilothouse_tokens_total", model, "output"] > 0
        assert counted["pilothouse_tool_calls_total", "completed", "think"] == 1
        failed = await chat.say("second")
        assert failed.status == "failed"
        counted = await told(chat)
        assert counted["pilothouse_runs_ended_total", "failed"] == 1
        assert counted["pilothouse_run_wait_seconds_count",] == 2


async def test_a_run_at_work_and_one_behind_it_are_told_as_such_until_they_end(home: Path) -> None:
    slow = [{"text": "word " * 100, "pieces": 5, "every": 600}]
    async with open_chat(home, [slow, ["Next."]]) as chat:
        first = await chat.send("first")
        await chat.until_streaming("word")
        second = await chat.send("second")
        counted = await told(chat)
        assert counted["pilothouse_runs_at_work",] == 1
        assert counted["pilothouse_runs_queued",] == 1
        await chat.api.runs.cancel(ME, first.run_id)
        await chat.settled(second.run_id)
        await eventually(lambda: _is_idle(chat), "nothing to be at work")
        counted = await told(chat)
        assert counted["pilothouse_runs_ended_total", "cancelled"] == 1
        assert counted["pilothouse_runs_ended_total", "completed"] == 1
        assert counted["pilothouse_runs_queued",] == 0


async def test_what_was_said_and_whose_it_is_is_never_a_label(home: Path) -> None:
    async with open_chat(home, [CALL, ["An answer that nobody else reads."]]) as chat:
        run = await chat.say("A question that nobody else reads")
        text = (await chat.api.metrics(0.0)).decode()
        for private in ("nobody else reads", "secret thought", chat.id, run.id, ME, str(home)):
            assert private not in text


async def test_a_restart_with_much_behind_it_counts_what_it_does_itself(home: Path) -> None:
    async with open_chat(home, ["One.", "Two."]) as chat:
        await chat.say()
    async with open_chat(home, ["One."]) as again:
        counted = await told(again)
        assert counted["pilothouse_runs_ended_total", "completed"] == 0
        assert counted["pilothouse_run_wait_seconds_count",] == 0


async def test_readers_are_counted_while_they_are_there(home: Path) -> None:
    async with open_chat(home) as chat, serve_host(chat.api, ServerOptions(token=TOKEN)) as server:
        assert (await told(chat))["pilothouse_readers", "conversation"] == 0
        url = f"/api/conversations/{chat.id}/events"
        async with server.http.stream("GET", url, headers={"authorization": f"Bearer {TOKEN}"}):

            async def is_counted() -> bool:
                return (await told(chat))["pilothouse_readers", "conversation"] == 1

            await eventually(is_counted, "the reader to be counted")


def test_names_that_are_made_up_without_end_become_one() -> None:
    names = Names()
    assert [names.of(str(n)) for n in range(limits.METRIC_NAMES)] == [str(n) for n in range(limits.METRIC_NAMES)]
    assert names.of("one too many") == OTHER
    assert names.of("7") == "7"


async def test_metrics_are_for_this_machine_and_not_for_who_comes_through_a_proxy(home: Path) -> None:
    async with (
        open_chat(home) as chat,
        serve_host(chat.api, ServerOptions(token=TOKEN, allowed_hosts=("box",))) as server,
    ):
        good = await server.http.get("/metrics")
        assert good.status_code == 200
        assert read(good.text)["pilothouse_process", "server", "0.1.0"] == 1
        for header in ("forwarded", "x-forwarded-for", "x-real-ip", "via"):
            assert (await server.http.get("/metrics", headers={header: "10.0.0.1"})).status_code == 403, header
        assert (await server.http.get("/metrics", headers={"host": "box"})).status_code == 403
        assert (await server.http.get("/metrics", headers={"sec-fetch-site": "cross-site"})).status_code == 403
        # A session's token is not one for this.
        proxied = {"authorization": f"Bearer {TOKEN}", "x-forwarded-for": "10.0.0.1"}
        assert (await server.http.get("/metrics", headers=proxied)).status_code == 403


async def test_with_a_token_for_them_metrics_are_told_to_who_has_it(home: Path) -> None:
    options = ServerOptions(token=TOKEN, metrics_token=METRICS_TOKEN)
    async with open_chat(home) as chat, serve_host(chat.api, options) as server:

        async def asked(**headers: str) -> httpx2.Response:
            return await server.http.get("/metrics", headers=headers)

        assert (await asked()).status_code == 401
        assert (await asked(authorization=f"Bearer {TOKEN}")).status_code == 401
        assert (await asked(authorization=f"Basic {METRICS_TOKEN}")).status_code == 401
        assert (await asked(authorization=f"Bearer {METRICS_TOKEN}")).status_code == 200
        # It opens nothing else.
        other = await server.http.get("/api/conversations", headers={"authorization": f"Bearer {METRICS_TOKEN}"})
        assert other.status_code == 401


def test_a_token_that_can_be_guessed_is_refused(home: Path) -> None:
    refused = pilothouse_process(home, "serve", "--no-browser", "--port", "0", PILOTHOUSE_METRICS_TOKEN="secret")
    assert refused.code != 0
    assert "PILOTHOUSE_METRICS_TOKEN can be guessed" in " ".join(refused.err.split())


def test_nothing_that_renders_is_loaded_before_someone_asks(home: Path) -> None:
    from tests.cli.test_start import imported

    script = home.parent / "s.yaml"
    script.write_text("- ok")
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" not in os.environ
    loaded = imported(home, "run", "hi", "--model", f"scripted:{script}")
    assert not {name for name in loaded if name.startswith(("prometheus_client", "opentelemetry"))}
    assert not {name for name in loaded if name.startswith("pilothouse.telemetry")}
