"""Asks every plugin for what it adds. One that breaks is named and switched off, and the others go on."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from pilothouse import __version__
from pilothouse.plugins.discovery import Found
from pilothouse.plugins.enabling import Enabled, Enabling
from pilothouse.plugins.guarded import GuardedMasker, GuardedReminders, GuardedTool
from pilothouse.types.errors import PilothouseError
from pilothouse.types.plugin_views import HookName, PluginView
from pilothouse.types.plugins import Masker, ModelMaker, PluginContext
from pilothouse.types.ports import Tool
from pilothouse.types.todos import Reminders
from pilothouse.types.tool_names import BUILT_IN

_log = logging.getLogger(__name__)
_HOOKS: tuple[HookName, ...] = ("tools", "models", "reminders", "maskers")
_NO_HOOK = "It has none of the hooks pilothouse_tools, pilothouse_models, pilothouse_reminders, pilothouse_maskers."
T = TypeVar("T")


class Loaded:
    """One plugin: what it is, and whether it still works."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.thing: object = None
        self.problem = ""
        # Why it may not run; then nothing of it was imported.
        self.off = ""
        self.digest = found.digest()
        # What its hook gave, once it was asked.
        self.tools: list[Tool] | None = None

    @property
    def hooks(self) -> tuple[HookName, ...]:
        return tuple(hook for hook in _HOOKS if callable(getattr(self.thing, f"pilothouse_{hook}", None)))

    def view(self, enabled: Enabled | None) -> PluginView:
        found = self.found
        return PluginView(
            name=found.name,
            package=found.package,
            version=found.version,
            hooks=self.hooks,
            problem=self.problem,
            digest=self.digest,
            off=self.off,
            enabled_by=enabled.by if enabled is not None and not self.off else "",
            enabled_at=enabled.at if enabled is not None and not self.off else None,
        )


