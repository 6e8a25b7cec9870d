"""Plugins as people see them."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Frozen

HookName = Literal["tools", "models", "reminders", "maskers"]


class PluginView(Frozen, frozen=True):
    """A plugin as it was found; `problem` says why it is switched off."""

    name: str
    package: str
    version: str
    hooks: tuple[HookName, ...] = ()
    problem: str = ""
