"""A server that is asked to stop gives its runs back: a polite end strands nothing that a kill would not."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx2
import pytest

from tests.faults.scenario import let_go, write_held
from tests.support import invariants
from tests.support.chats import database_of
from tests.support.commands import pilothouse
from tests.support.servers import Server, wait_for_death
from tests.support.waiting import until

ANSWER = "".join(f"word{n} " for n in range(60))
# A generous timeout: only a hang exceeds it.
AMPLE = 60.0


def _begin(server: Server, script: Path) -> tuple[str, list[str]]:
    """Begin a long answer with a message behind it; return the conversation and both runs."""
    conversation = server.post("/api/conversations", {}, 201)["id"]
    path, body = f"/api/conversations/{conversation}/messages", {"text": "Go", "modelId": f"scripted:{script}"}
    runs = [server.post(path, body, 202)["runId"] for _ in range(2)]
    until(lambda: "word3" in str(server.get(f"/api/conversations/{conversation}?limit=20")), "the answer to begin")
    return conversation, runs


def _finished(server: Server, conversation: str, runs: list[str], *, crashes: int = 0) -> None:
    for run in runs:
        server.wait_for_run(run, "completed", within=AMPLE)
    assert sum(server.get(f"/api/runs/{run}")["recoveries"] for run in runs) == crashes
    items = server.get(f"/api/conversations/{conversation}?limit=100")["items"]
    standing = [item for item in items if item["kind"] == "response" and not item["data"].get("cutOff")]
    assert [(item["runId"], item["text"]) for item in standing] == [(run, ANSWER) for run in runs]


def _killed(home: Path, script: Path) -> tuple[str, list[str]]:
    """Kill a server in the middle of a long answer; return the conversation and its runs."""
    with Server(home) as server:
        begun = _begin(server, script)
        server.kill()
    let_go(script)
    return begun


@pytest.fixture
def script(tmp_path: Path) -> Path:
    return write_held(tmp_path, ANSWER)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_what_a_stopped_server_was_doing_the_next_start_goes_on_with(
    tmp_path: Path, script: Path, number: signal.Signals
) -> None:
    home = tmp_path / "home"
    with Server(home) as server:
        conversation, runs = _begin(server, script)
        server.process.send_signal(number)
        assert server.process.wait(AMPLE) == 0
    let_go(script)
    invariants.check(database_of(home))
    with Server(home) as again:
        _finished(again, conversation, runs)
    invariants.check(database_of(home))


@pytest.mark.timeout(120)
def test_what_a_stopped_server_was_doing_another_one_goes_on_with(
    tmp_path: Path, script: Path, postgres_url: str
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with Server(tmp_path / "a" / "home", database_url=postgres_url) as a:
        with Server(tmp_path / "b" / "home", database_url=postgres_url) as b:
            conversation, runs = _begin(b, script)
        a.wait_for_run(runs[0], "running", within=AMPLE)
        let_go(script)
        _finished(a, conversation, runs)
    invariants.check(postgres_url)


def _goes_on(home: Path, conversation: str, runs: list[str]) -> None:
    """Check that the next server has both answers after one crash."""
    with Server(home) as again:
        _finished(again, conversation, runs, crashes=1)
    invariants.check(database_of(home))


@pytest.mark.timeout(120)
def test_a_command_that_comes_first_after_a_crash_leaves_the_runs_to_the_next_server(home: Path, script: Path) -> None:
    conversation, runs = _killed(home, script)
    assert pilothouse(home, "audit", "verify").code == 0
    invariants.check(database_of(home))
    _goes_on(home, conversation, runs)


@pytest.mark.timeout(120)
def test_what_a_server_left_in_the_queue_a_command_can_go_on_with_where_there_is_none(home: Path, script: Path) -> None:
    conversation, runs = _killed(home, script)
    resumed = pilothouse(home, "conversations", "resume", conversation)
    assert (resumed.code, resumed.out.strip()) == (0, ANSWER.strip())
    _goes_on(home, conversation, runs)


# The message is kept, its run is queued, and nobody has begun it.
QUEUED = 3


@pytest.mark.timeout(120)
def test_a_message_that_a_server_kept_and_never_began_a_command_can_go_on_with(tmp_path: Path, script: Path) -> None:
    home = tmp_path / "home"
    with Server(home, dying=("after", QUEUED)) as server:
        conversation = server.post("/api/conversations", {"title": f"kill {QUEUED}"}, 201)["id"]
        with pytest.raises(httpx2.TransportError):
            server.post(f"/api/conversations/{conversation}/messages", {"text": "Go", "modelId": f"scripted:{script}"})
        assert wait_for_death(server, None, AMPLE)
    let_go(script)
    resumed = pilothouse(home, "conversations", "resume", conversation)
    assert (resumed.code, resumed.out.strip()) == (0, ANSWER.strip())
    again = pilothouse(home, "conversations", "resume", conversation)
    assert again.err.strip() == "No answer in this conversation waits to be resumed."
    invariants.check(database_of(home))
