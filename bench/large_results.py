"""Whether what is asked of a large result can be reached in two reads: 30 results of real servers and tools.

Each is made when this runs, enters a conversation as the product lets it, and is read with `read_tool_result` by a
fixed strategy, which knows what a model sees: the text that entered, and the question. Where a model is configured that
makes summaries, it is told in how many of them the answer stands. Results, questions and servers are files, which can
be replaced.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, NamedTuple

from bench import large_material, large_strategy
from bench.finding_tools import install, learn
from bench.hosting import hold
from bench.processes import ROOT
from bench.results import table
from pilothouse.agent.results.summaries import sums_up
from pilothouse.settings.home import home_path
from pilothouse.tools.arguments import BadArgument
from pilothouse.tools.results import json_paths
from pilothouse.types.api import ModelInput, NewMessage
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.item_data import CallData
from pilothouse.types.items import Call, is_a
from pilothouse.types.models import ModelConfig, ModelView
from pilothouse.types.ports import CallContext, Tool, ToolOutput, ToolRequest
from pilothouse.types.tool_names import READ_RESULT
from pilothouse.wiring import OpenHost, open_host
from scripts import page_build
from tests.support.tools import Silent

SETS = ROOT / "bench" / "large"
NUMBER = 30
TARGET = 28
OWN = "terminal_operations"
Json = dict[str, Any]


class Result(NamedTuple):
    """A result in its conversation: what the model got of it, and all of it."""

    conversation_id: str
    entered: str
    whole: str


class Outcome(NamedTuple):
    """How far a question came: after how many reads its answer was there; 0 where it entered, None where it was not."""

    reads: int | None
    why: str
    size: int = 0


def filled(given: Any, places: dict[str, str]) -> Any:
    """Return JSON with the places of this run in it."""
    text = json.dumps(given)
    for name, place in places.items():
        text = text.replace(f"{{{name}}}", place)
    return json.loads(text)


def answer(entry: Json, whole: str) -> str:
    """Return the answer, from all of the result: nobody who reads gets to see this."""
    if "path" in entry:
        try:
            return str(json_paths.at(json_paths.decoded(whole), entry["path"]))
        except BadArgument as error:
            raise LookupError(error.message) from None
    found = re.search(entry["truth"], whole, re.MULTILINE)
    if found is None:
        raise LookupError("the question does not fit this result")
    return found[0]


def plain(text: str) -> str:
    """Return a text without what differs between the ways to show it: spaces, escapes, ends of cells, line numbers."""
    text = re.sub(r"^[0-9]+(?: at [0-9]+: |: |- )", "", text, flags=re.MULTILINE)
    return re.sub(r"[\s\\\"\[\],|]+", "", text)


async def made(host: OpenHost, entry: Json, script: Path, work: Path) -> Result:
    """Have a result made in a conversation of its own."""
    source, _, operation = entry["from"].partition(".")
    call = {"call": f"{source}__{operation}", "arguments": entry["arguments"]}
    if source == OWN:
        call = {"call": source, "arguments": {"operation": operation, **entry["arguments"]}}
    await asyncio.to_thread(script.write_text, json.dumps({"turns": [[call], "Done."]}))
    model = ModelInput(name=script.stem, id=script.stem, provider="scripted", model=str(script))
    await host.api.models.add(ME, model)
    settings = ConversationSettings(model_id=script.stem, working_directory=str(work))
    message = NewMessage(text=entry["ask"], allow=(f"{source}.*", "net:*"), unattended=True)
    conversation_id, outcome = await hold(host.api, settings, message)
    page = await host.api.conversations.items(ME, conversation_id)
    calls = [item for item in page.items if is_a(item, CallData)]
    if outcome != "done" or not calls or calls[0].status != "completed":
        raise LookupError(f"the call did not work: {outcome} {calls[0].text[:200] if calls else ''}")
    return Result(conversation_id, calls[0].text, await whole_of(host, calls[0]))


async def whole_of(host: OpenHost, call: Call) -> str:
    """Return the longest text of a result, as it was kept."""
    texts = [call.text]
    for part in call.data.content:
        if part.kind in ("text", "json", "resource"):
            texts.append((await host.api.runs.part(ME, call.id, part.index)).data.decode(errors="replace"))
    return max(texts, key=len)


async def reached(tool: Tool, entry: Json, result: Result, *, show: bool) -> Outcome:
    """Read twice, and return how far that came."""
    wanted = plain(answer(entry, result.whole))
    seen = large_strategy.seen(result.entered)
    if seen is None:
        return Outcome(None, "it entered whole", len(result.whole))
    if wanted in plain(result.entered):
        return Outcome(0, "", len(result.whole))
    context = CallContext(result.conversation_id, "r", "i", None, (), unattended=True, owner=ME)
    arguments, page = large_strategy.first(seen, entry["ask"]), ""
    for reads in (1, 2):
        output = await tool.execute(arguments, context, Silent())
        page = output.text if isinstance(output, ToolOutput) else ""
        if show:
            print(f"    {reads}: {json.dumps(arguments)} -> {page[:300]!r} … {page[-120:]!r}")
        if wanted in plain(page):
            return Outcome(reads, "", len(result.whole))
        arguments = large_strategy.second(seen, entry["ask"], page)
    return Outcome(None, f"{seen.about}; the last page ends: {page[-120:]!r}", len(result.whole))


async def read_all(host: OpenHost, entries: list[Json], folder: Path, *, show: bool) -> list[Outcome]:
    """Make every result and read in it."""
    offered = await host.executor._parts.toolbox.tools(ToolRequest("c", working_directory=str(folder / "work")))
    tool = next(each for each in offered.tools if each.qualified_name == READ_RESULT)
    outcomes = []
    for number, entry in enumerate(entries):
        try:
            result = await made(host, entry, folder / f"read{number}.json", folder / "work")
            if show:
                print(f"  {entry['from']}: {entry['ask']}\n    {result.entered[:300]!r}")
            outcomes.append(await reached(tool, entry, result, show=show))
        except LookupError as problem:
            outcomes.append(Outcome(None, str(problem)))
    return outcomes


async def summed_up(host: OpenHost, entries: list[Json], folder: Path) -> tuple[int, int]:
    """Have every result of a server summed up; return in how many summaries the answer stands, and of how many."""
    good = done = 0
    for number, entry in enumerate(entries):
        if entry["from"].startswith(OWN):
            continue
        with suppress(LookupError):
            result = await made(host, entry, folder / f"summary{number}.json", folder / "work")
            done += 1
            good += plain(answer(entry, result.whole)) in plain(result.entered)
    return good, done


async def capable(host: OpenHost, named: str) -> list[str]:
    """Return the configured models that make summaries, or the named one."""
    views = (await host.api.models.list(ME)).models
    return [view.id for view in views if (view.id == named if named else _sums_up(view))]


def _sums_up(view: ModelView) -> bool:
    config = ModelConfig(
        name=view.name, provider=view.provider, base_url=view.base_url, context_window=view.context_window
    )
    return sums_up(config) and not view.key.problem


def settle(home: Path, large: Json) -> None:
    """Make a data folder with the person's own models and how large results enter."""
    home.mkdir(mode=0o700)
    models = home_path() / "models.json"
    if models.is_file():
        shutil.copy(models, home)
    (home / "config.json").write_text(json.dumps({"large_results": large}))


