"""How well texts are found that say it in other words: questions over this repository and over made-up documents.

Each question is asked twice through `semantic_search`, as the agent asks it: by words alone, and with the model of
meaning that the product has. It is answered when one of the right files is among the first five passages. The documents
are made when it runs, from facts and filler in a file; that file and the questions can be replaced.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from bench.files import Caller
from bench.processes import ROOT
from bench.results import table
from pilothouse.host.conversations import ConversationService
from pilothouse.permissions.protected import Protected
from pilothouse.store.opening import open_store
from pilothouse.tools.file_operations import file_operations
from pilothouse.tools.files.workspace import Workspace
from pilothouse.tools.sandbox.runner import SandboxRunner
from pilothouse.tools.sandbox.sandbox import Sandbox
from pilothouse.tools.search.index import Index
from pilothouse.tools.search.index_file import reading
from pilothouse.tools.search.indexes import Indexes
from pilothouse.tools.search.last_search import LastSearches
from pilothouse.tools.search.operation import Searching
from pilothouse.tools.search.operations import search_operations
from pilothouse.tools.search.queries import alike
from pilothouse.types import limits
from pilothouse.types.meaning import Meaning, WordsOnly
from pilothouse.types.terminals import TerminalSettings
from pilothouse.wiring import open_host

SETS = ROOT / "bench" / "meaning"
FIRST = 5
# What of the repository is searched: what people wrote to be read, and some of the code.
FOLDERS = (
    "docs/guide",
    "docs/decisions",
    "docs/architecture.md",
    *(f"src/pilothouse/{part}" for part in ("host", "permissions", "secrets", "web", "mcp/registry")),
)
# Documents without a fact, for each that has one.
EMPTY_ONES = 2


class Domain(msgspec.Struct, forbid_unknown_fields=True):
    """Sentences about one thing: facts that questions are about, and others around them."""

    filler: list[str]
    facts: dict[str, str]


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """What someone asks, where it is looked for, and the files (or facts) any of which answers it."""

    ask: str
    place: str = msgspec.field(name="in")
    where: list[str]


def write_documents(folder: Path, domains: dict[str, Domain]) -> dict[str, str]:
    """Make documents, the same each time; return the file of each fact."""
    chance = random.Random(8)
    files: dict[str, str] = {}
    number = 0
    for name, domain in domains.items():
        for fact in [*domain.facts, *[""] * (EMPTY_ONES * len(domain.facts))]:
            number += 1
            sentences = chance.sample(domain.filler, chance.randint(5, 8))
            if fact:
                sentences.insert(chance.randint(1, len(sentences)), domain.facts[fact])
                files[fact] = f"{name}/{number:03}.txt"
            cut = len(sentences) // 2
            text = f"Notes of the {name}, page {number}\n\n{' '.join(sentences[:cut])}\n\n{' '.join(sentences[cut:])}\n"
            (folder / name).mkdir(exist_ok=True, parents=True)
            (folder / f"{name}/{number:03}.txt").write_text(text)
    return files


def copy_repository(folder: Path) -> None:
    """Copy what is searched of the repository."""
    for each in FOLDERS:
        source = ROOT / each
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, folder / each, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / each)


@asynccontextmanager
async def searching(home: Path, folder: Path, meaning: Meaning) -> AsyncIterator[tuple[Caller, Indexes]]:
    """Open the file tool on a folder, with a model of meaning or without."""
    os.makedirs(home, exist_ok=True)
    opened = open_store(home, None, lambda *_told: None)
    guard, sandbox = Protected(home), Sandbox(home, TerminalSettings)
    indexes = Indexes(home / "index", guard, meaning=meaning)
    workspace = Workspace(guard, opened.store)
    shared = Searching(workspace, guard, indexes, LastSearches())
    tool = file_operations(workspace, search_operations(shared, SandboxRunner(sandbox), indexes.grammars.helper))
    try:
        yield Caller(tool, folder), indexes
    finally:
        await indexes.close()
        sandbox.close()
        await opened.close()


async def places(
    caller: Caller, questions: Sequence[Question], right: dict[str, str]
) -> tuple[list[int | None], float]:
    """Return the place of the first right file for each question among the first hits, and what a search takes."""
    found: list[int | None] = []
    began = time.perf_counter()
    for question in questions:
        output = await caller.call("semantic_search", query=question.ask)
        hits = [hit["path"] for hit in output.data["search"]["hits"]][:FIRST]
        wanted = [right.get(each, each) for each in question.where]
        found.append(min((hits.index(path) + 1 for path in wanted if path in hits), default=None))
    return found, (time.perf_counter() - began) / max(1, len(questions))


async def measure(
    folder: Path, sets: dict[str, list[Question]], right: dict[str, str], meaning: Meaning, *, show: bool
) -> None:
    """Ask the questions of some sets by words alone and with meaning; print both."""
    rows: list[tuple[str, ...]] = []
    told: dict[str, list[str]] = {}
    for name, by in (("words alone", WordsOnly()), ("words and meaning", meaning)):
        async with searching(folder.parent / f"home-{folder.name}-{name}", folder, by) as (caller, indexes):
            made = await known(indexes, folder)
            for called, questions in sets.items():
                found, took = await places(caller, questions, right)
                first, five = sum(place == 1 for place in found), sum(place is not None for place in found)
                took_vectors = f"{made:.0f} s" if by.is_there else ""
                count = f"{five} of {len(found)}"
                rows.append((f"{called}, {name}", count, f"{first} first", f"{took * 1000:.0f} ms", took_vectors))
                for question, place in zip(questions, found, strict=True):
                    told.setdefault(question.ask, []).append(f"{name} {place or 'no'}")
    table(f"{folder.name}: answered among the first {FIRST}; the time of a search, and of making the vectors", rows)
    for ask, places_told in told.items() if show else ():
        print(f"  {', '.join(places_told)}: {ask}")


async def known(indexes: Indexes, folder: Path) -> float:
    """Wait until everything is in the index, and every meaning known; return how long the latter took."""
    index = indexes.get(str(folder))
    while not (await asyncio.to_thread(index.catch_up, 60.0)).fresh:
        pass
    began = time.perf_counter()
    while indexes.meaning.is_there and await asyncio.to_thread(is_behind, index, indexes.meaning.model):
        await asyncio.to_thread(index.catch_up_meanings, 10.0)
        await asyncio.sleep(0.2)
    return time.perf_counter() - began


def prepared(folder: str, domains: dict[str, Domain]) -> tuple[Path, dict[str, str]]:
    """Put both kinds of texts into a folder; return it as it is really called, and the file of each fact."""
    scratch = Path(folder).resolve()
    copy_repository(scratch / "repository")
    return scratch, write_documents(scratch / "documents", domains)


def is_behind(index: Index, model: str) -> bool:
    """Return whether there are passages without a vector."""
    with reading(index.file) as connection:
        known = alike(connection, model, b"")
    return known.known < min(known.total, limits.MEANING_PASSAGES)


async def run(meaning: Meaning, domains: dict[str, Domain], sets: dict[str, list[Question]], *, show: bool) -> None:
    """Measure both kinds of texts."""
    with tempfile.TemporaryDirectory(prefix="bench-") as made:
        scratch, right = prepared(made, domains)
        for place in ("documents", "repository"):
            here = {name: [each for each in questions if each.place == place] for name, questions in sets.items()}
            if any(here.values()):
                await measure(scratch / place, here, right, meaning, show=show)


@asynccontextmanager
async def product_meaning() -> AsyncIterator[Meaning]:
    """Open what the product has to tell what texts mean."""
    with tempfile.TemporaryDirectory(prefix="bench-") as home:
        async with open_host(Path(home) / "home") as host:
            conversations = host.api.conversations
            assert isinstance(conversations, ConversationService)
            yield conversations._dependencies.meaning


async def ask(options: argparse.Namespace) -> None:
    """Read the sets and measure."""
    domains = msgspec.json.decode(options.documents.read_bytes(), type=dict[str, Domain])
    sets = {each.stem: msgspec.json.decode(each.read_bytes(), type=list[Question]) for each in options.questions}
    async with product_meaning() as meaning:
        view = await meaning.view()
        if not meaning.is_there:
            raise SystemExit(f"There is no model that tells what texts mean. {view.message}".strip())
        print(f"by {view.model or meaning.model}")
        await run(meaning, domains, sets, show=options.show)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--documents", type=Path, default=SETS / "documents.json", help="facts, and what is around them"
    )
    usual = [SETS / "questions.json", SETS / "later.json"]
    parser.add_argument("--questions", type=Path, nargs="+", default=usual, help="questions, and what answers each")
    parser.add_argument("--show", action="store_true", help="also print the place of the answer to each question")
    asyncio.run(ask(parser.parse_args()))


if __name__ == "__main__":
    main()
