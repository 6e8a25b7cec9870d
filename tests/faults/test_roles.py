"""Processes on one PostgreSQL that serve the page or work, each only its part; and how one of them ends."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from pilothouse.types import limits
from tests.faults.scenario import let_go, write_held
from tests.support import invariants
from tests.support.commands import pilothouse, pilothouse_process
from tests.support.mcp_servers import scripted
from tests.support.replicas import set_master_key
from tests.support.servers import TOKEN, Server
from tests.support.stalling_line import open_stalling_line
from tests.support.waiting import until

ANSWER = "".join(f"word{n} " for n in range(100))
# Until a worker looks for what nobody began.
WORKED_WITHIN = 60.0


@pytest.fixture(autouse=True)
def one_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes on one database have one master key."""
    set_master_key(monkeypatch, tmp_path)


@pytest.fixture
def script(tmp_path: Path) -> Path:
    made = tmp_path / "slow.yaml"
    made.write_text(f'turns:\n  - - text: "{ANSWER}"\n      pieces: 4\n      every: 0.02\n', encoding="utf-8")
    return made


@contextlib.contextmanager
def _role(tmp_path: Path, name: str, url: str, *more: str) -> Iterator[Server]:
    home = tmp_path / f"home-{name}"
    with Server(home, database_url=url, arguments=("--role", name, *more)) as server:
        yield server


def _say(server: Server, script: Path) -> tuple[str, str]:
    conversation = server.post("/api/conversations", {}, 201)["id"]
    body = {"text": "Go", "modelId": f"scripted:{script}"}
    return conversation, server.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"]


@pytest.mark.timeout(120)
def test_a_web_process_takes_messages_and_a_worker_answers_them(
    tmp_path: Path, script: Path, postgres_url: str
) -> None:
    with _role(tmp_path, "web", postgres_url) as web:
        _, run = _say(web, script)
        assert web.run_status(run) == "queued"
        with _role(tmp_path, "worker", postgres_url, "--slots", "2"):
            web.wait_for_run(run, "completed", within=WORKED_WITHIN)
    invariants.check(postgres_url)


@pytest.mark.timeout(120)
def test_a_worker_answers_whether_it_is_well_and_nothing_else(tmp_path: Path, postgres_url: str) -> None:
    with _role(tmp_path, "worker", postgres_url, "--slots", "3") as worker:
        assert worker.get("/api/health")["status"] == "up"
        until(lambda: worker.client.get("/api/ready").status_code == 200, "the worker to take from the queue")
        for path in ("/", "/api/conversations", "/api/settings", "/api/openapi.json", "/assets/index.js"):
            assert worker.client.get(path).status_code == 404, path
        for path in ("/api/session", "/api/link", "/api/conversations"):
            assert worker.client.post(path, json={}).status_code == 404, path
        stranger = httpx2.get(f"{worker.url}/api/conversations")
        assert stranger.status_code == 401
        assert "this is a worker" in stranger.json()["fix"]
        assert "pilothouse open" not in stranger.json()["fix"]
        # Where commands look for a server there is none: a worker is no way in.
        assert not list((tmp_path / "home-worker").glob("server*.json"))
        worker.process.send_signal(signal.SIGTERM)
        assert worker.process.wait(30) == 0
    log = (tmp_path / "home-worker" / "logs" / "pilothouse.log").read_text()
    said = [json.loads(line)["message"] for line in log.splitlines()]
    about = [line for line in said if line.startswith("Pilothouse ")]
    assert [line.partition(": ")[2] for line in about] == [
        f"role worker, 3 slots, at {worker.url}",
        f"role worker, at {worker.url}",
    ]


@pytest.mark.timeout(120)
def test_a_web_process_starts_no_local_server_and_no_terminal(tmp_path: Path, postgres_url: str) -> None:
    record = tmp_path / "record"
    with _role(tmp_path, "web", postgres_url) as web:
        command = scripted("--record", record)
        entry = {"name": "Local", "command": command[0], "args": list(command[1:])}
        added = web.client.post("/api/servers", json=entry)
        assert added.status_code in (200, 201, 409), added.text
        shown = web.get("/api/servers")["servers"][0]
        if (consent := shown.get("consent")) is not None:
            web.client.post(f"/api/servers/{shown['id']}/consent", json={"fingerprint": consent["fingerprint"]})
        web.client.post(f"/api/servers/{shown['id']}/retry", json={})
        until(lambda: "at the workers" in json.dumps(web.get("/api/servers")), "the server's view to say where it runs")
        (near,) = web.get("/api/servers")["servers"]
        assert (near["state"], near["label"]) == ("idle", "Runs at the workers")
        # Only the workers know which folders there are.
        elsewhere = {"settings": {"workingDirectory": "/only/at/a/worker"}}
        conversation = web.post("/api/conversations", elsewhere, 201)["id"]
        refused = web.client.post(f"/api/conversations/{conversation}/terminal", json={})
        assert refused.status_code == 409
        assert "Terminals run at the workers" in refused.json()["message"]
    assert not record.exists()


