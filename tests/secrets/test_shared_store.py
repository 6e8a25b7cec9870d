"""Secrets in a database that several processes share: sealed, and the same for all."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from pilothouse.secrets.sealing import Sealer
from pilothouse.types.errors import PilothouseError
from pilothouse.wiring.shared_settings import Shared
from tests.support.replicas import open_shared_settings, set_master_key

ORIGIN = "https://one.example"


@pytest.fixture
def both(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Shared, Shared]]:
    set_master_key(monkeypatch, tmp_path)
    with (
        open_shared_settings(postgres_url, tmp_path / "a") as a,
        open_shared_settings(postgres_url, tmp_path / "b") as b,
    ):
        yield a, b


def test_a_secret_is_at_the_other_at_once_and_gone_with_its_deletion(both: tuple[Shared, Shared]) -> None:
    a, b = (each.secrets for each in both)
    a.put("one", "first", ORIGIN)
    assert b.get("one", ORIGIN) == "first"
    b.put("one", "second", ORIGIN)
    assert a.get("one", ORIGIN) == "second"
    b.delete("one")
    assert a.get("one", ORIGIN) is None
    assert a.origin_of("one") is None


def test_it_is_bound_to_its_origin_and_name(both: tuple[Shared, Shared], postgres_url: str) -> None:
    a, b = (each.secrets for each in both)
    a.put("one", "first", ORIGIN)
    with pytest.raises(PilothouseError, match="was given for"):
        b.get("one", "https://another.example")
    b.confirm("one", "https://another.example")
    assert a.get("one", "https://another.example") == "first"
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO shared_secrets SELECT 'two', entry, updated_at FROM shared_secrets s WHERE s.name='one'"
        )
    # Until something of ours changes, nobody has a reason to look.
    a.put("three", "third", ORIGIN)
    with pytest.raises(PilothouseError, match="cannot be opened"):
        b.get("two", "https://another.example")


def test_of_many_who_make_the_same_key_at_once_all_get_one(both: tuple[Shared, Shared]) -> None:
    stores = [each.secrets for each in both] * 4
    with ThreadPoolExecutor(len(stores)) as threads:
        found = list(threads.map(lambda one: one[1].settle("common", f"value-{one[0]}", ORIGIN), enumerate(stores)))
    assert len(set(found)) == 1
    sealed = Sealer(both[0].secrets).seal(b"a word", "for a test")
    assert Sealer(both[1].secrets).unseal(sealed, "for a test") == b"a word"


def test_without_a_key_of_its_own_the_folder_makes_one_and_another_folder_is_told(
    tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PILOTHOUSE_MASTER_KEY_FILE", raising=False)
    with open_shared_settings(postgres_url, tmp_path / "a") as a:
        a.secrets.put("one", "first", ORIGIN)
        assert a.secrets.notice() == (
            f"Keys are kept in the database, encrypted with {tmp_path / 'a' / 'secrets' / 'master.key'}."
        )
    with (
        pytest.raises(PilothouseError, match="encrypted with another master key"),
        open_shared_settings(postgres_url, tmp_path / "b"),
    ):
        raise AssertionError("it was opened")
    with open_shared_settings(postgres_url, tmp_path / "a") as again:
        assert again.secrets.get("one", ORIGIN) == "first"
