"""A start that never asks for meaning loads nothing of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

_OPEN = """
import asyncio, json, sys
from pathlib import Path
from pilothouse.wiring.host import open_host

async def main():
    async with open_host(Path(sys.argv[1]), role=sys.argv[2]) as opened:
        before = [name for name in sys.modules if name.split(".")[0] in ("numpy", "tokenizers")]
        ours = [name for name in sys.modules if name.startswith("pilothouse.meaning")]
        view = await opened.api.meaning.get("local")
        after = [name for name in sys.modules if name.split(".")[0] in ("numpy", "tokenizers")]
        print(json.dumps([before, ours, after, view.state]))

asyncio.run(main())
"""


def opened(home: Path, role: str) -> tuple[list[str], list[str], list[str], str]:
    asked = [sys.executable, "-c", _OPEN, str(home), role]
    done = subprocess.run(asked, check=True, capture_output=True, text=True, timeout=60)
    before, ours, after, state = json.loads(done.stdout)
    return before, ours, after, state


@pytest.mark.slow
def test_neither_a_start_nor_a_look_at_how_it_stands_imports_what_computes(tmp_path: Path) -> None:
    assert opened(tmp_path / "once", "once") == ([], [], [], "ready")
    assert opened(tmp_path / "server", "server") == ([], [], [], "ready")
