"""The operating system's keyring, where one really works."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

SERVICE = "pilothouse"
T = TypeVar("T")


class SystemKeyring:
    """A keyring that is asked with a time limit, since one without a person at the screen may wait for ever."""

    def __init__(self, backend: KeyringBackend, *, timeout: float = limits.KEYRING_TIMEOUT) -> None:
        self._backend = backend
        self._timeout = timeout

    def get(self, name: str) -> str | None:
        return self._ask(lambda: self._backend.get_password(SERVICE, name))

    def set(self, name: str, text: str) -> None:
        self._ask(lambda: self._backend.set_password(SERVICE, name, text))

    def delete(self, name: str) -> None:
        self._ask(lambda: self._backend.delete_password(SERVICE, name))

    def works(self) -> bool:
        """Return whether it keeps what it is given: tried with a canary, for some only pretend."""
        name, canary = f"canary-{secrets.token_hex(4)}", secrets.token_hex(8)
        try:
            self.set(name, canary)
            kept = self.get(name) == canary
            self.delete(name)
        except PilothouseError:
            return False
        return kept

    def _ask(self, question: Callable[[], T]) -> T:
        answer: list[T] = []
        trouble: list[Exception] = []

        def ask() -> None:
            try:
                answer.append(question())
            except Exception as error:  # backends raise whatever their systems raise
                trouble.append(error)

        # A daemon: a keyring that never answers must not keep the process from ending.
        thread = threading.Thread(target=ask, daemon=True, name="keyring")
        thread.start()
        thread.join(self._timeout)
        if answer:
            return answer[0]
        reason = type(trouble[0]).__name__ if trouble else "it does not answer"
        fix = "Unlock the keyring, or type the key again with PILOTHOUSE_KEYRING=off."
        raise PilothouseError("no_key", f"The system's keyring cannot be used: {reason}.", fix=fix)


def find_keyring(environ: Mapping[str, str] = os.environ) -> SystemKeyring | None:
    """Return the system's keyring, or None where there is none that works."""
    if environ.get("PILOTHOUSE_KEYRING", "").lower() in {"off", "0", "no", "false"}:
        return None
    try:
        # Imported late: it looks through all installed packages for backends.
        import keyring  # noqa: PLC0415

        backend = keyring.get_keyring()
    except Exception:  # a backend that cannot even be loaded is no keyring
        return None
    return usable(backend)


def usable(backend: KeyringBackend) -> SystemKeyring | None:
    """Return a keyring on this backend if it works and does not keep plain text in a file."""
    parts = getattr(backend, "backends", None) or [backend]
    # `keyrings.alt` writes files that anyone with the account's disk can read: ours are encrypted.
    if any(type(part).__module__.startswith("keyrings.alt") for part in parts):
        return None
    found = SystemKeyring(backend)
    return found if found.works() else None
