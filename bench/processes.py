"""The processes of a benchmark: a model server, Pilothouse and its readers, each measured by itself."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import httpx2
import msgspec
import psutil

from bench.results import Read

ROOT = Path(__file__).resolve().parent.parent
PILOTHOUSE = ROOT / ".venv" / "bin" / "pilothouse"
OTHERS = ROOT / ".cache" / "bench" / "bin" / "python"
TOKEN = "for-the-benchmarks-and-nothing-else"
BEARER = {"authorization": f"Bearer {TOKEN}"}
PATIENCE = 300.0
_PR_SET_PDEATHSIG = 1


def _end_with_us() -> None:
    """Have the system end this process when whoever started it ends, also if that one is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def process(*command: str | Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run a command for as long as the block lasts."""
    started = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Before there are threads, and it takes no lock.
        preexec_fn=_end_with_us if sys.platform == "linux" else None,  # noqa: PLW1509
    )
    try:
        yield started
    finally:
        started.terminate()
        started.communicate(timeout=30)


def line(started: subprocess.Popen[str]) -> str:
    """Return the next line that a process says."""
    said = _pipe(started.stdout).readline()
    if not said:
        raise RuntimeError(f"{started.args!r} ended early with {started.wait()}")
    return said.strip()


def _pipe(pipe: IO[str] | None) -> IO[str]:
    assert pipe is not None
    return pipe


@contextmanager
def endpoint() -> Iterator[str]:
    """Run the model server; yields its address."""
    with process(sys.executable, "-m", "bench.endpoint") as started:
        yield line(started)


def write_models(home: Path, url: str, names: Sequence[str]) -> None:
    """Configure models of the model server, each by its name."""
    models = {
        name: {"name": name, "provider": "openai-compatible", "model": name, "baseUrl": f"{url}/v1"} for name in names
    }
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "models.json").write_text(json.dumps({"defaultModelId": names[0], "models": models}))


class Server:
    """A running Pilothouse."""

    def __init__(self, pid: int, url: str, model_url: str) -> None:
        self.pid = pid
        self._process = psutil.Process(pid)
        self.url = url
        self.model_url = model_url
        self.port = int(url.rpartition(":")[2])
        self.http = httpx2.Client(base_url=url, headers=BEARER, trust_env=False, timeout=30)

    def cpu(self) -> float:
        """Return the seconds of processor time it has used."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def memory(self) -> float:
        """Return its memory now, in MB."""
        return float(self._process.memory_info().rss) / 1e6

    def peak_memory(self) -> float:
        """Return the most memory it has had, in MB."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Post to the API."""
        answer = self.http.post(path, json=body)
        answer.raise_for_status()
        return dict(answer.json())

    def conversation(self, model: str) -> str:
        """Start a conversation; it has a title, or the model would be asked for one."""
        made = self.post("/api/conversations", {"title": "Benchmark", "settings": {"modelId": model}})
        return str(made["id"])

    def ask(self, conversation: str) -> None:
        """Send a message."""
        self.post(f"/api/conversations/{conversation}/messages", {"text": "Go."})


@contextmanager
def server(home: Path, model_url: str) -> Iterator[Server]:
    """Run Pilothouse on a data folder."""
    environment = {"PILOTHOUSE_HOME": str(home), "PILOTHOUSE_TOKEN": TOKEN}
    with process(PILOTHOUSE, "serve", "--port", "0", "--no-browser", **environment) as started:
        said = line(started)
        url = next(word for word in said.split() if word.startswith("http")).partition("/#")[0]
        running = Server(started.pid, url, model_url)
        with running.http:
            yield running


@contextmanager
def pilothouse(*models: str) -> Iterator[Server]:
    """Run a model server and Pilothouse with models of it, on a folder of their own."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        url = stack.enter_context(endpoint())
        write_models(folder / "home", url, models)
        yield stack.enter_context(server(folder / "home", url))


class Readers:
    """The readers' process."""

    def __init__(self, started: subprocess.Popen[str]) -> None:
        self._started = started

    def result(self) -> list[Read]:
        """Wait for the end of all runs."""
        return msgspec.json.decode(line(self._started), type=list[Read])


@contextmanager
def readers(running: Server, conversations: Sequence[str]) -> Iterator[Readers]:
    """Read conversations in another process; all streams are open when the block begins."""
    with process(sys.executable, "-m", "bench.reader") as started:
        order = {"port": running.port, "token": TOKEN, "conversations": list(conversations)}
        pipe = _pipe(started.stdin)
        pipe.write(json.dumps(order) + "\n")
        pipe.flush()
        if line(started) != "ready":
            raise RuntimeError("the readers did not come up")
        yield Readers(started)


def settled(running: Server) -> float:
    """Return the server's processor time once it is idle: what follows the last byte counts too."""
    before = running.cpu()
    for _ in range(50):
        time.sleep(0.2)
        now = running.cpu()
        if now - before < 0.005:
            return now
        before = now
    return before
