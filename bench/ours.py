"""The same conversations with Pilothouse, its log on disk: `ours.py URL MODEL CONVERSATIONS AT_ONCE SERVER...`.

See `others/measuring.py` for what is printed. The host is the library's own; every event of every conversation is
written to a database in a temporary folder, as it always is.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import uvloop

from bench.hosting import add_server, converse, learn_tools
from bench.others.measuring import measure
from bench.processes import write_models
from pilothouse.wiring import open_host

URL, MODEL, SERVER = sys.argv[1], sys.argv[2], sys.argv[5:]


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        home = Path(folder) / "home"
        write_models(home, URL.removesuffix("/v1"), [MODEL])
        async with open_host(home, role="server") as host:
            await learn_tools(host.api, await add_server(host.api, "bench", SERVER))
            await measure(lambda: converse(host.api, MODEL))


uvloop.run(main())
