"""What every test stands on: a home of its own, no way out but loopback, nothing left behind."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from hypothesis import settings

from tests.support import forked, leaks, network
from tests.support.postgres import Postgres, PostgresUnavailable

# A test must never spend a developer's money or read a developer's data.
PRIVATE = re.compile(r"PILOTHOUSE_(?!CHROMIUM).*|.*(_API_KEY|_API_TOKEN|Key|_PROXY|_proxy)")
for name in [name for name in os.environ if PRIVATE.fullmatch(name)]:
    del os.environ[name]
# The person's keyring is theirs; a test that wants one brings its own.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

network.allow_only_loopback()
# How long an example takes says more about the machine than about the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import the product once, for all the processes of it that the tests start."""
    if _is_worth_it(session):
        forked.prepare()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what they were forked from."""
    if _is_worth_it(session):
        forked.end()


def _is_worth_it(session: pytest.Session) -> bool:
    """Return whether this process runs more than one test; its workers, if it has some, do this for themselves."""
    config = session.config
    has_workers = bool(getattr(config.option, "numprocesses", None)) and not hasattr(config, "workerinput")
    return not has_workers and not (len(config.args) == 1 and "::" in config.args[0])


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh PILOTHOUSE_HOME that does not exist yet; the product makes it."""
    folder = tmp_path / "home"
    monkeypatch.setenv("PILOTHOUSE_HOME", str(folder))
    return folder


@pytest_asyncio.fixture
async def no_task_left() -> AsyncIterator[None]:
    """Fail a test that leaves tasks running on its loop."""
    before = leaks.tasks()
    yield
    left = await leaks.tasks_left(before)
    assert not left, f"the test left tasks running: {left}"


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves processes or descriptors behind."""
    if inspect.iscoroutinefunction(request.function):
        request.getfixturevalue("no_task_left")
    before = leaks.snapshot()
    yield
    if request.node.get_closest_marker("leaky") is None:
        left = leaks.left_since(before)
        assert not left, f"the test left behind: {left}"


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A real PostgreSQL server for this run of the tests; each worker has its own."""
    try:
        server = Postgres.start(tmp_path_factory.mktemp("postgres"))
    except PostgresUnavailable as error:
        pytest.fail(str(error), pytrace=False)
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def postgres_url(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of a fresh, empty database; whoever works with it in this test has the same master key."""
    key = tmp_path / "one-master-key"
    key.write_text("the master key of all replicas of a test")
    monkeypatch.setenv("PILOTHOUSE_MASTER_KEY_FILE", str(key))
    with postgres.database() as url:
        yield url
