"""What every test stands on: a home of its own, no way out but loopback, nothing left behind."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Protocol

import pytest
import pytest_asyncio
from hypothesis import settings

from pilothouse.store import upgrade
from pilothouse.store.database import Database
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


class Worker(Protocol):
    """What pytest-xdist tells about a worker before it starts."""

    config: pytest.Config
    workerinput: dict[str, object]


ORIGIN = pytest.StashKey[forked.Known]()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import the product once, for all the processes of it that the tests start; that goes on while they are found."""
    config = session.config
    one_test = len(config.args) == 1 and "::" in config.args[0]
    if not hasattr(config, "workerinput") and not config.option.collectonly and not one_test:
        config.stash[ORIGIN] = forked.prepare()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Worker) -> None:
    """Tell a worker where the product is imported."""
    node.workerinput["origin"] = node.config.stash.get(ORIGIN, None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Give a worker an origin of its own, forked from what imported the product: its children are the worker's."""
    if (known := getattr(session.config, "workerinput", {}).get("origin")) is not None:
        session.config.stash[ORIGIN] = forked.prepare(known)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """End what they were forked from."""
    if ORIGIN in session.config.stash:
        forked.end()


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
def one_master_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever works with a shared database in this test has the same master key."""
    key = tmp_path / "one-master-key"
    key.write_text("the master key of all replicas of a test")
    monkeypatch.setenv("PILOTHOUSE_MASTER_KEY_FILE", str(key))


@pytest.fixture
def postgres_url(postgres: Postgres, one_master_key: None) -> Iterator[str]:
    """The URL of a fresh, empty database."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="session")
def with_schema(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a database that has the current schema and nothing in it, for others to be made like it."""
    with postgres.database() as url:
        database = Database(url)
        try:
            upgrade.prepare(database, tmp_path_factory.mktemp("backups"))
        finally:
            database.close()
        yield url.rpartition("/")[2]


@pytest.fixture
def prepared_postgres_url(postgres: Postgres, with_schema: str, one_master_key: None) -> Iterator[str]:
    """The URL of a fresh database that has its schema: making that takes longer than most of what a test does with it.

    Who means to see the schema made takes `postgres_url`.
    """
    with postgres.database(with_schema) as url:
        yield url
