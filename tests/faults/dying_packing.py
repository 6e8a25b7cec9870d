"""A process that kills itself at a given statement of packing what finished runs wrote.

python -m tests.faults.dying_packing FOLDER NUMBER [DATABASE]
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pilothouse.store import packing
from pilothouse.store.opening import open_store
from pilothouse.store.statements import Connection, Statement


def die_at(statement: int) -> None:
    """Die right after so many statements of a range that is packed."""
    carry_out, run = packing.carry_out, Statement._run
    left = [statement]

    def counted(self: Statement, connection: Connection, values: Mapping[str, object]) -> Any:
        found = run(self, connection, values)
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    def dying(connection: Connection, planned: Any) -> None:
        Statement._run = counted  # type: ignore[method-assign]
        carry_out(connection, planned)

    packing.carry_out = dying


if __name__ == "__main__":
    folder, number, *database = sys.argv[1:]
    die_at(int(number))
    opened = open_store(Path(folder), database[0] if database else None, lambda *_: None)
    asyncio.run(opened.store.pack())
