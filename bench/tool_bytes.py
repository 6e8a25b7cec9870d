"""What many tools cost in bytes: 200 tools of one server in ten rounds of calls, sent whole and found on demand.

Counted is what a provider is sent beyond the host's own tools: the tools of the server or those that find them, the
system prompt and the conversation. On demand, three of the ten rounds are searches.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from bench.hosting import add_server, converse, learn_tools
from bench.processes import ROOT
from bench.results import table, verdict
from pilothouse.types.api import ConfigPatch, ModelInput
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.selection import OnDemand
from pilothouse.wiring import open_host
from tests.support.request_prefix import check_extends
from tests.support.scripted_endpoint import Endpoint, Received, Reply
from tests.support.wire_writers import Call, Say, Text, Wire

SERVER = ROOT / "tests" / "support" / "mcp_servers" / "scripted.py"
WIRES: tuple[Wire, ...] = ("openai-compatible", "openai-responses", "anthropic-compatible", "gemini", "ollama")
SEARCHES = (0, 4, 7)
FINDERS = frozenset({"search_tools", "call_tool"})
MOST = 0.3
WINDOW = 1_000_000


class Sent(NamedTuple):
    """What a conversation was sent: megabytes beyond our own tools, requests, and whether each extends the last."""

    megabytes: float
    requests: int
    extends: bool


def tools(count: int) -> list[dict[str, Any]]:
    """Return tools as long as those of real servers: about 800 bytes each, and one that answers."""
    parameters = {
        name: {"type": "string", "description": f"The {name} of what is worked on, as its owner wrote it."}
        for name in ("owner", "title", "content", "state", "text")
    }
    schema = {"type": "object", "properties": parameters, "required": ["text"]}
    said = (
        "Works on thing number {} of the office: creates it, changes it or gives it back. It takes its owner and title."
    )
    made = [
        {"name": f"work_on_thing_{number:03}", "description": said.format(number), "inputSchema": schema}
        for number in range(count - 1)
    ]
    return [{"name": "echo", "description": "Gives back what it is given.", "inputSchema": schema}, *made]


def rounds(count: int, *, on_demand: bool) -> list[Reply]:
    """Return answers that call a tool in each round; on demand some search for one instead."""
    made = []
    for number in range(count):
        # Never the same twice: a model that repeats itself is asked about.
        said = {"text": f"{number} " * 100}
        if on_demand and number in SEARCHES:
            call = Call(f"call_{number}", "search_tools", json.dumps({"query": f"give back thing number {number}"}))
        elif on_demand:
            wrapped = {"name": "bench__echo", "arguments": said}
            call = Call(f"call_{number}", "call_tool", json.dumps(wrapped))
        else:
            call = Call(f"call_{number}", "bench__echo", json.dumps(said))
        made.append(Reply(Say((call,), stop="tool")))
    return [*made, Reply(Say((Text(["Done."]),)))]


def own_tools(body: dict[str, Any]) -> int:
    """Return how many bytes of a request are the host's own tools."""
    listed = body.get("tools", [])
    if listed and "functionDeclarations" in listed[0]:
        listed = listed[0]["functionDeclarations"]
    named = [((tool.get("function") or tool)["name"], tool) for tool in listed]
    own = [tool for name, tool in named if "__" not in name and name not in FINDERS]
    return sum(len(json.dumps(tool, separators=(",", ":"), ensure_ascii=False).encode()) for tool in own)


def extends(before: Received, after: Received) -> bool:
    """Return whether a request is the one before with more at its end."""
    try:
        check_extends(before.body, after.body)
    except AssertionError:
        return False
    return True


async def hold(wire: Wire, on_demand: OnDemand, count: int, times: int) -> Sent:
    """Hold one conversation and return what was sent."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tools.json"
        file.write_text(json.dumps(tools(count)))
        async with Endpoint() as endpoint, open_host(Path(folder) / "home") as host:
            server = await add_server(host.api, "bench", [sys.executable, str(SERVER), "--tools", str(file)])
            await learn_tools(host.api, server)
            await host.api.settings.update(ME, ConfigPatch(tools_on_demand=on_demand))
            model = ModelInput(
                name="m", id="m", provider=wire, model="m", base_url=endpoint.url, api_key="sk-x", context_window=WINDOW
            )
            await host.api.models.add(ME, model)
            endpoint.answer(*rounds(times, on_demand=on_demand != "never"))
            outcome = await converse(host.api, "m")
            if outcome != "done":
                raise SystemExit(f"The conversation failed: {outcome}")
            sent = endpoint.requests
            size = sum(len(request.body) - own_tools(request.json) for request in sent)
            good = all(extends(one, after) for one, after in itertools.pairwise(sent))
            return Sent(size / 1e6, len(sent), good)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=10)
    options = parser.parse_args()
    rows, worst = [], 0.0
    for wire in WIRES:
        whole = asyncio.run(hold(wire, "never", options.tools, options.rounds))
        found = asyncio.run(hold(wire, "auto", options.tools, options.rounds))
        worst = max(worst, found.megabytes)
        kept = "each request extends the one before" if whole.extends and found.extends else "A REQUEST WAS REWRITTEN"
        rows.append((wire, f"{whole.megabytes:.2f} MB", f"{found.megabytes:.2f} MB", f"{found.requests}", kept))
    title = (
        f"{options.tools} tools, {options.rounds} rounds, beyond the host's own tools: sent whole, on demand, requests"
    )
    table(title, rows)
    verdict("on demand", worst, MOST, " MB")


if __name__ == "__main__":
    main()
