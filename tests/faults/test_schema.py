"""Databases from elsewhere in time: damaged, older, newer, or left in the middle of a change."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pilothouse.store import upgrade
from pilothouse.types.errors import PilothouseError
from pilothouse.wiring import open_host
from tests.support import forked
from tests.support.chats import ME, open_chat
from tests.support.databases import open_transaction

ROOT = Path(__file__).parents[2]
NEXT = '''
"""A made-up next schema."""

import os

import sqlalchemy as sa
from alembic import op

revision = "9000"
down_revision = "{head}"


def upgrade():
    op.add_column("conversations", sa.Column("colour", sa.Text))
    op.create_table("colours", sa.Column("name", sa.Text, primary_key=True))
    {then}
    op.execute("UPDATE conversations SET colour = 'blue'")
'''


async def a_home(home: Path, *turns: Any) -> str:
    """Make a data folder with a conversation in it and return its id."""
    async with open_chat(home, [*turns, "Kept."]) as chat:
        await chat.say("Keep me")
        return chat.id


async def refusal(home: Path) -> PilothouseError:
    with pytest.raises(PilothouseError) as refused:
        async with open_host(home):
            pass
    return refused.value


def migrations(folder: Path, then: str) -> Path:
    """Return the migrations with one more; `then` happens in its middle."""
    target = folder / "migrations"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(upgrade.MIGRATIONS, target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "versions" / "v9000_next.py").write_text(NEXT.format(then=then, head=upgrade.HEAD))
    return target


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Pilothouse whose schema is one step ahead."""
    monkeypatch.setattr(upgrade, "MIGRATIONS", migrations(tmp_path, "pass"))
    monkeypatch.setattr(upgrade, "KNOWN", (*upgrade.KNOWN, "9000"))
    monkeypatch.setattr(upgrade, "HEAD", "9000")


def shape(connection: sa.Connection) -> object:
    """Return a database's tables, columns, keys and indexes."""
    inspector = sa.inspect(connection)
    tables = sorted(name for name in inspector.get_table_names() if name != "alembic_version")
    return [
        (
            name,
            [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns(name)],
            inspector.get_pk_constraint(name)["constrained_columns"],
            sorted((str(i["name"]), tuple(map(str, i["column_names"]))) for i in inspector.get_indexes(name)),
        )
        for name in tables
        if not name.startswith(("search_words", "search_parts"))
    ]


def extras(connection: sa.Connection) -> object:
    """Return what SQLite has beside tables: triggers, and the tables of its full-text search."""
    if connection.dialect.name != "sqlite":
        return None
    query = "SELECT type, name, sql FROM sqlite_master WHERE name LIKE 'search%' ORDER BY name"
    return [tuple(row) for row in connection.exec_driver_sql(query) if "CREATE TABLE search_texts" not in str(row[2])]


def shapes(url: str, make: Callable[[sa.Connection], None]) -> object:
    with open_transaction(url) as connection:
        make(connection)
        return shape(connection), extras(connection), upgrade.current_version(connection)


@pytest.mark.case("F-45")
def test_migrating_from_nothing_gives_the_same_as_creating(tmp_path: Path) -> None:
    created = shapes(f"sqlite:///{tmp_path / 'a.db'}", upgrade.create)
    assert created == shapes(f"sqlite:///{tmp_path / 'b.db'}", upgrade.migrate)


@pytest.mark.case("F-45")
def test_migrating_from_nothing_gives_the_same_on_postgresql(empty_postgres_url: str) -> None:
    made = []
    for make in (upgrade.create, upgrade.migrate):
        made.append(shapes(empty_postgres_url, make))
        with open_transaction(empty_postgres_url) as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA public")
    assert made[0] == made[1]


