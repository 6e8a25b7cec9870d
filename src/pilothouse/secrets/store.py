"""Secrets, each bound to the origin it was given for: in the system's keyring, else in encrypted files."""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from pilothouse.secrets.master_key import master_key, master_key_path
from pilothouse.secrets.system_keyring import SystemKeyring, find_keyring
from pilothouse.types import durable_files
from pilothouse.types.errors import PilothouseError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SUFFIX = ".secret"
_TYPE_AGAIN = "Type the key again in Settings, Models."


class Entry(msgspec.Struct, frozen=True):
    """The file of one secret; the value is encrypted in it, or is in the keyring."""

    origin: str
    store: Literal["file", "keyring"]
    # The name in the keyring, which several data folders may share.
    slot: str = ""
    nonce: str = ""
    sealed: str = ""


class _Kept(msgspec.Struct, frozen=True):
    """What the keyring holds: the origin beside the value, so that no file can bind it elsewhere."""

    origin: str
    value: str


class SecretStore:
    """Keeps secrets in a folder of mode 700; implements the port `Secrets`."""

    def __init__(
        self,
        folder: Path,
        *,
        learn: Callable[[str], None] = lambda value: None,
        find: Callable[[], SystemKeyring | None] = find_keyring,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._folder = folder
        self._learn = learn
        self._find = find
        self._environ = environ
        self._guard = threading.RLock()
        # None until it was looked for; then what was found, in a tuple of one.
        self._looked: tuple[SystemKeyring | None] | None = None

    def put(self, name: str, value: str, origin: str) -> None:
        self._learn(value)
        _check_name(name)
        with self._guard, _disk_errors(self._folder):
            durable_files.make_folder(self._folder)
            keyring = self._keyring()
            if keyring is not None:
                entry = Entry(origin, "keyring", self._slot(name))
                keyring.set(entry.slot, msgspec.json.encode(_Kept(origin, value)).decode())
            else:
                entry = self._seal(name, value, origin)
            self._write(name, msgspec.json.encode(entry))

    def get(self, name: str, origin: str) -> str | None:
        entry = self._entry(name)
        if entry is None:
            return None
        kept = self._open(name, entry)
        if kept is None:
            return None
        self._learn(kept.value)
        if kept.origin != origin:
            message = f"The key “{name}” was given for {kept.origin} and is not sent to {origin or 'another place'}."
            raise PilothouseError("key_moved", message, fix="Confirm the new address in Settings, Models.")
        return kept.value

    def learn_kept(self) -> None:
        """Learn what is kept in files, so that it is known wherever it turns up; never asks a keyring."""
        self._learn_all(self._names())

    def _learn_all(self, names: Iterable[str]) -> None:
        for name in names:
            # One that does not open is told about when it is needed.
            with contextlib.suppress(PilothouseError):
                entry = self._entry(name)
                if entry is not None and entry.store == "file":
                    self._learn(self._unseal(name, entry).value)

    def kept(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, value and origin of all that can be opened; it may ask a keyring."""
        for name in self._names():
            with contextlib.suppress(PilothouseError):
                entry = self._entry(name)
                kept = self._open(name, entry) if entry is not None else None
                if kept is not None:
                    yield name, kept.value, kept.origin

    def delete(self, name: str) -> None:
        try:
            entry = self._entry(name)
        except PilothouseError:
            # What cannot be read is of no use to anyone; it goes, and what a keyring has of it is under no name.
            entry = Entry("", "file")
        if entry is None:
            return
        with self._guard, _disk_errors(self._folder):
            if entry.store == "keyring" and (keyring := self._keyring()) is not None:
                # Someone may have taken it out of the keyring by hand.
                with contextlib.suppress(PilothouseError):
                    keyring.delete(entry.slot)
            self._remove(name)

    def origin_of(self, name: str) -> str | None:
        entry = self._entry(name)
        return entry.origin if entry else None

    def confirm(self, name: str, origin: str) -> None:
        entry = self._entry(name)
        if entry is None:
            raise PilothouseError("no_key", f"There is no stored key “{name}”.", fix=_TYPE_AGAIN)
        kept = self._open(name, entry)
        if kept is None:
            raise PilothouseError("no_key", f"The key “{name}” is not in the keyring any more.", fix=_TYPE_AGAIN)
        self.put(name, kept.value, origin)

    def settle(self, name: str, value: str, origin: str) -> str:
        with self._guard:
            kept = self.get(name, origin)
            if kept is None:
                self.put(name, value, origin)
            return kept or value

    def notice(self) -> str:
        """Return one sentence about where secrets are kept; it may take a moment to find out."""
        if self._keyring() is not None:
            return "Keys are kept in the system's keyring."
        key = master_key_path(self._folder, self._environ)
        return f"No system keyring works here; keys are kept in encrypted files in {self._folder}, opened with {key}."

    def _file(self, name: str) -> Path:
        _check_name(name)
        return self._folder / f"{name}{_SUFFIX}"

    # --- where the entries are ---

    def _names(self) -> list[str]:
        return [file.name.removesuffix(_SUFFIX) for file in sorted(self._folder.glob(f"*{_SUFFIX}"))]

    def _read(self, name: str) -> bytes | None:
        try:
            return self._file(name).read_bytes()
        except FileNotFoundError:
            return None

    def _write(self, name: str, entry: bytes) -> None:
        durable_files.replace(self._file(name), entry)

    def _remove(self, name: str) -> None:
        self._file(name).unlink(missing_ok=True)
        durable_files.sync_names(self._folder)

    def _entry(self, name: str) -> Entry | None:
        try:
            found = self._read(name)
            return None if found is None else msgspec.json.decode(found, type=Entry)
        except (OSError, msgspec.MsgspecError):
            raise PilothouseError("no_key", f"The stored key “{name}” cannot be read.", fix=_TYPE_AGAIN) from None

    def _keyring(self) -> SystemKeyring | None:
        with self._guard:
            if self._looked is None:
                self._looked = (self._find(),)
            return self._looked[0]

    def _slot(self, name: str) -> str:
        with contextlib.suppress(PilothouseError):
            if (entry := self._entry(name)) is not None and entry.slot:
                return entry.slot
        return f"{name}-{secrets.token_hex(4)}"

    def _open(self, name: str, entry: Entry) -> _Kept | None:
        return self._unseal(name, entry) if entry.store == "file" else self._from_keyring(name, entry)

    def _from_keyring(self, name: str, entry: Entry) -> _Kept | None:
        keyring = self._keyring()
        if keyring is None:
            message = f"The key “{name}” is in the system's keyring, which does not work now."
            raise PilothouseError("no_key", message, fix=f"Unlock the keyring and start again. {_TYPE_AGAIN}")
        text = keyring.get(entry.slot)
        try:
            return msgspec.json.decode(text, type=_Kept) if text else None
        except msgspec.MsgspecError:
            return None

    def _seal(self, name: str, value: str, origin: str) -> Entry:
        # Imported late, here and below: many starts never touch a stored secret.
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        nonce = os.urandom(12)
        key = master_key(self._folder, self._environ)
        sealed = AESGCM(key).encrypt(nonce, value.encode(), _bound(name, origin))
        return Entry(origin, "file", nonce=base64.b64encode(nonce).decode(), sealed=base64.b64encode(sealed).decode())

    def _unseal(self, name: str, entry: Entry) -> _Kept:
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

        key = master_key(self._folder, self._environ)
        try:
            nonce, sealed = base64.b64decode(entry.nonce), base64.b64decode(entry.sealed)
            value = AESGCM(key).decrypt(nonce, sealed, _bound(name, entry.origin))
        except (InvalidTag, ValueError):
            raise self._unopened(name) from None
        return _Kept(entry.origin, value.decode())

    def _unopened(self, name: str) -> PilothouseError:
        message = f"The stored key “{name}” cannot be opened: it was changed, or the master key is another one."
        return PilothouseError("no_key", message, fix=_TYPE_AGAIN)


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        message = f"“{name}” cannot be the name of a secret."
        raise PilothouseError("bad_request", message, fix="Use letters, digits, dots, dashes and underscores.")


def _bound(name: str, origin: str) -> bytes:
    """Return what a sealed value is tied to: moved to another name or origin it does not open."""
    return msgspec.json.encode((name, origin))


@contextlib.contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise PilothouseError("disk_full", "The disk is full; the key was not kept.", fix="Free space.") from None
        reason = (error.strerror or str(error)).lower()
        message = f"The key could not be kept in {folder}: {reason}."
        raise PilothouseError("data_folder", message, fix="Check that you may write there.") from None
