"""An upgrade without a pause: the release before the queue and this one on one PostgreSQL, at the same time."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pilothouse.types import limits
from tests.faults import earlier_release
from tests.faults.fleet import TAKEN_OVER_WITHIN, Kept, Signs
from tests.support import invariants
from tests.support.databases import open_transaction
from tests.support.servers import TOKEN, Server
from tests.support.waiting import until

# What was asked to end gives its runs back without a job for the queue: those are looked for every now and then, here
# more often. By that many signs of life of the new one they are taken up, whatever else the machine has to do.
FORGOTTEN_EVERY = 3.0
TAKEN_UP_WITHIN = {
    signal.SIGKILL: TAKEN_OVER_WITHIN,
    signal.SIGTERM: TAKEN_OVER_WITHIN + int(FORGOTTEN_EVERY / limits.LEASE_RENEW),
}
CONVERSATIONS = 7
MESSAGES = 5
# A generous timeout: only a hang exceeds it.
AMPLE = 120.0


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return earlier_release.unpack(tmp_path_factory.mktemp("earlier"))


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    made = tmp_path / "quick.yaml"
    made.write_text('turns:\n  - - text: "One after the other."\n      pieces: 4\n      every: 0.02\n')
    return made


@contextlib.contextmanager
def _old(tmp_path: Path, earlier: Path, url: str) -> Iterator[Server]:
    server = Server(tmp_path / "old", database_url=url, variables={"PYTHONPATH": str(earlier)})
    try:
        server.wait_until_up()
        yield server
    finally:
        server.close()


def _held_back(tmp_path: Path, name: str) -> tuple[Path, Path]:
    """Return a script whose answer stands still in its middle, and the file that lets it go on."""
    go = tmp_path / f"{name}.go"
    script = tmp_path / f"{name}.yaml"
    script.write_text(
        f'turns:\n  - - text: "Half of it. The rest."\n      pieces: 11\n      every: 90\n      until: {go}\n'
    )
    return script, go


def _say(server: Server, conversation: str, text: str, script: Path) -> str:
    body = {"text": text, "modelId": f"scripted:{script}", "idempotencyKey": f"{conversation} {text}"}
    return str(server.post(f"/api/conversations/{conversation}/messages", body, 202)["runId"])


def _begin(server: Server) -> str:
    return str(server.post("/api/conversations", {}, 201)["id"])


def _shown(server: Server, conversation: str) -> list[dict[str, Any]]:
    return list(server.get(f"/api/conversations/{conversation}?limit=200")["items"])


def _is_begun(server: Server, conversation: str) -> bool:
    return "Half of it" in str(_shown(server, conversation))


def _is_taken_over(server: Server, run: str) -> bool:
    return int(server.get(f"/api/runs/{run}")["epoch"]) > 1


@contextlib.contextmanager
def _signs(url: str, run_of_old: str) -> Iterator[Signs]:
    """Count the signs of life of the new release: of all but the process that has this run."""
    with contextlib.closing(Kept(url)) as kept:
        yield Signs(kept, but=kept.one("SELECT process FROM runs WHERE id = %s", run_of_old))


def _taken_up(server: Server, runs: Sequence[str], signs: Signs, within: int) -> None:
    """Wait until all these runs are taken over, and look how many signs of life were given by then."""

    def taken() -> bool:
        signs.fewest()
        return all(_is_taken_over(server, run) for run in runs)

    until(taken, "the new one to take over", AMPLE)
    assert signs.fewest() <= within


def _standing(items: Sequence[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return messages and the answers that stand, in their order, each with its run."""
    wanted = ("user_message", "response")
    return [(i["kind"], i["runId"]) for i in items if i["kind"] in wanted and not i["data"].get("cutOff")]


def _says_nothing_of_itself(url: str, run: str) -> bool:
    """Return whether the process that has a run is one of the release in which none told its role."""
    held = "SELECT p.about IS NULL FROM runs r JOIN processes p ON p.id = r.process WHERE r.id = :run"
    with open_transaction(url) as connection:
        return bool(connection.execute(sa.text(held), {"run": run}).scalar_one())


def _all_answered(server: Server, conversation: str, runs: Sequence[str]) -> None:
    """Each message has one answer, and answers came in the order of the messages."""
    for run in runs:
        server.wait_for_run(run, "completed", within=AMPLE)
    told = _standing(_shown(server, conversation))
    assert [run for kind, run in told if kind == "user_message"] == list(runs)
    assert [run for kind, run in told if kind == "response"] == list(runs)