async def measure(entries: list[Json], servers: dict[str, Json], folder: Path, options: argparse.Namespace) -> None:
    """Make, read and print."""
    settle(folder / "home", {"enter": "excerpt"})
    async with open_host(folder / "home") as host:
        for name, server in servers.items():
            await learn(host, name, server, str(folder / "work"))
        outcomes = await read_all(host, entries, folder, show=options.show)
        models = await capable(host, options.model)
    printed(entries, outcomes)
    if not models:
        print("  summaries: none configured")
        return
    settle(folder / "second home", {"enter": "summary", "models": models[0]})
    async with open_host(folder / "second home") as host:
        for name, server in servers.items():
            await learn(host, name, server, str(folder / "work"))
        good, done = await summed_up(host, entries, folder)
    print(f"  summaries by {models[0]}: the answer stands in {good} of {done}")


def printed(entries: list[Json], outcomes: list[Outcome]) -> None:
    """Print the scores, and of each that was not reached why."""
    sizes = sorted(outcome.size for outcome in outcomes if outcome.size)
    good = sum(outcome.reads is not None for outcome in outcomes)
    told = f"{len(entries)} results of {sizes[0]:,} to {sizes[-1]:,} characters" if sizes else "No results"
    table(
        told,
        [
            ("reached without reading", str(sum(outcome.reads == 0 for outcome in outcomes))),
            ("with the first read", str(sum(outcome.reads == 1 for outcome in outcomes))),
            ("with the second", str(sum(outcome.reads == 2 for outcome in outcomes))),
            ("not reached", str(len(entries) - good)),
        ],
    )
    for entry, outcome in zip(entries, outcomes, strict=True):
        if outcome.reads is None:
            print(f"  not reached: {entry['ask']} ({entry['from']}: {outcome.why})")
    if len(entries) == NUMBER:
        print(f"  {'ok  ' if good >= TARGET else 'UNDER'} in two reads: {good} of {NUMBER}, target at least {TARGET}")


def main() -> None:
    """Read the options, prepare what is worked on, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, default=SETS / "results.json", help="calls, questions and answers")
    parser.add_argument(
        "--servers", type=Path, default=SETS / "servers.json", help="which servers, and what starts each"
    )
    parser.add_argument("--model", default="", help="the id of the configured model that makes the summaries")
    parser.add_argument("--show", action="store_true", help="also print every read")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made_folder, ExitStack() as stack:
        folder = Path(made_folder).resolve()
        work = folder / "work"
        large_material.prepare(work)
        site = stack.enter_context(large_material.served(work))
        places = {"work": str(work), "site": site, "python": sys.executable}
        servers = filled(json.loads(options.servers.read_text()), places)
        entries = filled(json.loads(options.results.read_text()), places)
        try:
            install(servers)
        except (page_build.PageBuildError, OSError) as error:
            raise SystemExit(f"The servers cannot be installed: {error}") from None
        asyncio.run(measure(entries, servers, folder, options))


if __name__ == "__main__":
    main()
