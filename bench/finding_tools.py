"""How well tools are found: questions in a user's words over the tools of real servers, each with its tool.

The servers are those of others, pinned, started as the product starts them, and asked for their tools; no key is real
and nothing but their lists is asked for. Servers and questions are files, which can be replaced.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.processes import ROOT
from bench.results import table
from pilothouse.host.conversations import ConversationService
from pilothouse.tools.search_tools import SearchTools
from pilothouse.types import limits
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.meaning import Meaning, WordsOnly
from pilothouse.types.ports import CallContext, Tool, ToolRequest
from pilothouse.types.servers import ConsentGiven, ServerInput
from pilothouse.wiring import OpenHost, open_host
from scripts import foreign, page_build
from tests.support import real_servers
from tests.support.tools import Silent

SETS = ROOT / "bench" / "finding"
FIRST = 5
TARGET = 55
PATIENCE = 600.0
Json = dict[str, Any]


def command(entry: Json, folder: str) -> list[str]:
    """Return what starts a server."""
    arguments = [folder if each == "{folder}" else each for each in entry.get("args", ())]
    if "python" in entry:
        return [str(real_servers.PYTHON / "bin" / entry["python"]), *arguments]
    package = ROOT / entry.get("at", "bench/finding") / "node_modules" / entry["npm"]
    programs = json.loads((package / "package.json").read_text())["bin"]
    program = programs if isinstance(programs, str) else next(iter(programs.values()))
    return [real_servers.node(), str(package / program), *arguments]


def install(entries: dict[str, Json]) -> None:
    """Install what is missing of the servers."""
    for folder in {entry.get("at", "bench/finding") for entry in entries.values() if "npm" in entry}:
        foreign.npm_folder(ROOT / folder)
    if any("python" in entry for entry in entries.values()):
        foreign.environment(*foreign.ENVIRONMENTS[0])


async def learn(host: OpenHost, name: str, entry: Json, folder: str) -> int:
    """Add a server, agree to it, and have its tools known; return how many it has, 0 where it does not start."""
    program, *arguments = command(entry, folder)
    body = ServerInput(name=name, command=program, args=tuple(arguments), plain_env=entry.get("env", {}))
    added = await host.api.servers.add(ME, body)
    assert added.consent is not None
    await host.api.servers.consent(ME, added.id, ConsentGiven(fingerprint=added.consent.fingerprint))
    tested = await host.api.servers.test(ME, added.id)
    if not tested.ok:
        print(f"  {name} is left out: {tested.message}", file=sys.stderr)
    await host.api.servers.disconnect(ME, added.id)
    return len((await host.api.servers.tools(ME, added.id)).tools)


async def ranks(tools: tuple[Tool, ...], questions: list[Json], meaning: Meaning) -> tuple[list[int | None], float]:
    """Return the place of the right tool for each question, None where it is not among those that count.

    Beside it, how long a search takes once all tools are known.
    """
    finder, found = SearchTools(meaning), []
    await finder._meanings().known(tools, PATIENCE)
    began = time.perf_counter()
    for question in questions:
        context = CallContext("c", "r", "i", None, (), False, tools=tools)
        output = await finder.execute({"query": question["ask"][: limits.FINDING_CHARS]}, context, Silent())
        names = [each["name"] for each in output.data["found"]][:FIRST]
        places = [names.index(name) + 1 for name in question["tools"] if name in names]
        found.append(min(places, default=None))
    return found, (time.perf_counter() - began) / len(questions)


async def measure(entries: dict[str, Json], questions: list[Json], *, show: bool) -> int:
    """Collect the tools and ask the questions; print and return how many were answered."""
    with tempfile.TemporaryDirectory() as folder:
        async with open_host(Path(folder) / "home") as host:
            counts = {name: await learn(host, name, entry, folder) for name, entry in entries.items()}
            offered = await host.executor._parts.toolbox.tools(ToolRequest("c", on_demand="always"))
            tools = offered.on_demand
            conversations = host.api.conversations
            assert isinstance(conversations, ConversationService)
            meaning = conversations._dependencies.meaning
            by = {"by words": WordsOnly(), "by words and meaning": meaning} if meaning.is_there else {"": WordsOnly()}
            asked = {name: await ranks(tools, questions, each) for name, each in by.items()}
    known = {tool.qualified_name for tool in tools}
    if absent := sorted({name for question in questions for name in question["tools"]} - known):
        print(f"  not there: {', '.join(absent)}", file=sys.stderr)
    columns = list(asked.values())
    table(
        f"{len(questions)} questions over {len(tools)} tools of {sum(map(bool, counts.values()))} servers",
        [
            ("", *asked),
            ("the right tool is the first", *(str(sum(place == 1 for place in places)) for places, _ in columns)),
            (f"among the first {FIRST}", *(str(good(places)) for places, _ in columns)),
            ("a search takes", *(f"{took * 1000:.1f} ms" for _, took in columns)),
        ],
    )
    for name, (places, _) in asked.items() if show else ():
        for question, place in zip(questions, places, strict=True):
            if place is None:
                print(f"  not found {name}: {question['ask']} ({', '.join(question['tools'])})")
    return good(columns[-1][0])


def good(places: list[int | None]) -> int:
    """Return how many questions were answered."""
    return sum(place is not None for place in places)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--servers", type=Path, default=SETS / "servers.json", help="which servers, and what starts each"
    )
    parser.add_argument("--questions", type=Path, default=SETS / "questions.json", help="questions and the right tools")
    parser.add_argument("--show", action="store_true", help="also print the questions whose tool was not found")
    options = parser.parse_args()
    entries: dict[str, Json] = json.loads(options.servers.read_text())
    questions: list[Json] = json.loads(options.questions.read_text())
    try:
        install(entries)
    except (page_build.PageBuildError, OSError) as error:
        raise SystemExit(f"The servers cannot be installed: {error}") from None
    found = asyncio.run(measure(entries, questions, show=options.show))
    if len(questions) == 60:
        print(f"  {'ok  ' if found >= TARGET else 'UNDER'} found: {found} of 60, target at least {TARGET}")


if __name__ == "__main__":
    main()
