"""litellm's proxy as a program of its own: between the product and a scripted provider, or with answers it makes up."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.support.ports import free_port
from tests.support.real_servers import MISSING, ROOT
from tests.support.waiting import eventually
from tests.wires.driving import KEY

PYTHON = ROOT / ".cache" / "proxy" / "bin" / "python"
# As its own script does, which names its interpreter, and not every path can be named.
PROGRAM = "import litellm; litellm.run_server()"
# It imports eight seconds of Python, on a machine that has nothing else to do.
START = 120.0
STOP = 10.0
# Nothing of it may look elsewhere, neither for prices nor for versions: outside there is nobody.
ALONE = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "NO_DOCS": "True",
    "https_proxy": "http://127.0.0.1:9",
    "no_proxy": "127.0.0.1",
}


@asynccontextmanager
async def proxying(models: Mapping[str, Mapping[str, object]], folder: Path) -> AsyncIterator[str]:
    """Start the proxy with these models, each by what litellm is to do with it; yield its address."""
    assert PYTHON.is_file(), f"litellm {MISSING}"
    port = free_port()
    config = {
        "model_list": [{"model_name": name, "litellm_params": dict(params)} for name, params in models.items()],
        "general_settings": {"master_key": KEY},
        "litellm_settings": {"telemetry": False, "num_retries": 0},
    }
    file, log = folder / "proxy.yaml", folder / "proxy.log"
    # JSON is YAML, too.
    file.write_text(json.dumps(config))
    command: list[str | Path] = [PYTHON, "-c", PROGRAM, "--config", file, "--host", "127.0.0.1", "--port", str(port)]
    process = _started(command, folder, log)
    try:
        await eventually(lambda: _is_up(process, port), "litellm's proxy", START)
        assert process.poll() is None, log.read_text()[-4_000:]
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(STOP)


def _started(command: list[str | Path], folder: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as said:
        return subprocess.Popen(command, cwd=folder, env={**os.environ, **ALONE}, stdout=said, stderr=said)


async def _is_up(process: subprocess.Popen[bytes], port: int) -> bool:
    if process.poll() is not None:
        return True
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    await writer.wait_closed()
    return True
