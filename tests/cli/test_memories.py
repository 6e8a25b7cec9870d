"""`pilothouse memory`, by real commands, and the same from a program."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pilothouse import Host
from pilothouse.types.memories import MemoryPatch
from tests.cli.conftest import assert_told
from tests.support.commands import Outcome, pilothouse


async def run(home: Path, *arguments: str) -> Outcome:
    return await asyncio.to_thread(pilothouse, home, "memory", *arguments)


@pytest.mark.slow
async def test_a_memory_is_added_found_edited_forgotten_and_brought_back(home: Path, tmp_path: Path) -> None:
    added = await run(home, "add", "Tea, not coffee.", "--title", "Drink", "--tag", "taste")
    assert added.code == 0, added
    [short] = added.lines
    again = await run(home, "add", "tea,  NOT coffee.")
    assert again.lines == [short]
    assert "says that already" in again.err
    here = await run(home, "add", "The gate is blue.", "--folder", str(tmp_path))
    listed = await run(home, "list")
    head, *rows = listed.lines
    assert head.split() == ["id", "seen", "age", "by", "memory"]
    assert sorted(row.split()[1] for row in rows) == ["everywhere", "folder"]
    only = json.loads((await run(home, "list", "--folder", str(tmp_path), "--json")).out)["memories"]
    assert [memory["text"] for memory in only] == ["The gate is blue."]
    found = await run(home, "search", "coffee")
    assert [line.split()[0] for line in found.lines[1:]] == [short]
    assert (await run(home, "edit", short, "--text", "Coffee after all.")).code == 0
    assert "Coffee after all." in (await run(home, "search", "coffee")).out
    gone = await run(home, "forget", short)
    assert f"memory restore {short}" in gone.err
    assert [line.split()[0] for line in (await run(home, "list")).lines[1:]] == here.lines
    assert (await run(home, "restore", short)).code == 0
    assert len((await run(home, "list")).lines) == 3


async def test_a_topic_is_named_as_people_name_it_and_takes_its_memories_along(by_words: Path) -> None:
    await asyncio.to_thread(pilothouse, by_words, "topic", "create", "Garden")
    topics = json.loads((await asyncio.to_thread(pilothouse, by_words, "topic", "list", "--json")).out)["topics"]
    added = await run(by_words, "add", "The gate is blue.", "--topic", "garden")
    assert added.code == 0, added
    for name in ("Garden", topics[0]["id"]):
        assert [line.split()[0] for line in (await run(by_words, "list", "--topic", name)).lines[1:]] == added.lines
        assert [
            line.split()[0] for line in (await run(by_words, "search", "gate", "--topic", name)).lines[1:]
        ] == added.lines
    await asyncio.to_thread(pilothouse, by_words, "topic", "remove", "Garden")
    assert (await run(by_words, "list")).lines == []
    assert json.loads((await run(by_words, "export")).out) == {"memories": []}
    await asyncio.to_thread(pilothouse, by_words, "topic", "restore", topics[0]["id"])
    assert [line.split()[0] for line in (await run(by_words, "list")).lines[1:]] == added.lines


async def test_an_edit_tells_what_it_may_contradict(by_words: Path) -> None:
    [one] = (await run(by_words, "add", "The staging server listens on port 8080.")).lines
    [two] = (await run(by_words, "add", "Bananas are yellow.")).lines
    done = await run(by_words, "edit", two, "--text", "The staging server listens on port 8081.")
    assert f"It may contradict {one}: The staging server listens on port 8080." in done.err
    assert "contradict" not in (await run(by_words, "edit", two, "--tag", "work")).err
    # What is forgotten contradicts nothing.
    await run(by_words, "forget", one)
    again = await run(by_words, "edit", two, "--text", "The staging server listens on port 8081.")
    assert (again.code, "contradict" in again.err) == (0, False)


async def test_a_search_without_a_model_says_that_words_were_searched_and_why(home: Path) -> None:
    await run(home, "add", "Tea, not coffee.")
    config = home / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"embeddings": {"source": "off"}}))
    for words in ("coffee", "zebra"):
        done = await run(home, "search", words)
        assert done.code == 0, done
        assert (
            done.err.splitlines()[-1]
            == "Texts are searched by their words: finding by meaning is switched off in Settings."
        )
    found = json.loads((await run(home, "search", "tea", "--json")).out)
    assert (found["byMeaning"], "switched off" in found["meaningNote"]) == (False, True)


async def test_memories_are_written_into_a_file_that_is_not_overwritten(by_words: Path, tmp_path: Path) -> None:
    await run(by_words, "add", "Tea, not coffee.", "--title", "Drink")
    file = tmp_path / "memories.md"
    assert (await run(by_words, "export", str(file), "--format", "markdown")).lines == [str(file)]
    assert "## Drink" in file.read_text(encoding="utf-8")
    assert (await run(by_words, "export", str(file))).code == 1
    printed = await run(by_words, "export")
    assert json.loads(printed.out)["memories"][0]["title"] == "Drink"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("add", " "), "There is nothing to remember"),
        (("add", "x", "--folder", "/a", "--topic", "t"), "A memory has one place."),
        (("add", "x", "--folder", "/nonexistent/shop"), "There is no folder /nonexistent/shop."),
        (("edit", "00000000", "--folder", "/nonexistent/shop"), "There is no folder /nonexistent/shop."),
        (("add", "x", "--topic", "Gardn"), "There is no topic “Gardn”."),
        (("list", "--topic", "Gardn"), "There is no topic “Gardn”."),
        (("search", "x", "--topic", "Gardn"), "There is no topic “Gardn”."),
        (("forget", "00000000"), "There is no such memory."),
        (("edit", "00000000"), "There is nothing to change."),
        (("search", "x" * 3_000), "A search has at most 2,000 characters."),
    ],
)
async def test_what_makes_no_sense_is_told_in_a_sentence(
    by_words: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    done = await run(by_words, *arguments)
    assert_told(done, 2, sentence)


@pytest.mark.slow
async def test_a_program_remembers_too(home: Path) -> None:
    async with Host(home) as host:
        kept = await host.memories.add("Tea, not coffee.", tags=["taste"])
        other = await host.memories.add("Bread is in the box.")
        assert [match.memory.key for match in await host.memories.search("tea")] == [kept.memory.key]
        await host.memories.update(kept.memory.key, MemoryPatch(title="Drink"))
        merged = await host.memories.merge([kept.memory.key, other.memory.key], title="Kitchen")
        assert [memory.title async for memory in host.memories.list()] == ["Kitchen"]
        await host.memories.forget(merged.key)
        assert [memory async for memory in host.memories.list()] == []
        assert (await host.memories.restore(merged.key)).title == "Kitchen"
        assert (await host.memories.collections()).memories == 1
        assert b"Kitchen" in await host.memories.export()
