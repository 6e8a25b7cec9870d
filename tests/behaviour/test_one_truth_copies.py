"""What several processes share on PostgreSQL is in backups, and goes out to files and comes in from them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import psycopg
import pytest

from pilothouse.types.api import ConfigPatch
from pilothouse.types.authority import Pattern, PolicyInput, Rule
from pilothouse.types.errors import PilothouseError
from pilothouse.types.retention import Retention
from pilothouse.wiring import OpenHost, open_host
from pilothouse.wiring.backups import back_up, restore
from pilothouse.wiring.offline import change_retention, retention_now
from pilothouse.wiring.settings_files import export_settings, import_settings
from tests.support.chats import ME
from tests.support.replicas import set_master_key
from tests.support.waiting import eventually

DENIED = Rule(id="no-files", verdict="deny", pattern=Pattern(tool="files.read"))


@pytest.fixture(autouse=True)
def one_database(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    set_master_key(monkeypatch, tmp_path)
    monkeypatch.setenv("PILOTHOUSE_DATABASE_URL", postgres_url)
    monkeypatch.setenv("PILOTHOUSE_HOME", str(tmp_path / "a"))


async def rules_at(host: OpenHost) -> list[str]:
    return [rule.id for rule in (await host.api.permissions.policy(ME)).rules]


def forget_processes(url: str) -> None:
    """Let nobody seem to be at work: a restore waits until the last one has been quiet for a while."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM processes")


async def test_a_backup_brings_the_settings_of_all_back(tmp_path: Path, postgres_url: str) -> None:
    async with open_host(tmp_path / "a") as host:
        await host.api.permissions.set_policy(ME, PolicyInput(rules=(DENIED,)))
        await host.api.settings.update(ME, ConfigPatch(most_waiting=77))
    made = await asyncio.to_thread(back_up, tmp_path / "copy.jsonl.gz", replace=False)
    assert set(made.settings) == {"config.json", "models.json", "policy.json"}
    async with open_host(tmp_path / "a") as host:
        await host.api.permissions.set_policy(ME, PolicyInput(rules=()))
    forget_processes(postgres_url)
    with pytest.raises(PilothouseError, match="There is data"):
        await asyncio.to_thread(restore, tmp_path / "copy.jsonl.gz", replace=False)
    done = await asyncio.to_thread(restore, tmp_path / "copy.jsonl.gz", replace=True)
    assert set(done.settings) == set(made.settings)
    assert not (tmp_path / "a" / "policy.json").exists()
    async with open_host(tmp_path / "b") as host:
        assert await rules_at(host) == ["no-files"]
        assert (await host.api.settings.get(ME)).most_waiting == 77


async def test_settings_go_out_to_files_and_come_in_while_a_replica_runs(tmp_path: Path) -> None:
    async with open_host(tmp_path / "a", role="server") as host:
        written = await asyncio.to_thread(export_settings, tmp_path / "files")
        assert [file.name for file in written] == ["config.json", "models.json", "policy.json"]
        policy = json.loads((tmp_path / "files" / "policy.json").read_text())
        policy["rules"] = [{"id": "by-hand", "verdict": "deny", "pattern": {"tool": "files.read"}}]
        (tmp_path / "files" / "policy.json").write_text(json.dumps(policy))
        assert "policy.json" in await asyncio.to_thread(import_settings, tmp_path / "files")

        async def known() -> bool:
            return await rules_at(host) == ["by-hand"]

        await eventually(known, "the rule to be known")
        (tmp_path / "files" / "models.json").write_text('{"models": 7}')
        with pytest.raises(PilothouseError, match=r"Nothing was taken over: line 1 of .*models\.json"):
            await asyncio.to_thread(import_settings, tmp_path / "files")
        with pytest.raises(PilothouseError, match="nothing to take over"):
            await asyncio.to_thread(import_settings, tmp_path / "elsewhere")


async def test_a_command_beside_a_server_changes_what_all_share(tmp_path: Path) -> None:
    async with open_host(tmp_path / "b", role="server") as host:
        await asyncio.to_thread(change_retention, Retention(days=9))
        assert (await asyncio.to_thread(retention_now)).days == 9

        async def known() -> bool:
            return (await host.api.settings.get(ME)).retention.days == 9

        await eventually(known, "the setting to be known")


def test_without_postgresql_the_settings_are_files_already(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PILOTHOUSE_DATABASE_URL")
    with pytest.raises(PilothouseError, match="files in the data folder already"):
        export_settings(tmp_path)
