"""Plugins as people see them."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Frozen

HookName = Literal["tools", "models", "reminders", "maskers"]


class PluginView(Frozen, frozen=True):
    """A plugin as it was found; `off` says why it may not run, `problem` why it does not work."""

    name: str
    package: str
    version: str
    hooks: tuple[HookName, ...] = ()
    problem: str = ""
    # Over its files: what a person enables is exactly this.
    digest: str = ""
    off: str = ""
    enabled_by: str = ""
    enabled_at: float | None = None
