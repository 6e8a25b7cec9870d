"""Secrets are encrypted or in the keyring, and go only to the origin they were given for."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import keyring.backend
import keyring.backends.fail
import keyring.backends.null
import pytest

from pilothouse.secrets.master_key import master_key
from pilothouse.secrets.store import SecretStore
from pilothouse.secrets.system_keyring import SystemKeyring, find_keyring, usable
from pilothouse.types.errors import PilothouseError

HERE, THERE = "https://api.example.com:443", "https://evil.example.com:443"
CANARY = "sk-canary-1234567890"


class MemoryKeyring(keyring.backend.KeyringBackend):
    """A keyring as an operating system has one, without the operating system."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}
        self.locked = False

    def get_password(self, service: str, username: str) -> str | None:
        if self.locked:
            raise keyring.errors.KeyringLocked
        return self.kept.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.kept.pop((service, username), None) is None:
            raise keyring.errors.PasswordDeleteError


@pytest.fixture
def store(tmp_path: Path) -> SecretStore:
    return SecretStore(tmp_path / "secrets", find=lambda: None, environ={})


def reopened(tmp_path: Path, **environ: str) -> SecretStore:
    return SecretStore(tmp_path / "secrets", find=lambda: None, environ=environ)


@pytest.mark.case("SECRET-07", "AUT-07", "AUT-15")
def test_without_a_keyring_a_secret_is_an_encrypted_file_that_only_we_can_read(
    tmp_path: Path, store: SecretStore
) -> None:
    store.put("model-a", CANARY, HERE)
    folder = tmp_path / "secrets"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for file in folder.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert CANARY.encode() not in file.read_bytes()
    assert reopened(tmp_path).get("model-a", HERE) == CANARY
    assert "encrypted files" in store.notice()
    assert str(folder / "master.key") in store.notice()


@pytest.mark.case("SECRET-05", "SECRET-06")
def test_a_secret_is_not_given_out_for_another_origin(store: SecretStore) -> None:
    store.put("model-a", CANARY, HERE)
    with pytest.raises(PilothouseError, match="was given for https://api") as caught:
        store.get("model-a", THERE)
    assert caught.value.code == "key_moved"
    assert CANARY not in str(caught.value)
    assert store.origin_of("model-a") == HERE


@pytest.mark.case("SECRET-05")
def test_a_confirmed_secret_belongs_to_its_new_origin_only(store: SecretStore) -> None:
    store.put("model-a", CANARY, HERE)
    store.confirm("model-a", THERE)
    assert store.get("model-a", THERE) == CANARY
    with pytest.raises(PilothouseError, match="not sent to"):
        store.get("model-a", HERE)


@pytest.mark.case("SECRET-05")
def test_a_secret_whose_file_was_bound_elsewhere_by_hand_does_not_open(tmp_path: Path, store: SecretStore) -> None:
    store.put("model-a", CANARY, HERE)
    file = tmp_path / "secrets" / "model-a.secret"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"origin": THERE}))
    with pytest.raises(PilothouseError, match="it was changed") as caught:
        store.get("model-a", THERE)
    assert caught.value.code == "no_key"


@pytest.mark.case("SECRET-05")
def test_a_secret_copied_to_another_name_does_not_open(tmp_path: Path, store: SecretStore) -> None:
    store.put("model-a", CANARY, HERE)
    folder = tmp_path / "secrets"
    (folder / "model-b.secret").write_bytes((folder / "model-a.secret").read_bytes())
    with pytest.raises(PilothouseError, match="cannot be opened"):
        store.get("model-b", HERE)


def test_a_deleted_secret_is_gone_and_an_unknown_one_is_none(tmp_path: Path, store: SecretStore) -> None:
    store.put("model-a", CANARY, HERE)
    store.delete("model-a")
    store.delete("model-a")
    assert store.get("model-a", HERE) is None
    assert store.origin_of("model-a") is None
    assert not (tmp_path / "secrets" / "model-a.secret").exists()


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden", "a" * 101, "nul\0"])
def test_a_name_that_could_leave_the_folder_is_refused(store: SecretStore, name: str) -> None:
    with pytest.raises(PilothouseError, match="cannot be the name"):
        store.put(name, CANARY, HERE)


def test_a_damaged_file_is_explained(tmp_path: Path, store: SecretStore) -> None:
    store.put("model-a", CANARY, HERE)
    (tmp_path / "secrets" / "model-a.secret").write_text("{")
    with pytest.raises(PilothouseError, match="cannot be read"):
        store.get("model-a", HERE)


@pytest.mark.case("SECRET-07")
def test_the_master_key_comes_from_systemd_then_a_mounted_file_then_our_own(tmp_path: Path) -> None:
    folder, credentials = tmp_path / "secrets", tmp_path / "credentials"
    folder.mkdir()
    credentials.mkdir()
    mounted = tmp_path / "mounted"
    mounted.write_text("m" * 44)
    environ = {"CREDENTIALS_DIRECTORY": str(credentials), "PILOTHOUSE_MASTER_KEY_FILE": str(mounted)}
    from_mounted = master_key(folder, environ)
    assert not (folder / "master.key").exists()
    # Random bytes may look like white space at either end, and are key all the same.
    (credentials / "pilothouse-master-key").write_bytes(b"\n" + b"\xff" + os.urandom(29) + b" ")
    from_systemd = master_key(folder, environ)
    own = master_key(folder, {})
    assert len({from_mounted, from_systemd, own}) == 3
    assert {len(key) for key in (from_mounted, from_systemd, own)} == {32}
    assert master_key(folder, {}) == own
    assert stat.S_IMODE((folder / "master.key").stat().st_mode) == 0o600


