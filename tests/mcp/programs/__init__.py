"""MCP servers as programs that only the tests of MCP start."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.ports import free_port
from tests.support.real_servers import start_program_on_port

_FOLDER = Path(__file__).parent
PRYING = _FOLDER / "prying.py"
REFERENCE = str(_FOLDER / "reference.py")


@contextmanager
def reference_over_http(*allowed_hosts: str) -> Iterator[int]:
    """Start the server made with the official SDK at /mcp, which answers to these names only; yields its port."""
    port = free_port()
    with start_program_on_port([sys.executable, REFERENCE, str(port), *allowed_hosts], port):
        yield port
