"""What every test stands on: a home of its own, no way out but loopback, nothing left behind."""

from __future__ import annotations

import gc
import inspect
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Protocol

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, settings
from xdist.remote import Producer  # type: ignore[import-untyped]
from xdist.scheduler import LoadFileScheduling  # type: ignore[import-untyped]

from pilothouse.helper.client import Helper
from pilothouse.json_schema.checking import Question, check
from tests.support import forked, leaks, network, prepared_databases
from tests.support.postgres import Postgres, PostgresUnavailable
from tests.support.prepared_databases import PreparedDatabases
from tests.support.waiting import PATIENCE

pytest_plugins = ["tests.support.costs", "tests.support.sampling"]
# A test must never spend a developer's money or read a developer's data.
PRIVATE = re.compile(r"PILOTHOUSE_(?!CHROMIUM).*|.*(_API_KEY|_API_TOKEN|Key|_PROXY|_proxy)")
for name in [name for name in os.environ if PRIVATE.fullmatch(name)]:
    del os.environ[name]
# The person's keyring is theirs; a test that wants one brings its own.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

# Nothing of what is made while the tests are found is garbage, and looking for some takes more than half of that time.
gc.disable()

network.allow_only_loopback()
# The tests of this folder read all the sources.
SOURCE_RULES = "tests/architecture/"
# How long an example takes says more about the machine than about the code. With CI set, Hypothesis would try the same
# examples in each run; SAMPLE_SEED chooses them here.
settings.register_profile("unhurried", deadline=None, derandomize=False, suppress_health_check=[HealthCheck.too_slow])
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs a PostgreSQL server as slow."""
    for item in items:
        if _needs_postgres(item):
            item.add_marker(pytest.mark.slow)


def _needs_postgres(item: pytest.Item) -> bool:
    called = getattr(item, "callspec", None)
    values = called.params.values() if called is not None else ()
    return "postgres" in getattr(item, "fixturenames", ()) or any(value == "postgresql" for value in values)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Worker) -> None:
    """Tell a worker where the product is imported."""
    node.workerinput["origin"] = node.config.stash.get(ORIGIN, None)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Give a worker an origin of its own, forked from what imported the product: its children are the worker's."""
    if (known := getattr(session.config, "workerinput", {}).get("origin")) is not None:
        session.config.stash[ORIGIN] = forked.prepare(known)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Look for garbage from here on, and only among what the tests themselves make."""
    gc.freeze()
    gc.enable()


class KeptTogether(LoadFileScheduling):  # type: ignore[misc]
    """Gives each file to one worker, and those that read all the sources to the same: it parses them once."""

    def _split_scope(self, nodeid: str) -> str:
        return SOURCE_RULES if nodeid.startswith(SOURCE_RULES) else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    """Give whole files to a worker where that was asked for."""
    return KeptTogether(config, log) if config.getvalue("dist") == "loadfile" else None


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


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """An empty working directory."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that modules are imported from."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
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
    before = leaks.snapshot()
    yield
    if request.node.get_closest_marker("leaky") is None:
        left = leaks.left_since(before)
        assert not left, f"the test left behind: {left}"


@pytest.fixture(autouse=True)
def tasks_end_first(request: pytest.FixtureRequest, nothing_left: None) -> None:
    """Look for tasks before descriptors: a task that is about to end still has some."""
    if inspect.iscoroutinefunction(request.function):
        request.getfixturevalue("no_task_left")


@pytest.fixture(scope="session")
def started_helper() -> Iterator[Helper]:
    """A helper process that has started, for all the tests of a worker that want one."""
    with closing(Helper()) as made:
        # What it is asked later need not wait for its start.
        made.ask(check, Question(b"{}", b"{}"), PATIENCE)
        yield made


@pytest.fixture
def helper(started_helper: Helper) -> Iterator[Helper]:
    """The helper process; the next test that wants one has a new one if this one breaks it."""
    before = started_helper._process
    yield started_helper
    if started_helper._process is not before:
        started_helper.close()


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    """A real PostgreSQL server for this run of the tests; each worker has its own, with a copy of the same data."""
    own = tmp_path_factory.getbasetemp()
    try:
        data = prepared_databases.data(own.parent if hasattr(request.config, "workerinput") else own)
        server = Postgres.start(tmp_path_factory.mktemp("postgres"), data)
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
def empty_postgres_url(postgres: Postgres, one_master_key: None) -> Iterator[str]:
    """The URL of a fresh database without a schema, for who means to see one made."""
    with postgres.database() as url:
        yield url


@pytest.fixture(scope="session")
def databases(postgres: Postgres) -> PreparedDatabases:
    """The databases that are emptied after a test and given to another."""
    return PreparedDatabases(postgres)


@pytest.fixture
def postgres_url(databases: PreparedDatabases, one_master_key: None) -> Iterator[str]:
    """The URL of a fresh database that has its schema and nothing in it."""
    with databases.one() as url:
        yield url
