"""Servers that a test may kill, and a client that does not mind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import psycopg

from tests.support import forked
from tests.support.ports import free_port
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-for-tests-only"
START = 30.0


def _trusting(certificate: Path | None) -> ssl.SSLContext:
    """Return what trusts this certificate alone; to read all that the system trusts takes longer than a request."""
    if certificate is None:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return ssl.create_default_context(cafile=certificate)


class Server:
    """A server process, and requests to it."""

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
    ) -> None:
        self.port = port or free_port()
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.port}"
        module = ["tests.faults.dying_server", dying[0], str(dying[1])] if dying else ["pilothouse"]
        command = [*module, "serve", "--no-browser", "--port", str(self.port), *arguments]
        if certificate is not None:
            command += ["--tls-cert", str(certificate), "--tls-key", str(certificate)]
        environment = dict(os.environ, PILOTHOUSE_HOME=str(home), PILOTHOUSE_TOKEN=TOKEN, **(variables or {}))
        if database_url is not None:
            environment["PILOTHOUSE_DATABASE_URL"] = database_url
        self.log = home.parent / f"server-{self.port}.log"
        with self.log.open("wb") as log:
            self.process = forked.start(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        self.client = httpx2.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=10,
            trust_env=False,
            verify=_trusting(certificate),
        )

    def wait_until_up(self) -> None:
        until(self._is_up, f"the server to start:\n{self.log.read_text()}", START)

    def _is_up(self) -> bool:
        assert self.process.poll() is None, f"the server ended:\n{self.log.read_text()}"
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

    def run_status(self, run_id: str) -> str:
        return str(self.get(f"/api/runs/{run_id}")["status"])

    def wait_for_run(self, run_id: str, *statuses: str, within: float = 20.0) -> str:
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
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(5)


@contextlib.contextmanager
def serving(
    home: Path,
    *,
    database_url: str | None = None,
    dying: tuple[str, int] | None = None,
    arguments: tuple[str, ...] = (),
) -> Iterator[Server]:
    """Start a server and end it."""
    server = Server(home, database_url=database_url, dying=dying, arguments=arguments)
    try:
        server.wait_until_up()
        yield server
    finally:
        server.close()


def wait_for_death(server: Server, or_status: tuple[str, str] | None, within: float = 20.0) -> bool:
    """Wait until the server is dead; or until a run has a status, if that comes first. Return whether it died."""
    end = time.monotonic() + within
    while time.monotonic() < end:
        if server.dead:
            return True
        if or_status is not None:
            with contextlib.suppress(httpx2.TransportError):
                if server.run_status(or_status[0]) == or_status[1]:
                    return server.dead
        time.sleep(0.01)
    raise AssertionError(f"the server neither died nor finished:\n{server.log.read_text()}")


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