class Plugins:
    """All plugins of a host; the built-in parts come first and go through the same hooks."""

    def __init__(
        self,
        built_in: Mapping[str, object],
        found: Sequence[Found],
        folder: Path,
        enabling: Enabling,
        broke: Callable[[str], None],
    ) -> None:
        """Take the built-in parts by name, and what is installed; `broke` is told in one sentence what broke."""
        self._folder = folder
        self._enabling = enabling
        self._broke = broke
        own = [Found(name, "pilothouse", __version__, _itself(thing)) for name, thing in built_in.items()]
        self._own = set(built_in)
        self._all = [self._loaded(each) for each in (*own, *found)]

    def views(self) -> tuple[PluginView, ...]:
        """Return the installed plugins for people; the built-in parts are not among them."""
        return tuple(each.view(self._enabling.enabled(each.found.name)) for each in self._installed())

    def _installed(self) -> list[Loaded]:
        return [each for each in self._all if each.found.name not in self._own]

    def switch(self, name: str, digest: str | None, by: str) -> None:
        """Enable a plugin as the person saw it, or disable it with None; what it masks counts from the next start."""
        each = next((each for each in self._installed() if each.found.name == name), None)
        if each is None:
            raise PilothouseError("not_found", f"There is no plugin “{name}”.", fix="pilothouse plugins lists them.")
        try:
            if digest is None:
                self._enabling.disable(name, by)
            else:
                self._enabling.enable(each.found, digest, by)
        finally:
            self._all[self._all.index(each)] = self._loaded(each.found)

    def tools(self, *, without: frozenset[str] = frozenset()) -> list[Tool]:
        """Return the tools of all but those named; a name that is taken stays with who had it first."""
        taken: dict[str, Tool] = {}
        for each in self._all:
            if each.found.name not in without:
                self._add_tools(each, taken)
        return list(taken.values())

    def _add_tools(self, each: Loaded, taken: dict[str, Tool]) -> None:
        if each.tools is None:
            given = self._asked(each, "tools", _tools) or []
            own = each.found.name in self._own
            each.tools = given if own else [GuardedTool(tool, each.found.name) for tool in given]
        names = [tool.spec.name for tool in each.tools]
        double = next((name for name in names if name in taken or name in self._reserved(each)), None)
        if double is not None:
            each.tools = []
            self._disable(each, f"It brings a tool named {double}, which exists already.")
        taken |= {tool.spec.name: tool for tool in each.tools}

    def _reserved(self, each: Loaded) -> frozenset[str]:
        """Return the names that are ours even where the tool is not there now."""
        return frozenset() if each.found.name in self._own else frozenset(BUILT_IN)

    def models(self) -> dict[str, ModelMaker]:
        """Return the ways to make models by their names."""
        makers: dict[str, ModelMaker] = {}
        for each in self._all:
            made = self._asked(each, "models", _models) or {}
            makers = {**made, **makers}
        return makers

    def reminders(self) -> list[Reminders]:
        """Return who reminds models of something."""
        found: list[Reminders] = []
        for each in self._all:
            given: list[Reminders] = self._asked(each, "reminders", _list) or []
            own = each.found.name in self._own
            name, broke = each.found.name, self._breaker(each)
            found += given if own else [GuardedReminders(reminders, name, broke) for reminders in given]
        return found

    def maskers(self) -> list[Masker]:
        """Return what takes secrets out of results; one that breaks withholds results and is named."""
        found: list[Masker] = []
        for each in self._all:
            given: list[Masker] = self._asked(each, "maskers", _list) or []
            found += [GuardedMasker(masker, each.found.name) for masker in given]
        return found

    def _breaker(self, each: Loaded) -> Callable[[Exception], None]:
        return lambda error: self._disable(each, _said(error))

    # --- each by itself ---

    def _loaded(self, found: Found) -> Loaded:
        loaded = Loaded(found)
        if found.name not in self._own and (why := self._enabling.why_off(found)):
            loaded.off = why
            if self._enabling.enabled(found.name) is not None:
                _log.warning("the plugin %s: %s", found.name, why)
                self._broke(f"The plugin “{found.name}” does not run. {why}")
            return loaded
        try:
            loaded.thing = found.load()
        # A plugin is someone else's code: whatever it raises, the host goes on without it.
        except (Exception, SystemExit) as error:
            self._disable(loaded, _said(error))
        else:
            if not loaded.hooks:
                self._disable(loaded, _NO_HOOK)
        return loaded

    def _asked(self, each: Loaded, hook: HookName, take: Callable[[object], T]) -> T | None:
        function = getattr(each.thing, f"pilothouse_{hook}", None)
        if each.problem or each.off or not callable(function):
            return None
        try:
            return take(function(self._context(each)))
        except (Exception, SystemExit) as error:
            self._disable(each, _said(error))
            return None

    def _context(self, each: Loaded) -> PluginContext:
        folder = self._folder / each.found.name
        if each.found.name not in self._own:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return PluginContext(version=__version__, data_folder=folder)

    def _disable(self, each: Loaded, why: str) -> None:
        if each.problem:
            return
        each.problem = why
        _log.error("the plugin %s was switched off: %s", each.found.name, why)
        self._broke(f"The plugin “{each.found.name}” does not work and was switched off: {why}")


def _itself(thing: object) -> Callable[[], object]:
    return lambda: thing


def _tools(given: object) -> list[Tool]:
    tools: list[Tool] = _list(given)
    for tool in tools:
        # Asked for once here, so that a plugin that cannot say what its tools are is found out now.
        msgspec.json.encode((tool.spec, sorted(tool.effects), tool.qualified_name, tool.grant_key))
        if tool.server:
            raise ValueError("a plugin's tool belongs to no server")
    return tools


def _models(given: object) -> dict[str, ModelMaker]:
    if not isinstance(given, Mapping) or not all(callable(maker) for maker in given.values()):
        raise TypeError("pilothouse_models must return functions by name")
    return dict(given)


def _list(given: object) -> list[T]:
    if not isinstance(given, Iterable):
        raise TypeError("a hook must return a list")
    return list(given)


def _said(error: BaseException) -> str:
    """Return an error as part of a sentence; the log has where it came from."""
    _log.info("a plugin raised", exc_info=error)
    text = " ".join(str(error).split())[:300]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
