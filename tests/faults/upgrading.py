"""A process that opens a data folder with the migrations of another folder.

python -m tests.faults.upgrading HOME MIGRATIONS
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pilothouse.store import upgrade
from pilothouse.store.opening import open_store

if __name__ == "__main__":
    upgrade.KNOWN += ("9000",)  # type: ignore[assignment]
    upgrade.HEAD, upgrade.MIGRATIONS = "9000", Path(sys.argv[2])
    opened = open_store(Path(sys.argv[1]), None, lambda *_: None)
    asyncio.run(opened.close())
