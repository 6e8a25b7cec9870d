"""The way to a host: the server that runs on the data folder, else one of our own for as long as it is needed."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse.runs.address import read_address
from pilothouse.settings.home import home_path
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import ClientApi

# The core and the HTTP client are imported by whoever turns out to need them: each takes a while.
if TYPE_CHECKING:
    from pilothouse.remote.host import RemoteHost


def data_folder() -> Path:
    """Return the folder that holds everything."""
    return home_path()


@asynccontextmanager
async def connect_host(home: Path | None = None, database_url: str | None = None) -> AsyncGenerator[ClientApi, None]:
    """Give the running server's core, or open one; several processes may share a PostgreSQL, a folder only one has."""
    url = database_url or os.environ.get("PILOTHOUSE_DATABASE_URL") or None
    folder = home or home_path()
    async with AsyncExitStack() as stack:
        yield await _first_free(stack, folder, url)


async def _first_free(stack: AsyncExitStack, folder: Path, url: str | None) -> ClientApi:
    """Wait out another command on the folder, and a server that is just starting or stopping."""
    end = time.monotonic() + limits.FOLDER_PATIENCE
    while True:
        if url is None and (server := await _running(folder)) is not None:
            await stack.enter_async_context(_closing_clients())
            return server
        try:
            from pilothouse.wiring import open_host  # noqa: PLC0415

            return (await stack.enter_async_context(open_host(folder, url, role="once"))).api
        except PilothouseError as error:
            if error.code != "data_locked":
                raise
            if time.monotonic() > end:
                fix = "Wait for it, or start `pilothouse serve`: any number of commands can work beside a server."
                raise PilothouseError("data_locked", error.message, fix=fix) from None
        await asyncio.sleep(limits.FOLDER_RETRY)


@asynccontextmanager
async def connect_server(home: Path | None = None) -> AsyncGenerator[RemoteHost | None, None]:
    """Give the server that runs on the data folder, None when none does."""
    server = await _running(home or home_path())
    if server is None:
        yield None
        return
    async with _closing_clients():
        yield server


async def _running(folder: Path) -> RemoteHost | None:
    """Return the folder's server if it answers; a process that died may have left its address behind."""
    address = read_address(folder)
    if address is None:
        return None
    from pilothouse.net.client import fetch  # noqa: PLC0415
    from pilothouse.net.errors import NetError  # noqa: PLC0415
    from pilothouse.remote.host import RemoteHost  # noqa: PLC0415

    try:
        health = await fetch(f"{address.url}/api/health", timeout=limits.SERVER_HEALTH, limit=1024)
    except NetError:
        return None
    return RemoteHost(lambda: read_address(folder)) if health.status == 200 else None


@asynccontextmanager
async def _closing_clients() -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        from pilothouse.net.client import close_clients  # noqa: PLC0415

        await close_clients()
