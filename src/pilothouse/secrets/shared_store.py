"""Secrets that several processes on one database share: sealed there, with a key that is never in it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from pilothouse.secrets.master_key import FILE_VARIABLE, master_key_path
from pilothouse.secrets.store import SecretStore
from pilothouse.types.errors import PilothouseError
from pilothouse.types.shared import SharedEntries

# Sealed by the first process: whoever cannot open it has another master key.
_CHECK = "master-key-check"
_CHECK_ORIGIN = "pilothouse:master-key"
_CHECKED = "the same key everywhere"


class SharedSecretStore(SecretStore):
    """Keeps secrets in the database; implements the port `Secrets`. What was kept in the folder is taken over once.

    No keyring is asked: another machine has another one. The sealed entries are in memory, and a thread that asks for
    a secret looks first whether they are still those of the database.
    """

    def __init__(
        self,
        folder: Path,
        shared: SharedEntries,
        fresh: Callable[[], int],
        *,
        learn: Callable[[str], None] = lambda value: None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        super().__init__(folder, learn=learn, find=lambda: None, environ=environ)
        self._shared = shared
        # Returns the version that the database has now.
        self._fresh = fresh
        self._loading = threading.Lock()
        self._known: Mapping[str, bytes] = {}
        self.version = 0

    def open(self, own: SecretStore) -> None:
        """Take over what this folder keeps by itself, if nobody did; raise if the master key is not the one in use."""
        if not self._shared.entries()[0]:
            self._shared.begin(self._sealed(own))
        self.load()
        if _CHECK not in self._known:
            self._shared.put(_CHECK, self._sealed_entry(_CHECK, _CHECKED, _CHECK_ORIGIN), unless_there=True)
            self.load()
        if super().get(_CHECK, _CHECK_ORIGIN) != _CHECKED:
            raise self._unopened(_CHECK)

    def load(self) -> None:
        """Take up what the database has."""
        with self._loading:
            version, entries = self._shared.entries()
            if version <= self.version:
                return
            # What others keep is masked here as well; all that was there before is learned at the start.
            fresh = [name for name, entry in entries.items() if self.version and self._known.get(name) != entry]
            # The version comes last: a thread that reads it without the lock then finds these entries.
            self._known = entries
            self.version = version
        self._learn_all(fresh)

    def _freshen(self) -> None:
        if self._fresh() > self.version:
            self.load()

    def get(self, name: str, origin: str) -> str | None:
        """Return a secret as the database has it now; not for the event loop."""
        self._freshen()
        return super().get(name, origin)

    def confirm(self, name: str, origin: str) -> None:
        self._freshen()
        super().confirm(name, origin)

    def delete(self, name: str) -> None:
        self._freshen()
        super().delete(name)

    def settle(self, name: str, value: str, origin: str) -> str:
        kept = self.get(name, origin)
        if kept is None:
            self._shared.put(name, self._sealed_entry(name, value, origin), unless_there=True)
            self.load()
            kept = super().get(name, origin)
        return kept or value

    def notice(self) -> str:
        """Return one sentence about where secrets are kept."""
        key = master_key_path(self._folder, self._environ)
        return f"Keys are kept in the database, encrypted with {key}."

    def _sealed(self, own: SecretStore) -> dict[str, bytes]:
        """Return what a folder keeps by itself, sealed for the database; what does not open is of no use to anyone."""
        return {name: self._sealed_entry(name, value, origin) for name, value, origin in own.kept()}

    def _sealed_entry(self, name: str, value: str, origin: str) -> bytes:
        return msgspec.json.encode(self._seal(name, value, origin))

    # --- where the entries are ---

    def _names(self) -> list[str]:
        return sorted(self._known)

    def _read(self, name: str) -> bytes | None:
        return self._known.get(name)

    def _write(self, name: str, entry: bytes) -> None:
        self._shared.put(name, entry)
        self.load()

    def _remove(self, name: str) -> None:
        self._shared.remove(name)
        self.load()

    def _unopened(self, name: str) -> PilothouseError:
        if name != _CHECK:
            return super()._unopened(name)
        key = master_key_path(self._folder, self._environ)
        message = f"The secrets in the database were encrypted with another master key than {key}."
        fix = f"Give all replicas the same master key file: set {FILE_VARIABLE} to it."
        return PilothouseError("no_key", message, fix=fix)
