"""`pilothouse mcp search` and `pilothouse mcp registries`: real commands, registries on loopback."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pilothouse import Host
from pilothouse.mcp.registry.addresses import VARIABLE
from tests.cli.conftest import assert_told
from tests.support.commands import Outcome, pilothouse
from tests.support.registry_server import (
    OfficialServer,
    SmitheryServer,
    npm,
    official_entry,
    registry_addresses,
    smithery_entry,
)

NOTES = official_entry("com.example/notes", "Keeps notes.", version="1.2.3", packages=[npm("@example/notes", "1.2.3")])
EXA = smithery_entry("@exa/notes-search", "Searches notes.", verified=True, uses=11451)


async def run(home: Path, *arguments: str, stdin: str = "") -> Outcome:
    return await asyncio.to_thread(pilothouse, home, "mcp", *arguments, stdin=stdin)


@pytest.mark.case("REG-02", "REG-05", "REG-12")
async def test_a_search_prints_a_table_with_badges_and_what_would_run(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with OfficialServer([NOTES]) as official, SmitheryServer([EXA]) as smithery:
        monkeypatch.setenv(VARIABLE, registry_addresses(official=official, smithery=smithery))
        done = await run(home, "search", "notes")
        assert done.code == 0, done
        head, first, second = done.lines
        assert head.split() == ["name", "from", "verified", "uses", "version", "date", "what", "would", "run"]
        assert first.split() == [
            *("com.example/notes", "official", "1.2.3", "2026-05-01", "npm", "@example/notes", "1.2.3")
        ]
        assert second.split()[:5] == ["@exa/notes-search", "smithery", "yes", "11,451", "2026-05-01"]
        alone = await run(home, "search", "notes", "--registry", "smithery", "--json")
        assert [each["name"] for each in json.loads(alone.out)["servers"]] == ["@exa/notes-search"]


@pytest.mark.case("REG-07", "REG-09")
async def test_ten_are_shown_at_a_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = [official_entry(f"com.example/notes-{number:02}") for number in range(23)]
    async with OfficialServer(many) as official, SmitheryServer() as smithery:
        monkeypatch.setenv(VARIABLE, registry_addresses(official=official, smithery=smithery))
        first = await run(home, "search", "notes")
        assert len(first.lines) == 11
        assert "1 to 10 of 23; the next: --page 2" in first.err
        last = await run(home, "search", "notes", "--page", "3")
        assert len(last.lines) == 4
        assert "the next" not in last.err


async def test_what_is_to_be_said_stands_below_the_table(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = official_entry("com.example/notes", status="deprecated", meta={"statusMessage": "Use memos."})
    async with OfficialServer([old]) as official, SmitheryServer([EXA], key="sesame") as smithery:
        monkeypatch.setenv(VARIABLE, registry_addresses(official=official, smithery=smithery))
        done = await run(home, "search", "notes")
        assert done.code == 0
        assert "com.example/notes: deprecated: it is not to be used any more. Use memos." in done.err
        assert "Smithery wants a key before it answers." in done.err
        assert (await run(home, "registries", "key", "smithery", stdin="sesame\n")).code == 0
        again = await run(home, "search", "notes")
        assert "@exa/notes-search" in again.out
        assert "sesame" not in again.out + again.err
        assert_told(await run(home, "search", "…"), 2, "There is no word to search for.")
        assert_told(await run(home, "search", "x", "--registry", "nobody"), 2, "There is no registry “nobody”.")


async def test_a_registry_of_ones_own_is_added_listed_and_removed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with OfficialServer() as official, SmitheryServer() as smithery, OfficialServer([NOTES]) as own:
        monkeypatch.setenv(VARIABLE, registry_addresses(official=official, smithery=smithery))
        added = await run(home, "registries", "add", own.url, "--name", "Acme")
        assert (added.code, added.out) == (0, "acme\n"), added
        assert "com.example/notes" in (await run(home, "search", "notes", "--registry", "acme")).out
        listed = await run(home, "registries")
        assert [line.split()[0] for line in listed.lines[1:]] == ["official", "smithery", "acme"]
        assert "1 server" in listed.lines[3]
        assert_told(await run(home, "registries", "add", "http://127.0.0.1:9"), 2, "is no registry")
        assert (await run(home, "registries", "remove", "acme")).code == 0
        assert "acme" not in (await run(home, "registries", "list")).out
        assert_told(await run(home, "registries", "remove", "official"), 2, "one that everyone has")
        assert_told(await run(home, "registries", "key", "acme", stdin="x\n"), 2, "There is no registry “acme”.")


async def test_a_program_searches_and_looks_at_proposals(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with OfficialServer([NOTES]) as official, SmitheryServer([EXA]) as smithery:
        monkeypatch.setenv(VARIABLE, registry_addresses(official=official, smithery=smithery))
        async with Host(home) as host:
            found = await host.registries.search("notes")
            assert [each.name for each in found.servers] == ["com.example/notes", "@exa/notes-search"]
            offered = await host.registries.proposals("official", "com.example/notes")
            assert [each.runs for each in offered.proposals] == ["npm @example/notes 1.2.3"]
            await host.registries.set_key("smithery", "sesame")
            assert [each.has_key for each in await host.registries.list()] == [False, True]
