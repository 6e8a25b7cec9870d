"""A program with servers of its own, to be killed: says the pid of each server once it runs."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pilothouse.types.host import LOCAL_OWNER as ME
from tests.support.mcp_hosting import open_mcp_host


async def main(home: Path) -> None:
    async with open_mcp_host(home) as hosted:
        for server in list((await hosted.admin.list(ME)).servers):
            tested = await hosted.admin.test(ME, server.id)
            view = await hosted.view(server.id)
            assert tested.ok, tested
            assert view.process is not None
            print(view.process.pid, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
