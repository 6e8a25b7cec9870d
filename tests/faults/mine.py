"""A server's tool with an effect that can be counted: every dig leaves a line in a file, at once."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from pilothouse.host.active_run import Parts
from pilothouse.host.engine import Executor
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import CallContext, ToolOutput, ToolSource
from pilothouse.wiring.built_in import BuiltIns
from tests.support.tools import Both, ToolOf

FILE = "dug.txt"


class Mine(Both):
    """The tools of another source, and one more."""

    def __init__(self, others: ToolSource, file: Path) -> None:
        self._file = file
        self.tool = ToolOf("mine__dig", self._dig, server="Mine")
        super().__init__(others, self.tool)

    async def _dig(self, arguments: JsonObject, context: CallContext) -> ToolOutput:
        descriptor = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(descriptor, f"{context.call_id}\n".encode())
        finally:
            os.close(descriptor)
        return ToolOutput(text="coal")


def dug(home: Path) -> list[str]:
    """Return the calls that had their effect, once for each time they had it."""
    file = home / FILE
    return file.read_text().splitlines() if file.exists() else []


def open_mine(file: Path) -> None:
    """Give every host that is opened from now on the tool."""
    begin = Executor.__init__

    def beginning(self: Executor, parts: Parts, process: str, *, titles: bool = True) -> None:
        begin(self, msgspec.structs.replace(parts, toolbox=Mine(parts.toolbox, file)), process, titles=titles)

    Executor.__init__ = beginning  # type: ignore[method-assign]
    known = BuiltIns.operations
    BuiltIns.operations = lambda self: {**known(self), "mine": None}  # type: ignore[method-assign]
