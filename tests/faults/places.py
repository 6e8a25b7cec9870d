"""Servers that chance can spoil: processes, and gateways behind a line that fails. Each keeps what it carried out."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from pilothouse.types.json import JsonObject
from pilothouse.types.servers import ServerInput, ServerView, ToolTimes
from tests.support.mcp_gateway import Brain, FaultProxy, OldGateway, Socket, Streamable
from tests.support.mcp_servers import SCRIPTED
from tests.support.tiny_http import Answer, TinyHttp

# No call of the simulation takes longer than this.
TIMES = ToolTimes(total=3.0)
TEXT: JsonObject = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NAMES = ("echo", "sleep", "late", "fail", "big", "raw", "progress", "ask", "exit", "deaf", "flood")
GARBAGE = (
    "not a message at all",
    '{"jsonrpc": "2.0", "id": 999999, "result": {"content": [{"type": "text", "text": "for nobody"}]}}',
    '{"jsonrpc": "2.0", "id": $ID, "result": 7}',
    '{"jsonrpc": "2.0", "id": $ID, "result": {"content": "odd"}}',
    '[[[[[[{"jsonrpc": "2.0"',
    "$BAD$BAD",
    '{"jsonrpc": "2.0", "id": $ID, "result": {"content": [{"type": "text", "text": "$BAD"}]}}',
    "$GIANT",
    '{"jsonrpc": "2.0", "id": $ID, "result": {"content": [{"type": "text", "text": "$GIANT"}]}}',
    '{"jsonrpc": "2.0", "id": $ID, "error": {"code": "no", "message": 5}}',
)


class Place(Protocol):
    """A server of the simulation."""

    body: ServerInput

    def harm(self, chance: random.Random, view: ServerView) -> None:
        """Let something go wrong."""
        ...

    def heal(self) -> None:
        """Let nothing go wrong from now on."""
        ...

    def carried(self) -> Counter[str]:
        """Return how often each call was carried out, by its mark."""
        ...

    def arguments(self, chance: random.Random, mark: str) -> tuple[str, JsonObject]:
        """Return a call: the tool and its arguments."""
        ...


def calls(names: tuple[str, ...], chance: random.Random, mark: str) -> tuple[str, JsonObject]:
    """Return a random call with this mark."""
    # Half of the calls ask for nothing special.
    name = "echo" if chance.random() < 0.5 else chance.choice(names)
    more: dict[str, JsonObject] = {
        "sleep": {"seconds": chance.choice((0.05, 0.5, 60))},
        "late": {"seconds": chance.choice((0.2, 2.0, 3.0))},
        "fail": {"message": f"It went wrong: {mark}"},
        "big": {"bytes": chance.choice((100_000, 2_000_000))},
        "raw": {"line": chance.choice(GARBAGE)},
        "progress": {"steps": chance.randrange(1, 5), "seconds": 0.1},
        "flood": {"megabytes": 2},
        "exit": {"code": chance.choice((0, 1, -9))},
    }
    # More than a pipe takes at once.
    padding: JsonObject = {"padding": "x" * 200_000} if chance.random() < 0.02 else {}
    return name, {"text": mark, **padding, **more.get(name, {})}


class Process:
    """A scripted server over stdio."""

    def __init__(self, name: str, folder: Path, *options: str, **more: Any) -> None:
        self._record = folder / f"{name}.record"
        self.tools = folder / f"{name}.tools"
        self._stopped: set[int] = set()
        self.define("")
        args = (str(SCRIPTED), "--record", str(self._record), "--tools", str(self.tools), *options)
        self.body = ServerInput(name=name, command=sys.executable, args=args, times=TIMES, **more)

    def define(self, word: str) -> None:
        """Write the definitions of the tools, with this word in those of one."""
        told = {"fail": f"Fails{word}."}
        tools = [{"name": name, "description": told.get(name, name), "inputSchema": TEXT} for name in NAMES]
        self.tools.write_text(json.dumps(tools))

    def harm(self, chance: random.Random, view: ServerView) -> None:
        self._go_on()
        if view.process is None:
            return
        pid = view.process.pid
        with suppress(ProcessLookupError):
            if chance.random() < 0.5:
                os.kill(pid, signal.SIGKILL)
            else:
                os.kill(pid, signal.SIGSTOP)
                self._stopped.add(pid)
        if chance.random() < 0.2:
            self.define(f" {chance.randrange(3)}")

    def _go_on(self) -> None:
        for pid in self._stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self._stopped.clear()

    def heal(self) -> None:
        self._go_on()

    def carried(self) -> Counter[str]:
        text = self._record.read_text(encoding="utf-8") if self._record.exists() else ""
        found: Counter[str] = Counter()
        for line in text.splitlines():
            # A process that was killed may have left half a line.
            with suppress(ValueError):
                message = json.loads(line)
                # A call that asked something is made again with the answers: that is the same call going on.
                if message.get("method") == "tools/call" and "inputResponses" not in message["params"]:
                    found[message["params"]["arguments"]["text"]] += 1
        return found

    def arguments(self, chance: random.Random, mark: str) -> tuple[str, JsonObject]:
        return calls(NAMES, chance, mark)


class Counting(Brain):
    """Keeps what it carried out."""

    def __init__(self) -> None:
        super().__init__()
        self.carried: Counter[str] = Counter()

    def answer(self, message: JsonObject) -> JsonObject | None:
        if message.get("method") == "tools/call":
            self.carried[message["params"]["arguments"]["text"]] += 1
            if message["params"]["arguments"].get("hang"):
                return None
        return super().answer(message)


class Gateway:
    """A server behind a line that fails."""

    def __init__(self, name: str, address: str, brain: Counting, proxy: FaultProxy, place: Any) -> None:
        self.body = ServerInput(name=name, url=address, times=TIMES)
        self._brain = brain
        self._proxy = proxy
        self._place = place

    def harm(self, chance: random.Random, view: ServerView) -> None:
        self._proxy.fault = chance.choice(("none", "none", "drop", "reset", "close"))
        self._proxy.after = chance.randrange(0, 900)
        self._proxy.slice = chance.choice((None, None, 1, 7))
        if isinstance(self._place, Streamable):
            self._place.session = f"s{chance.randrange(3)}"
            status = chance.choice((429, 500, 502, 503))
            refused = [Answer(status, b"busy", {"Retry-After": "0"})] if chance.random() < 0.5 else []
            self._place.instead = {"tools/call": refused}

    def heal(self) -> None:
        self._proxy.fault, self._proxy.slice = "none", None
        if isinstance(self._place, Streamable):
            self._place.instead = {}

    def carried(self) -> Counter[str]:
        return self._brain.carried

    def arguments(self, chance: random.Random, mark: str) -> tuple[str, JsonObject]:
        return "echo", {"text": mark, **({"hang": True} if chance.random() < 0.2 else {})}


@asynccontextmanager
async def places(folder: Path) -> AsyncIterator[list[Place]]:
    """Open three processes and three gateways, each over another wire."""
    async with AsyncExitStack() as stack:

        async def gateway(name: str, path: str, place: Any, scheme: str = "http") -> Gateway:
            running: Any = place.running() if isinstance(place, Socket) else TinyHttp(place)
            port = (await stack.enter_async_context(running)).port
            proxy = await stack.enter_async_context(FaultProxy(port))
            return Gateway(name, f"{scheme}://127.0.0.1:{proxy.port}{path}", place.brain, proxy, place)

        open_to = ("server/discover",)
        yield [
            Process("old", folder),
            Process("new", folder, "--era", "modern"),
            Process("own", folder, per_conversation=True),
            await gateway("web", "/mcp", Streamable(Counting(), form="events", session="s0", says=[], open_to=open_to)),
            await gateway("sse", "/sse", OldGateway(Counting())),
            await gateway("sock", "/", Socket(Counting()), "ws"),
        ]