def test_what_is_packed_is_the_release_that_it_is_said_to_be(earlier: Path) -> None:
    assert earlier_release.tree_of(earlier) == earlier_release.TREE


@pytest.mark.timeout(400)
def test_two_releases_on_one_database_answer_every_message_once_and_in_order(
    tmp_path: Path, earlier: Path, quick: Path, empty_postgres_url: str
) -> None:
    held, go = _held_back(tmp_path, "held")
    with _old(tmp_path, earlier, empty_postgres_url) as old:
        first = _begin(old)
        at_old = _say(old, first, "held", held)
        until(partial(_is_begun, old, first), "the old one to be in the middle of an answer")
        with Server(tmp_path / "new", database_url=empty_postgres_url) as new:
            upgraded = time.monotonic()
            # Sent here and there in turn, also behind the answer that stands still.
            turns = itertools.cycle((old, new, new, old))
            behind = [_say(next(turns), first, f"behind {n}", quick) for n in range(4)]
            runs: dict[str, list[str]] = {_begin(next(turns)): [] for _ in range(CONVERSATIONS)}
            for n in range(MESSAGES):
                for conversation, sent in runs.items():
                    sent.append(_say(next(turns), conversation, f"message {n}", quick))
            for conversation, sent in runs.items():
                _all_answered(new, conversation, sent)
                _all_answered(old, conversation, sent)
            assert _says_nothing_of_itself(empty_postgres_url, at_old), "the old release is not the one that answers"
            # Longer than a process that says nothing is waited for: this one lives, and nobody takes from it.
            until(lambda: time.monotonic() - upgraded > limits.LEASE_DEAD + 4, "a while to pass")
            kept = new.get(f"/api/runs/{at_old}")
            assert (kept["status"], kept["epoch"]) == ("running", 1)
            assert [new.run_status(run) for run in behind] == ["queued"] * 4
            go.touch()
            _all_answered(new, first, [at_old, *behind])
            assert new.get(f"/api/runs/{at_old}")["epoch"] == 1
    invariants.check(empty_postgres_url)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM])
def test_what_the_old_release_held_goes_on_in_the_new_one_when_it_ends(
    tmp_path: Path, earlier: Path, quick: Path, empty_postgres_url: str, ending: signal.Signals
) -> None:
    held, go = _held_back(tmp_path, "held")
    with contextlib.ExitStack() as stack, _old(tmp_path, earlier, empty_postgres_url) as old:
        kept = {conversation: [_say(old, conversation, "held", held)] for conversation in (_begin(old), _begin(old))}
        for conversation in kept:
            until(partial(_is_begun, old, conversation), "the old one to answer")
        with Server(
            tmp_path / "new", database_url=empty_postgres_url, limits={"FORGOTTEN_EVERY": FORGOTTEN_EVERY}
        ) as new:
            for conversation, runs in kept.items():
                runs += [_say(old, conversation, "at the old", quick), _say(new, conversation, "at the new", quick)]
            signs = stack.enter_context(_signs(empty_postgres_url, next(iter(kept.values()))[0]))
            old.process.send_signal(ending)
            old.process.wait(AMPLE)
            _taken_up(new, [run for run, *_ in kept.values()], signs, TAKEN_UP_WITHIN[ending])
            go.touch()
            for conversation, runs in kept.items():
                _all_answered(new, conversation, runs)
    invariants.check(empty_postgres_url)


@pytest.mark.timeout(400)
def test_an_old_release_that_starts_after_the_upgrade_says_that_the_database_is_newer(
    tmp_path: Path, earlier: Path, quick: Path, empty_postgres_url: str
) -> None:
    with Server(tmp_path / "new", database_url=empty_postgres_url) as new:
        environment = dict(
            os.environ,
            PILOTHOUSE_HOME=str(tmp_path / "old"),
            PILOTHOUSE_TOKEN=TOKEN,
            PILOTHOUSE_DATABASE_URL=empty_postgres_url,
            PYTHONPATH=str(earlier),
        )
        command = [sys.executable, "-m", "pilothouse", "serve", "--no-browser", "--port", "0"]
        started = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert started.returncode != 0
        said = " ".join((started.stdout + started.stderr).split())
        assert "The database was made by a newer Pilothouse" in said
        assert "Traceback" not in said
        # It left everything as it was.
        conversation = _begin(new)
        _all_answered(new, conversation, [_say(new, conversation, "still here", quick)])
    invariants.check(empty_postgres_url)
