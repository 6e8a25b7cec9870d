"""Putting a program that stays, such as a server, into the sandbox that commands are in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec


class SandboxRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A program that is to be held."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    # The one folder that it may change; it may lie in the room.
    folder: str
    # A folder of its own that outlives it: what it would keep in the person's caches is kept there.
    room: str
    # Programs of the same owner share their temporary files.
    owner: str
    network: bool
    # A folder in the room that it may look into: what was installed for it. It then has a home of its own in the room.
    installed: str = ""
    # The program and its script: one that the sandbox does not show is told before the start.
    files: tuple[str, ...] = ()
    # Paths that the person named beside them: it may look there, wherever that is.
    named: tuple[str, ...] = ()


class SandboxedProgram(msgspec.Struct, frozen=True):
    """How a held program is started, from any folder."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    # What it inherits beside its input and output.
    descriptors: tuple[int, ...]
    # To be called in a thread once it has ended, however that was: nothing that it started stays.
    ended: Callable[[], None]


class ServerSandbox(Protocol):
    """Holds programs. Signals for the program go to what descends from the process: that one only holds it."""

    def check(self, *, network: bool) -> None:
        """Find out, in a thread, whether programs can be held here; raise a PilothouseError if not."""

    def forget(self, owner: str) -> None:
        """Remove an owner's temporary files."""

    def sandboxed(self, wanted: SandboxRequest) -> AbstractContextManager[SandboxedProgram]:
        """Prepare a program; what that needs is held open until it was started."""
