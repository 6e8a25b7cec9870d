"""Programs that stay, such as local servers, in the sandbox of commands. Implements the port `ServerSandbox`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.sandbox.cgroups import Group
from pilothouse.tools.sandbox.sandbox import Order, Sandbox
from pilothouse.tools.sandbox.visible import Named
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.guarded_places import is_in
from pilothouse.types.server_sandbox import SandboxedProgram, SandboxRequest

_SWITCH_OFF = "switch the sandbox off for this server"
# Caches and sockets of the person's own, which are not there inside; what stands for them is told instead.
_ELSEWHERE = frozenset(
    {"TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "NPM_CONFIG_CACHE", "UV_CACHE_DIR", "UV_TOOL_DIR", "PIP_CACHE_DIR"}
)
_TOO_WIDE = ("/", "/tmp", "/var/tmp")  # noqa: S108 - named to be refused
_LOOK = 0.01


class LocalServerSandbox:
    """Holds programs, whether commands are held or not: here the person chose for each."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    def check(self, *, network: bool) -> None:
        found = self._sandbox.found()
        if found.kind == "none":
            first = "Install bubblewrap, or " if sys.platform == "linux" else ""
            fix = f"{first}{_SWITCH_OFF}; it then runs with your rights."
            raise PilothouseError("server_failed", "Nothing on this machine can hold a sandbox.", fix=_sentence(fix))
        if found.warning and not network:
            fix = f"Install bubblewrap, let it use the network, or {_SWITCH_OFF}."
            message = "The sandbox of this machine cannot keep a server off the network."
            raise PilothouseError("server_failed", message, fix=fix)

    def forget(self, owner: str) -> None:
        self._sandbox.scratch.forget(owner)

    @contextmanager
    def sandboxed(self, wanted: SandboxRequest) -> Iterator[SandboxedProgram]:
        self.check(network=wanted.network)
        if wanted.folder in _TOO_WIDE:
            message = f"A sandbox in which all of {wanted.folder} can be changed holds nothing."
            raise PilothouseError("server_failed", message, fix="Choose a smaller folder for the server.")
        for path in wanted.files:
            if not (wanted.installed and is_in(path, wanted.installed)) and not self._sandbox.shows(path):
                fix = f"Move it elsewhere, or {_SWITCH_OFF}."
                raise PilothouseError("server_failed", f"The sandbox does not show {path}.", fix=fix)
        order = Order(
            argv=wanted.argv,
            folder=wanted.folder,
            network=wanted.network,
            environment=_handed_on(wanted.environment),
            owner=wanted.owner,
            room=wanted.room,
            installed=wanted.installed,
            named=Named(wanted.files, wanted.named),
        )
        try:
            with self._sandbox.prepared(order, self._sandbox.found().kind) as ready:
                group = ready.group
                environment = _at_home(ready.environment, wanted.room) if wanted.installed else ready.environment
                yield SandboxedProgram(ready.argv, environment, ready.descriptors, lambda: _end(group))
        except BadArgument as error:
            fix = f"Choose another folder for the server, or {_SWITCH_OFF}."
            raise PilothouseError("server_failed", str(error), fix=fix) from None


def _handed_on(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.upper() not in _ELSEWHERE}


def _at_home(environment: Mapping[str, str], room: str) -> dict[str, str]:
    """Return variables by which a program finds a home of its own: what it keeps there is kept with its caches."""
    os.makedirs(os.path.join(room, "cache", "home"), mode=0o700, exist_ok=True)
    return {**environment, "HOME": os.path.join(environment["XDG_CACHE_HOME"], "home")}


def _end(group: Group | None) -> None:
    if group is None:
        return
    group.kill()
    until = time.monotonic() + limits.COMMAND_GONE
    while not group.remove() and time.monotonic() < until:
        time.sleep(_LOOK)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
