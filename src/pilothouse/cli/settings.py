"""`pilothouse settings`: what can be set, as it is and changed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import output
from pilothouse.connection import connect_host
from pilothouse.types.api import ConfigPatch, ConfigView
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.json import JsonObject
from pilothouse.types.setting import Field, Setting, described
from pilothouse.types.settings import Settings

_SWITCHED = {"on": True, "off": False, "true": True, "false": False}
_DEFAULT = "default"


class _Named(NamedTuple):
    """A setting by its name in `config.json`."""

    name: str
    path: Sequence[Field]
    about: Setting

    def value(self, config: ConfigView) -> Any:
        """Return how it is set."""
        now: Any = config
        for field in self.path:
            now = getattr(now, field.name)
        return now

    def change(self, value: object) -> ConfigPatch:
        """Return what sets it; None gives the default again."""
        changed: object = value
        for field in reversed(self.path):
            changed = {field.encode_name: changed}
        try:
            return msgspec.convert(changed, ConfigPatch)
        except msgspec.ValidationError:
            raise self.refused(str(value)) from None

    def read(self, typed: str, config: ConfigView) -> object:
        """Return what was typed as the setting takes it."""
        if typed == _DEFAULT:
            return None
        if isinstance(self.value(config), bool):
            return _SWITCHED.get(typed, typed)
        if self.about.choices or self.about.text or isinstance(self.path[-1].default, str):
            return typed
        try:
            number = int(typed) if typed.lstrip("-").isdigit() else float(typed)
        except ValueError:
            raise self.refused(typed) from None
        if not math.isfinite(number):
            raise self.refused(typed)
        return number

    def refused(self, typed: str) -> PilothouseError:
        """Return what is wrong with a value."""
        return PilothouseError("bad_request", f"{self.name} cannot be “{typed}”.", fix=f"Take {self._takes()}.")

    def _takes(self) -> str:
        if self.about.choices:
            return f"one of: {', '.join(self.about.choices)}, or {_DEFAULT}"
        kind = "on, off" if isinstance(self.path[-1].default, bool) else "a number"
        return f"{kind}, or {_DEFAULT}"


async def settings(name: str | None, value: str | None, *, as_json: bool) -> int:
    """Show the settings, or one of them; or change it first."""
    every = [_Named(".".join(each.name for each in path), path, about) for path, about in described(Settings)]
    chosen = [one for one in every if name in (None, one.name)]
    if not chosen:
        raise PilothouseError("bad_request", f"There is no setting “{name}”.", fix="pilothouse settings lists them.")
    async with connect_host() as api:
        config = await api.settings.get(LOCAL_OWNER)
        if value is not None:
            one = chosen[0]
            config = await api.settings.update(LOCAL_OWNER, one.change(one.read(value, config)))
    if as_json:
        values: JsonObject = {one.name: one.value(config) for one in chosen}
        output().json(values)
        return 0
    rows = [(one.name, _words(one.value(config)), _meaning(one.about, whole=len(chosen) == 1)) for one in chosen]
    show_table(output(), ("setting", "now", "what it is"), rows)
    return 0


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not set" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _meaning(about: Setting, *, whole: bool) -> str:
    name = about.label if about.label == about.part else f"{about.part}: {about.label}"
    choices = f" One of: {', '.join(about.choices)}." if about.choices else ""
    return f"{name}. {about.note}{choices}" if whole else name
