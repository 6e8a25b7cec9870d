"""The real `pilothouse serve` in a process of its own that a test may kill, and requests to it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import httpx2
import psycopg
from playwright.async_api import Page

from tests.faults.limited import module_with
from tests.support import forked
from tests.support.ports import free_port
from tests.support.processes import end_process
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-for-tests-only"
# A generous timeout for a start, an answer and an end: only a hang exceeds it.
START = 120.0
ANSWER = 60.0
END = 60.0


def _trusting(certificate: Path | None) -> ssl.SSLContext:
    """Return what trusts this certificate alone; to read all that the system trusts takes longer than a request."""
    if certificate is None:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return ssl.create_default_context(cafile=certificate)


class Server:
    """A server process, and requests to it; `with Server(home) as server:` waits until it is up, and ends it.

    It can die at a place, and have other limits, so many open files (usual and at most), and these models.
    """

    def __init__(
        self,
        home: Path,
        *,
        database_url: str | None = None,
        dying: tuple[str, int] | None = None,
        port: int | None = None,
        certificate: Path | None = None,
        arguments: tuple[str, ...] = (),
        variables: Mapping[str, str] | None = None,
        limits: Mapping[str, float] | None = None,
        files: tuple[int, int] | None = None,
        models: Mapping[str, Any] | None = None,
    ) -> None:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if models is not None:
            (home / "models.json").write_text(json.dumps(models, indent=2), encoding="utf-8")
        self.home = home
        self.port = port or free_port()
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        module = ["tests.faults.dying_server", dying[0], str(dying[1])] if dying else ["pilothouse"]
        command = module_with(limits or {}, [*module, "serve", "--no-browser", "--port", str(self.port), *arguments])
        if certificate is not None:
            command += ["--tls-cert", str(certificate), "--tls-key", str(certificate)]
        environment = dict(os.environ, PILOTHOUSE_HOME=str(home), PILOTHOUSE_TOKEN=TOKEN, **(variables or {}))
        if database_url is not None:
            environment["PILOTHOUSE_DATABASE_URL"] = database_url
        self.log = home.parent / f"server-{self.port}.log"
        with self.log.open("wb") as log:
            options: dict[str, Any] = {"cwd": ROOT, "env": environment, "stdout": log, "stderr": log}
            if files is None:
                self.process = forked.start(command, **options)
            else:
                limited = ["prlimit", f"--nofile={files[0]}:{files[1]}", sys.executable, "-m", *command]
                self.process = subprocess.Popen(limited, **options)
        self.client = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=ANSWER,
            trust_env=False,
            verify=_trusting(certificate),
        )

    def __enter__(self) -> Self:
        try:
            self.wait_until_up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_until_up(self) -> None:
        until(self._is_up, f"the server to start:\n{self.log.read_text()}", START)

    def _is_up(self) -> bool:
        assert self.process.poll() is None, f"the server ended with {self.process.returncode}:\n{self.log.read_text()}"
        with contextlib.suppress(httpx2.TransportError):
            return self.client.get("/api/health").status_code == 200
        return False

    @property
    def dead(self) -> bool:
        return self.process.poll() is not None

    def get(self, path: str) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, path: str, body: dict[str, Any] | None = None, status: int = 200) -> Any:
        answer = self.client.post(path, json=body or {})
        assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
        return answer.json() if answer.content else None

    @property
    def link(self) -> str:
        """The link that it printed."""
        line = next(line for line in self.log.read_text().splitlines() if line.startswith("Pilothouse is at "))
        return line.partition(" — open ")[2]

    def new_link(self) -> str:
        """Return another link that signs one browser in."""
        return str(self.post("/api/link")["url"])

    def code(self) -> str:
        """Return a code that signs one browser in."""
        return self.new_link().partition("#code=")[2]

    async def open(self, page: Page, path: str = "/") -> None:
        """Sign a tab in at a place of the page."""
        await page.goto("about:blank")
        await page.goto(f"{self.url}{path}#code={self.code()}")
        await page.get_by_role("main").wait_for()

    def read(self, name: str) -> Any:
        """Return the content of a JSON file in the data folder."""
        return json.loads((self.home / name).read_text(encoding="utf-8"))

    def run_status(self, run_id: str) -> str:
        return str(self.get(f"/api/runs/{run_id}")["status"])

    def wait_for_run(self, run_id: str, *statuses: str, within: float = ANSWER) -> str:
        def reached() -> str | None:
            status = self.run_status(run_id)
            return status if status in statuses else None

        return until(reached, f"run {run_id} to be {statuses}", within)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def close(self) -> None:
        """End the process if it lives and forget it."""
        self.client.close()
        end_process(self.process, END)


def wait_for_death(server: Server, or_status: tuple[str, str] | None, within: float = ANSWER) -> bool:
    """Wait until the server is dead; or until a run has a status, if that comes first. Return whether it died."""

    def is_over() -> bool:
        if or_status is not None and not server.dead:
            with contextlib.suppress(httpx2.TransportError):
                return server.run_status(or_status[0]) == or_status[1]
        return server.dead

    until(is_over, f"the server to die or to finish; its log is {server.log}", within)
    return server.dead


def set_resume(home: Path, database_url: str | None, resume: str) -> None:
    """Say what becomes of what a killed server was at, while none runs: with PostgreSQL in the row that all share."""
    (home / "config.json").write_text(json.dumps({"version": "1.0", "resume_after_restart": resume}))
    if database_url is not None:
        with psycopg.connect(database_url, autocommit=True) as connection:
            # There is none before the first start, which takes the file.
            if connection.execute("SELECT to_regclass('shared_settings')").fetchone() != (None,):
                connection.execute(
                    "UPDATE shared_settings SET version = version + 1, "
                    "body = jsonb_set(body::jsonb, '{resume_after_restart}', to_jsonb(%s::text))::text "
                    "WHERE name = 'config.json'",
                    (resume,),
                )