@pytest.mark.timeout(120)
def test_a_web_process_shows_the_tools_of_what_a_worker_starts(tmp_path: Path, postgres_url: str) -> None:
    command = scripted()
    with _role(tmp_path, "web", postgres_url) as web, _role(tmp_path, "worker", postgres_url):
        web.client.post("/api/servers", json={"name": "Local", "command": command[0], "args": list(command[1:])})
        (shown,) = web.get("/api/servers")["servers"]
        web.post(f"/api/servers/{shown['id']}/consent", {"fingerprint": shown["consent"]["fingerprint"]}, 200)
        until(lambda: web.get("/api/servers")["servers"][0]["toolCount"], "the tools to be shown")
        assert "echo" in [tool["name"] for tool in web.get(f"/api/servers/{shown['id']}/tools")["tools"]]


@pytest.mark.timeout(120)
def test_a_second_process_in_the_same_folder_is_refused(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _role(tmp_path, "worker", postgres_url) as worker:
        monkeypatch.setenv("PILOTHOUSE_DATABASE_URL", postgres_url)
        second = pilothouse_process(tmp_path / "home-worker", "serve", "--no-browser", "--port", "0")
        assert second.code == 1
        assert f"Another Pilothouse (process {worker.process.pid}) is using" in " ".join(second.err.split())
        # A command beside it is no harm.
        assert pilothouse(tmp_path / "home-worker", "processes").code == 0


@pytest.mark.parametrize("role", ["web", "worker"])
def test_without_postgresql_one_process_does_both(tmp_path: Path, role: str) -> None:
    outcome = pilothouse_process(tmp_path / "home", "serve", "--no-browser", "--port", "0", "--role", role)
    assert outcome.code != 0
    assert "needs PostgreSQL" in " ".join(outcome.err.split())
    assert "Traceback" not in outcome.err


def test_options_that_do_not_go_with_a_role_are_refused(tmp_path: Path) -> None:
    beside = pilothouse_process(tmp_path / "home", "serve", "--no-browser", "--role", "web", "--slots", "2")
    assert "--slots has no place beside --role web" in " ".join(beside.err.split())
    programs = pilothouse_process(tmp_path / "home", "serve", "--no-browser", "--no-programs")
    assert "--no-programs goes with --role worker only" in " ".join(programs.err.split())
    none = pilothouse_process(tmp_path / "home", "serve", "--no-browser", "--slots", "0")
    assert "--slots goes from 1 to 1000" in " ".join(none.err.split())


@pytest.mark.timeout(120)
def test_a_process_that_is_to_end_says_so_and_goes_on_answering_while_it_drains(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.json").write_text(json.dumps({"version": "1.0", "drain_seconds": 60}))
    script = write_held(tmp_path, ANSWER)
    with Server(home) as server:
        conversation, run = _say(server, script)
        until(lambda: "word3 " in str(server.get(f"/api/conversations/{conversation}?limit=20")), "the answer to begin")
        heard: list[str] = []
        reading = threading.Thread(target=_read, args=(server, conversation, heard))
        reading.start()
        until(lambda: heard, "the reader to hear something")
        assert server.client.get("/api/ready").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.client.get("/api/ready").status_code == 503, "the process to turn unready")
        refused = server.client.get("/api/ready").json()
        assert "about to end" in refused["message"]
        assert refused["code"] == "stopping"
        # It lives, it answers, and who reads along sees the end.
        assert server.get("/api/health")["status"] == "up"
        assert server.run_status(run) == "running"
        let_go(script)
        assert server.process.wait(WORKED_WITHIN) == 0
        reading.join(WORKED_WITHIN)
        assert any('"completed"' in line for line in heard)


def _read(server: Server, conversation: str, heard: list[str]) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    url = f"{server.url}/api/conversations/{conversation}/events"
    with (
        contextlib.suppress(httpx2.TransportError),
        httpx2.Client(timeout=60, trust_env=False) as client,
        client.stream("GET", url, headers=headers) as stream,
    ):
        heard.extend(stream.iter_lines())


def _errors(server: Server) -> float:
    found = re.search(r"^pilothouse_database_errors_total (\S+)$", server.client.get("/metrics").text, re.M)
    assert found is not None
    return float(found[1])


@pytest.mark.timeout(120)
def test_a_process_whose_database_is_away_is_not_ready_and_says_why(tmp_path: Path, postgres_url: str) -> None:
    with open_stalling_line(postgres_url) as (line, url), _role(tmp_path, "worker", url) as worker:
        until(lambda: worker.client.get("/api/ready").status_code == 200, "the worker to take from the queue")
        line.stall()
        until(lambda: worker.client.get("/api/ready").status_code == 503, "the process to turn unready")
        # It says so long before the database would be given up.
        unready = worker.client.get("/api/ready", timeout=limits.DATABASE_STATEMENT / 2)
        assert "database" in unready.json()["message"]
        # What operators are told does without what only the database knows.
        until(lambda: _errors(worker) > 0, "what failed to be counted")
        counted = worker.client.get("/metrics").text
        assert "pilothouse_runs_at_work 0" in counted
        assert "pilothouse_runs_queued" not in counted
        line.go_on()
        until(
            lambda: worker.client.get("/api/ready").status_code == 200, "the process to be ready again", WORKED_WITHIN
        )
        assert "pilothouse_runs_queued 0" in worker.client.get("/metrics").text
