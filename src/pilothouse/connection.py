"""The way to a host: the process that has the data folder, else this one, which then has it for the others as well."""

from __future__ import annotations

import asyncio
import hmac
import os
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse.host.address import read_address
from pilothouse.settings.home import home_path
from pilothouse.types import limits
from pilothouse.types.address import CHALLENGE, PROOF, ServerAddress, proof_of
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import ClientApi

# The core and the HTTP client are imported by whoever turns out to need them: each takes a while.
if TYPE_CHECKING:
    from pilothouse.client.host import RemoteHost
    from pilothouse.wiring import Role

# Says a sentence to the person, beside the answers.
Tell = Callable[[str], None]


def data_folder() -> Path:
    """Return the folder that holds everything."""
    return home_path()


def _quietly(sentence: str) -> None:
    """Say nothing: whoever uses the library has no terminal of ours."""


@asynccontextmanager
async def connect_host(
    home: Path | None = None, database_url: str | None = None, *, tell: Tell = _quietly, brief: bool = False
) -> AsyncGenerator[ClientApi, None]:
    """Give the core that is open on the folder, or open one; several processes may share a PostgreSQL.

    A `brief` command ends with its answer.
    """
    url = database_url or os.environ.get("PILOTHOUSE_DATABASE_URL") or None
    async with AsyncExitStack() as stack:
        if url is not None:
            from pilothouse.wiring import open_host  # noqa: PLC0415

            yield (await stack.enter_async_context(open_host(home, url, brief=brief))).api
        else:
            yield await _Place(stack, home or home_path(), tell, brief=brief).connect()


class _Place:
    """A process's place at a folder: its owner, or a client that becomes the owner when that one is gone."""

    def __init__(self, stack: AsyncExitStack, folder: Path, tell: Tell, *, brief: bool) -> None:
        self._stack = stack
        self._folder = folder
        self._tell = tell
        self._brief = brief
        self._reviving = asyncio.Lock()

    async def connect(self) -> ClientApi:
        """Return the owner's core, wherever it is."""
        own = await self._take_folder("once")
        if own is not None:
            return own
        from pilothouse.client.host import RemoteHost  # noqa: PLC0415

        await self._stack.enter_async_context(_closing_clients())
        return RemoteHost(lambda: read_address(self._folder), self._revive)

    async def _take_folder(self, role: Role, port: int = 0) -> ClientApi | None:
        """Take the folder and return its core, None when someone else has it; who comes or goes is waited for."""
        holder, end, pause = "", 0.0, limits.FOLDER_RETRY
        quiet_until = time.monotonic() + limits.FOLDER_QUIET
        while await _answering(self._folder) is None:
            try:
                return await self._own(role, port)
            except PilothouseError as error:
                if error.code != "data_locked":
                    raise
                if error.message != holder:
                    # Another process has it now: that one is waited for as long.
                    holder, end = error.message, time.monotonic() + limits.FOLDER_PATIENCE
                if time.monotonic() >= end or _is_suspended(self._folder):
                    raise _no_answer(error) from None
                if time.monotonic() >= quiet_until:
                    quiet_until = end
                    self._tell(
                        f"{error.message} Waiting until it answers or ends, {limits.FOLDER_PATIENCE:.0f} s at most."
                    )
            # Many that ask often would keep the one they wait for from answering.
            await asyncio.sleep(pause)
            pause = min(2 * pause, limits.FOLDER_RETRY_MOST)
        return None

    async def _own(self, role: Role, port: int) -> ClientApi:
        """Open the folder here, and let others in."""
        from pilothouse.wiring import open_host, receiving  # noqa: PLC0415

        host = await self._stack.enter_async_context(open_host(self._folder, role=role, brief=self._brief))
        await self._stack.enter_async_context(receiving(host, port, self._tell))
        return host.api

    async def _revive(self, gone: ServerAddress | None) -> None:
        """Find who took the folder over, or take it over: then this client goes on as a client of its own process."""
        async with self._reviving:
            now = read_address(self._folder)
            if now is not None and now != gone:
                return
            if await self._take_folder("heir", gone.port if gone is not None else 0) is not None:
                self._tell("The process that had the data folder has ended; this one goes on in its place.")


@asynccontextmanager
async def connect_server(home: Path | None = None) -> AsyncGenerator[RemoteHost | None, None]:
    """Give the process that listens on the data folder, None when none does."""
    folder = home or home_path()
    if await _answering(folder) is None:
        yield None
        return
    from pilothouse.client.host import RemoteHost  # noqa: PLC0415

    async with _closing_clients():
        yield RemoteHost(lambda: read_address(folder))


async def wait_until_gone(other: ServerAddress) -> None:
    """Return when that process does not listen on the folder any more."""
    folder = home_path()
    while read_address(folder) == other:  # noqa: ASYNC110 - another process cannot set an event here
        await asyncio.sleep(limits.SERVER_RETRY)


async def _answering(folder: Path) -> ServerAddress | None:
    """Return who listens, if it answers; a process that died may have left its address behind."""
    address = read_address(folder)
    if address is None:
        return None
    from pilothouse.net.client import fetch  # noqa: PLC0415
    from pilothouse.net.errors import NetError  # noqa: PLC0415

    challenge = secrets.token_urlsafe(16)
    try:
        health = await fetch(
            f"{address.url}/api/health",
            headers={CHALLENGE: challenge},
            timeout=limits.SERVER_HEALTH,
            limit=1024,
            certificate=address.certificate,
        )
    except NetError:
        return None
    # Another program may have taken the port of one that died.
    is_ours = hmac.compare_digest(health.headers.get(PROOF, ""), proof_of(address.token, challenge))
    return address if health.status == 200 and is_ours else None


def _is_suspended(folder: Path) -> bool:
    """Return whether the system says that whoever listens was suspended; not every system does."""
    address = read_address(folder)
    try:
        facts = Path(f"/proc/{address.pid}/stat").read_bytes() if address is not None else b""
    except OSError:
        return False
    # The state stands behind the name, which may hold anything.
    return facts.rpartition(b") ")[2][:1] in (b"T", b"t")


def _no_answer(error: PilothouseError) -> PilothouseError:
    fix = "If it was suspended with Ctrl-Z, `fg` brings it back; else end it. What it had accepted is kept."
    return PilothouseError("data_locked", f"{error.message.removesuffix('.')} and does not answer.", fix=fix)


@asynccontextmanager
async def _closing_clients() -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        from pilothouse.net.loop_clients import close_clients  # noqa: PLC0415

        await close_clients()
