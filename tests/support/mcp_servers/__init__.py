"""Small MCP servers for tests, as programs."""

from __future__ import annotations

import sys
from pathlib import Path

SCRIPTED = Path(__file__).with_name("scripted.py")


def scripted(*options: object) -> list[str]:
    """Return the command of the scripted server with these options."""
    return [sys.executable, str(SCRIPTED), *(str(option) for option in options)]
