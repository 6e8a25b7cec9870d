"""A call as it is judged, and what is found about it."""

from __future__ import annotations

import os

import msgspec

from pilothouse.types.access import Access, Effect
from pilothouse.types.authority import Authority, Verdict
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, Tool

READS: frozenset[Effect] = frozenset({"reads"})
SENDS: frozenset[Effect] = frozenset({"reads", "sends"})
EDITS: frozenset[Effect] = frozenset({"reads", "writes"})


class Finding(msgspec.Struct, frozen=True):
    """What one consideration says about a call."""

    verdict: Verdict
    authority: Authority
    # The id of a rule or a grant, or the name of a built-in rule.
    rule: str
    why: str
    # Whether a passing or lasting permission could settle it; else it is asked about each time.
    lasting: bool = False


class Case(msgspec.Struct, frozen=True):
    """One call: which tool, with what, and everything that is known around it."""

    tool: Tool
    arguments: JsonObject
    context: CallContext
    access: Access

    @property
    def touches_nothing(self) -> bool:
        """Return whether a built-in tool touches nothing; what a server says about its own tools does not count."""
        access = self.access
        touched = access.effects or access.paths or access.command or access.destination or access.dangerous
        return not touched and not self.tool.effects and not self.tool.server

    @property
    def outside(self) -> list[str]:
        """Return the paths that do not lie in the working directory, component by component, nor belong to it."""
        folder = self.context.working_directory
        root = os.path.realpath(folder) if folder else ""
        asked = (use for use in self.access.paths if use.effect == "writes" or not use.belongs)
        return [use.path for use in asked if not (use.inside and root and within(use.path, root))]

    @property
    def stays_inside(self) -> bool:
        """Return whether it is all about files of the working directory."""
        access = self.access
        return not (self.tool.server or access.command or access.destination or self.outside)

    @property
    def held(self) -> bool:
        """Return whether the sandbox holds a command and undo covers what it changes, and that is enough here."""
        command = self.access.command
        return self.context.mode == "sandboxed" and command is not None and command.covered


def within(path: str, folder: str) -> bool:
    """Return whether a path is a folder or lies in it: `notes-old` does not lie in `notes`."""
    root = folder.rstrip("/")
    return path == (root or "/") or path.startswith(f"{root}/")


class Ruling(msgspec.Struct, frozen=True):
    """What the rules say about a call: the strictest verdict, the rule it comes from, and one sentence why."""

    verdict: Verdict
    rule: str
    why: str
