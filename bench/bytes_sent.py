"""How many bytes a conversation with large results sends to its model: 20 rounds, a result of 1 MB in each."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import uvloop

from bench.endpoint import HEAD, ending, event
from bench.hosting import add_server, converse, learn_tools
from bench.processes import ROOT
from bench.results import table, verdict
from pilothouse.types.api import ModelInput
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.wiring import open_host

ECHO = str(ROOT / "bench" / "echo_server.py")
MEGABYTE = 1_000_000
MOST = 0.4
WINDOW = 1_000_000


class Model:
    """A model that calls for one large result after the other, and keeps what it was sent."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self.bodies: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lengths = [int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"]
                body = await reader.readexactly(lengths[0] if lengths else 0)
                if b"/chat/completions" in head.partition(b"\r\n")[0]:
                    self.bodies.append(body)
                    writer.write(HEAD + self._answer(json.loads(body)))
                else:
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        except asyncio.IncompleteReadError:
            writer.close()

    def _answer(self, asked: dict[str, Any]) -> bytes:
        done = sum(message["role"] == "tool" for message in asked["messages"])
        if done >= self._rounds:
            return event({"role": "assistant", "content": "Done."}) + ending(1)
        function = {"name": "bench__echo", "arguments": json.dumps({"text": f"bytes:{MEGABYTE + done}"})}
        call = {"index": 0, "id": f"call_{done}", "type": "function", "function": function}
        return event({"role": "assistant", "tool_calls": [call]}) + ending(9, "tool_calls")


@asynccontextmanager
async def serving(model: Model) -> AsyncIterator[str]:
    """Serve a model, and give its address."""
    server = await asyncio.start_server(model.serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


def is_extended(bodies: list[bytes]) -> bool:
    """Return whether each request is the one before it and more: the same tools, and the same messages first."""
    asked = [json.loads(body) for body in bodies]
    return all(
        after.get("tools") == before.get("tools") and after["messages"][: len(before["messages"])] == before["messages"]
        for before, after in pairwise(asked)
    )


async def measure(folder: Path, rounds: int) -> None:
    """Hold the conversation and print what it sent."""
    model = Model(rounds)
    async with serving(model) as url, open_host(folder / "home", role="server") as host:
        api = host.api
        await learn_tools(api, await add_server(api, "bench", [sys.executable, ECHO]))
        about: dict[str, Any] = {"base_url": url, "context_window": WINDOW}
        await api.models.add(ME, ModelInput(name="m", id="m", provider="openai-compatible", model="m", **about))
        outcome = await converse(api, "m")
        if outcome != "done":
            raise SystemExit(outcome)
    sent = sum(map(len, model.bodies)) / MEGABYTE
    tools = len(json.dumps(json.loads(model.bodies[0]).get("tools", [])))
    rows = [
        ("requests", f"{len(model.bodies)}"),
        ("the first", f"{len(model.bodies[0]):,} bytes, of these tools {tools:,}"),
        ("the last", f"{len(model.bodies[-1]):,} bytes"),
        ("each extends the one before it", "yes" if is_extended(model.bodies) else "NO"),
    ]
    table(f"{rounds} results of 1 MB, one in each round", rows)
    verdict("sent to the model", sent, MOST, " MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        uvloop.run(measure(Path(folder), parser.parse_args().rounds))


if __name__ == "__main__":
    main()