@pytest.mark.case("SECRET-07")
@pytest.mark.parametrize(("content", "words"), [(None, "cannot be read"), ("short", "too short")])
def test_a_master_key_that_cannot_be_used_is_explained(tmp_path: Path, content: str | None, words: str) -> None:
    mounted = tmp_path / "mounted"
    if content is not None:
        mounted.write_text(content)
    store = reopened(tmp_path, PILOTHOUSE_MASTER_KEY_FILE=str(mounted))
    with pytest.raises(PilothouseError, match=words):
        store.put("model-a", CANARY, HERE)
    assert not list(tmp_path.rglob("*.secret"))


@pytest.mark.case("SECRET-07")
def test_another_master_key_opens_nothing_and_says_so(tmp_path: Path, store: SecretStore) -> None:
    store.put("model-a", CANARY, HERE)
    (tmp_path / "secrets" / "master.key").write_text("x" * 44)
    with pytest.raises(PilothouseError, match="the master key is another one"):
        store.get("model-a", HERE)


def test_two_processes_that_begin_together_share_one_master_key(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from pilothouse.secrets.master_key import master_key\n"
        "print(master_key(Path(sys.argv[1]), {}).hex())"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    keys = {process.communicate(timeout=60)[0] for process in both}
    assert len(keys) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["master.key"]


@pytest.mark.case("SECRET-07", "AUT-15")
def test_a_keyring_that_works_keeps_the_value_and_no_file_does(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    store = SecretStore(tmp_path / "secrets", find=lambda: usable(backend), environ={})
    store.put("model-a", CANARY, HERE)
    assert CANARY not in "".join(file.read_text() for file in (tmp_path / "secrets").iterdir())
    assert len(backend.kept) == 1
    assert store.get("model-a", HERE) == CANARY
    assert store.notice() == "Keys are kept in the system's keyring."
    with pytest.raises(PilothouseError, match="was given for"):
        store.get("model-a", THERE)
    store.confirm("model-a", THERE)
    assert store.get("model-a", THERE) == CANARY
    store.delete("model-a")
    assert backend.kept == {}


@pytest.mark.case("SECRET-05")
def test_a_keyrings_secret_cannot_be_bound_elsewhere_by_editing_a_file(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    store = SecretStore(tmp_path / "secrets", find=lambda: usable(backend), environ={})
    store.put("model-a", CANARY, HERE)
    file = tmp_path / "secrets" / "model-a.secret"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"origin": THERE}))
    with pytest.raises(PilothouseError, match="was given for"):
        store.get("model-a", THERE)


def test_two_data_folders_share_a_keyring_without_mixing_their_keys(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    stores = [SecretStore(tmp_path / name, find=lambda: usable(backend), environ={}) for name in ("one", "two")]
    for number, store in enumerate(stores):
        store.put("model-a", f"{CANARY}-{number}", HERE)
    assert [store.get("model-a", HERE) for store in stores] == [f"{CANARY}-0", f"{CANARY}-1"]


@pytest.mark.case("SECRET-07")
def test_a_keyring_that_is_locked_later_is_explained(tmp_path: Path) -> None:
    backend = MemoryKeyring()
    store = SecretStore(tmp_path / "secrets", find=lambda: usable(backend), environ={})
    store.put("model-a", CANARY, HERE)
    backend.locked = True
    with pytest.raises(PilothouseError, match="keyring cannot be used: KeyringLocked") as caught:
        store.get("model-a", HERE)
    assert "Unlock" in caught.value.fix
    with pytest.raises(PilothouseError, match="does not work now"):
        reopened(tmp_path).get("model-a", HERE)


@pytest.mark.case("SECRET-07")
@pytest.mark.parametrize("backend", [keyring.backends.fail.Keyring, keyring.backends.null.Keyring])
def test_a_keyring_that_only_pretends_is_not_used(backend: type[keyring.backend.KeyringBackend]) -> None:
    assert usable(backend()) is None


@pytest.mark.case("SECRET-07")
def test_a_keyring_that_never_answers_is_given_up() -> None:
    release = threading.Event()

    class Hanging(MemoryKeyring):
        def set_password(self, service: str, username: str, password: str) -> None:
            release.wait(30)

    assert not SystemKeyring(Hanging(), timeout=0.05).works()
    release.set()


@pytest.mark.case("SECRET-07")
def test_a_keyring_that_writes_plain_text_is_not_used() -> None:
    plain = type("PlaintextKeyring", (MemoryKeyring,), {"__module__": "keyrings.alt.file"})
    assert usable(plain()) is None


@pytest.mark.case("SECRET-07")
def test_the_keyring_can_be_switched_off_and_is_then_not_even_imported() -> None:
    assert find_keyring({"PILOTHOUSE_KEYRING": "off"}) is None
    assert find_keyring({}) is None  # a machine without one, as these tests pretend to be
    code = (
        "import sys; from pilothouse.secrets.store import SecretStore\n"
        "from pilothouse.secrets.system_keyring import find_keyring\n"
        "find_keyring({'PILOTHOUSE_KEYRING': 'off'})\n"
        "assert not {'keyring', 'cryptography'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


@pytest.mark.case("AUT-28")
def test_every_value_that_passes_is_learned_by_the_redactor(tmp_path: Path, store: SecretStore) -> None:
    learned: list[str] = []
    store.put("model-a", CANARY, HERE)
    SecretStore(tmp_path / "secrets", find=lambda: None, environ={}, learn=learned.append).get("model-a", HERE)
    assert learned == [CANARY]
