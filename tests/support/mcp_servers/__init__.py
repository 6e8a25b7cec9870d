"""Small MCP servers for tests, as programs."""

from __future__ import annotations

import sys
from pathlib import Path

_FOLDER = Path(__file__).parent


def scripted(*options: object) -> list[str]:
    """Return the command of the scripted server with these options."""
    return [sys.executable, str(_FOLDER / "scripted.py"), *(str(option) for option in options)]