@pytest.mark.case("F-45")
@pytest.mark.parametrize("damage", ["all of it", "its middle", "cut short"])
async def test_a_damaged_database_is_told_in_one_sentence_and_left_as_it_is(home: Path, damage: str) -> None:
    await a_home(home)
    path = home / "pilothouse.db"
    good = path.read_bytes()
    bad = {
        "all of it": b"this is not a database" * 200,
        "its middle": good[:100] + os.urandom(len(good) - 100),
        "cut short": good[: len(good) // 3],
    }[damage]
    path.write_bytes(bad)
    refused = await refusal(home)
    assert refused.code == "database_corrupt"
    assert refused.message == "The database file is damaged."
    assert "backup" in refused.fix
    assert path.read_bytes() == bad


@pytest.mark.case("F-45")
async def test_a_newer_database_is_refused_with_advice_and_not_touched(home: Path) -> None:
    conversation = await a_home(home)
    change_version(home, upgrade.HEAD, "9999")
    refused = await refusal(home)
    assert refused.code == "database_newer"
    assert "9999" in refused.message
    assert "Upgrade Pilothouse" in refused.fix
    change_version(home, "9999", upgrade.HEAD)
    async with open_host(home) as host:
        assert (await host.api.conversations.get(ME, conversation, limit=5)).items


def change_version(home: Path, before: str, after: str) -> None:
    connection = sqlite3.connect(home / "pilothouse.db")
    with connection:
        changed = connection.execute("UPDATE alembic_version SET version_num=? WHERE version_num=?", (after, before))
        assert changed.rowcount == 1
    connection.close()


def columns(path: Path) -> set[str]:
    connection = sqlite3.connect(path)
    found = {row[1] for row in connection.execute("PRAGMA table_info(conversations)")}
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    return found | (tables & {"colours"})


@pytest.mark.case("F-45", "PRO-16")
async def test_an_older_database_is_backed_up_and_upgraded_with_all_it_holds(
    home: Path, request: pytest.FixtureRequest
) -> None:
    conversation = await a_home(home, [{"call": "think", "arguments": {"thoughts": "Hm."}}])
    async with open_host(home) as host:
        held = (await host.api.conversations.get(ME, conversation, limit=5)).items
    assert [item.kind for item in held] == ["user_message", "tool_call", "response", "response"]
    before = upgrade.HEAD
    request.getfixturevalue("newer")
    async with open_host(home) as host:
        assert (await host.api.conversations.get(ME, conversation, limit=5)).items == held
    assert {"colour", "colours"} <= columns(home / "pilothouse.db")
    [backup] = (home / "backups").iterdir()
    assert backup.name.startswith(f"pilothouse-{before}-")
    assert not {"colour", "colours"} & columns(backup)
    kept = sqlite3.connect(backup)
    assert kept.execute("SELECT count(*) FROM items").fetchone() == (4,)
    assert kept.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    kept.close()
    async with open_host(home):
        pass
    assert len(list((home / "backups").iterdir())) == 1


async def test_what_an_upgrade_that_was_killed_left_half_copied_goes_at_the_next_start(
    home: Path, request: pytest.FixtureRequest
) -> None:
    await a_home(home)
    (home / "backups").mkdir()
    for ending in ("", "-journal"):
        (home / "backups" / f"pilothouse-0001-20200101-000000.partial{ending}").write_bytes(bytes(4096))
    async with open_host(home):
        assert not list((home / "backups").iterdir())
    request.getfixturevalue("newer")
    async with open_host(home):
        [backup] = (home / "backups").iterdir()
    assert backup.stat().st_mode & 0o777 == 0o600


async def opened(home: Path, migrations: Path) -> tuple[int, str]:
    """Let a process open the folder; return its exit code and what it said."""
    module = ["tests.faults.upgrading", str(home), str(migrations)]
    code, _, said = await asyncio.to_thread(forked.run, module, b"", env=os.environ, timeout=60)
    return code, said.decode()


@pytest.mark.case("F-45")
@pytest.mark.parametrize("death", ["os.kill(os.getpid(), 9)", "raise RuntimeError('half-way')"])
async def test_a_migration_that_dies_half_way_leaves_the_old_schema_and_can_be_done_again(
    home: Path, tmp_path: Path, death: str
) -> None:
    await a_home(home)
    code, said = await opened(home, migrations(tmp_path, death))
    assert code == (-signal.SIGKILL if "kill" in death else 1), said
    assert not {"colour", "colours"} & columns(home / "pilothouse.db")
    async with open_host(home) as host:
        assert (await host.api.conversations.list(ME, limit=5, cursor=None)).conversations
    assert (await opened(home, migrations(tmp_path, "pass")))[0] == 0
    assert {"colour", "colours"} <= columns(home / "pilothouse.db")


def test_the_head_named_in_the_code_is_the_newest_migration() -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(upgrade.MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    assert script.get_heads() == [upgrade.HEAD]
    assert {revision.revision for revision in script.walk_revisions()} == set(upgrade.KNOWN)
