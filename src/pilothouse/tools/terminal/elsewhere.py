"""Terminals where no program may be started: a process that only serves the page."""

from __future__ import annotations

from pilothouse.tools.terminal.terminals import Terminals
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.terminals import TerminalView


class TerminalsElsewhere(Terminals):
    """Shows what was recorded, and starts nothing."""

    async def open_terminal(
        self,
        conversation_id: str,
        working_directory: str,
        columns: int = limits.TERMINAL_COLUMNS,
        rows: int = limits.TERMINAL_ROWS,
        identity: tuple[int, int] | None = None,
    ) -> TerminalView:
        raise PilothouseError(
            "conflict",
            "Terminals run at the workers: this process serves the page and starts no programs.",
            fix="Ask the model to run the command, or serve the page with --role all on the machine with the folder.",
        )
