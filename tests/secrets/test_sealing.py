"""What is sealed opens for its own purpose, in its own data folder, and nowhere else."""

from __future__ import annotations

from pathlib import Path

from pilothouse.secrets.sealing import Sealer
from pilothouse.secrets.store import SecretStore
from pilothouse.types.errors import PilothouseError


def sealer(folder: Path) -> Sealer:
    return Sealer(SecretStore(folder, find=lambda: None, environ={}))


def test_what_one_process_sealed_another_opens_for_the_same_call_only(tmp_path: Path) -> None:
    sealed = sealer(tmp_path / "one").seal(b'{"key": "sk-real"}', "i_1")
    assert "sk-real" not in sealed
    assert sealer(tmp_path / "one").unseal(sealed, "i_1") == b'{"key": "sk-real"}'
    assert sealer(tmp_path / "one").unseal(sealed, "i_2") is None
    assert sealer(tmp_path / "one").unseal(sealed[:-8] + "AAAAAAA=", "i_1") is None
    assert sealer(tmp_path / "one").unseal("not even base64!", "i_1") is None
    assert sealer(tmp_path / "two").unseal(sealed, "i_1") is None


class Closed:
    """A store of secrets that does not work."""

    def get(self, name: str, origin: str) -> str | None:
        raise PilothouseError("no_key", "The keyring is locked.")

    put = delete = origin_of = confirm = get

    def settle(self, name: str, value: str, origin: str) -> str:
        raise PilothouseError("no_key", "The keyring is locked.")


def test_without_a_store_of_secrets_it_opens_as_long_as_the_process_lives() -> None:
    alive = Sealer(Closed())  # type: ignore[arg-type]
    sealed = alive.seal(b"x", "i_1")
    assert alive.unseal(sealed, "i_1") == b"x"
    assert Sealer(Closed()).unseal(sealed, "i_1") is None  # type: ignore[arg-type]
