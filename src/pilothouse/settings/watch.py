"""Notices edits of the settings files while the server runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from pilothouse.types import limits
from pilothouse.types.ports import JsonStore


async def watch(
    files: Mapping[str, JsonStore[Any]], changed: Callable[[str], None], *, interval: float = limits.FILE_WATCH
) -> None:
    """Look at the files for ever, and call `changed` with the name of each whose content or problem changed."""
    # Compared with what was told last: whoever reads a file in between takes its edit up before we look.
    told = {name: (file.value, file.problem) for name, file in files.items()}
    while True:
        await asyncio.sleep(interval)
        for name, file in files.items():
            now = (file.value, file.problem)
            if now != told[name]:
                told[name] = now
                changed(name)
