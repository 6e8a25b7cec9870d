"""The real `pilothouse serve` in a process of its own, on a free port."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
from playwright.async_api import Page

from tests.support import forked
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
TOKEN = "a-fixed-token-for-the-tests-of-the-page"
START = 30.0
STOP = 15.0


class LiveServer:
    """A running server: where it is, what it keeps, and a way in."""

    def __init__(self, home: Path, process: subprocess.Popen[bytes], log: Path) -> None:
        self.home = home
        self.process = process
        self.log = log
        line = until(self._first_line, "the server's address", START)
        self.url, _, self.link = line.removeprefix("Pilothouse is at ").partition(" — open ")

    def _first_line(self) -> str | None:
        text = self.log.read_text(encoding="utf-8")
        assert self.process.poll() is None, f"the server ended:\n{text}"
        lines = [line for line in text.splitlines() if line.startswith("Pilothouse is at ")]
        return lines[0] if lines and text.endswith("\n") else None

    def new_link(self) -> str:
        """Return another link that signs one browser in."""
        answer = httpx2.post(f"{self.url}/api/link", headers={"authorization": f"Bearer {TOKEN}"}, trust_env=False)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["url"])

    async def open(self, page: Page, path: str = "/") -> None:
        """Sign a tab in and go to a place of the page."""
        await page.goto(self.new_link())
        await page.get_by_role("main").wait_for()
        if path != "/":
            await page.goto(self.url + path)

    def read(self, name: str) -> Any:
        """Return the content of a JSON file in the data folder."""
        return json.loads((self.home / name).read_text(encoding="utf-8"))


@contextlib.contextmanager
def live_server(
    home: Path,
    *,
    models: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    files: tuple[int, int] | None = None,
) -> Iterator[LiveServer]:
    """Serve a data folder, with this `models.json`, these variables and these limits of open files, and end it."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if models is not None:
        (home / "models.json").write_text(json.dumps(models, indent=2), encoding="utf-8")
    log = home.parent / "serve.log"
    command = ["pilothouse", "serve", "--no-browser", "--port", "0"]
    environment = {**os.environ, "PILOTHOUSE_HOME": str(home), "PILOTHOUSE_TOKEN": TOKEN, **(environ or {})}
    with log.open("wb") as sink:
        options: dict[str, Any] = {"cwd": ROOT, "env": environment, "stdout": sink, "stderr": sink}
        if files is None:
            process = forked.start(command, **options)
        else:
            limited = ["prlimit", f"--nofile={files[0]}:{files[1]}", sys.executable, "-m", *command]
            process = subprocess.Popen(limited, **options)
    try:
        yield LiveServer(home, process, log)
    finally:
        process.terminate()
        try:
            process.wait(STOP)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(STOP)
