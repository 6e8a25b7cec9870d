"""Which plugins may run: none until a person enables it, and then exactly that version with exactly these files."""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path

import msgspec

from pilothouse.plugins.discovery import Found
from pilothouse.types import durable_files
from pilothouse.types.errors import PilothouseError
from pilothouse.types.sealing import Sealing

_log = logging.getLogger(__name__)


class Enabled(msgspec.Struct, frozen=True):
    """What a person enabled, who that was, and when."""

    package: str
    version: str
    digest: str
    by: str
    at: float


class Enabling:
    """The record of what was enabled: each entry is sealed, so that whoever writes the file cannot write one."""

    def __init__(self, file: Path, sealing: Sealing) -> None:
        self._file = file
        self._sealing = sealing
        self._guard = threading.Lock()

    def enabled(self, name: str) -> Enabled | None:
        """Return what was enabled under this name."""
        sealed = self._load().get(name)
        data = self._sealing.unseal(sealed, _bound(name)) if sealed else None
        return msgspec.json.decode(data, type=Enabled) if data is not None else None

    def why_off(self, found: Found) -> str:
        """Return in a sentence why a plugin is off and what to do; empty when it may run. Nothing is imported."""
        command = f"pilothouse plugins enable {found.name}"
        agreed = self.enabled(found.name)
        if agreed is None:
            return f"It is off until you enable it: {command}"
        if (agreed.package, agreed.version) != (found.package, found.version):
            then, now = f"{agreed.package} {agreed.version}", f"{found.package} {found.version}"
            return f"It is off because it is {now} now and was {then} when you enabled it. Enable it again: {command}"
        if agreed.digest != found.digest():
            return f"It is off because its files changed since you enabled it. Enable it again: {command}"
        return ""

    def enable(self, found: Found, digest: str, by: str) -> None:
        """Let a plugin run as the person saw it; raise `conflict` when it is another one by now."""
        if digest != found.digest():
            message = f"The files of the plugin “{found.name}” changed since you looked at it."
            raise PilothouseError("conflict", message, fix="Look at it again.")
        agreed = Enabled(found.package, found.version, digest, by, time.time())
        sealed = self._sealing.seal(msgspec.json.encode(agreed), _bound(found.name))
        self._change(found.name, sealed)
        _log.info("the plugin %s (%s %s) was enabled by %s", found.name, found.package, found.version, by)

    def disable(self, name: str, by: str) -> None:
        """Let a plugin run no more."""
        self._change(name, None)
        _log.info("the plugin %s was disabled by %s", name, by)

    def _change(self, name: str, sealed: str | None) -> None:
        with self._guard:
            kept = {each: text for each, text in self._load().items() if each != name}
            kept |= {name: sealed} if sealed else {}
            durable_files.make_folder(self._file.parent)
            durable_files.replace(self._file, msgspec.json.encode(kept))

    def _load(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.MsgspecError):
            # What cannot be read enables nothing.
            return {}


def _bound(name: str) -> str:
    return f"plugin:{name}"
