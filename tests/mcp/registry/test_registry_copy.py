"""The local copy: begun by the first search, brought up to date about once an hour, and good without a network."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from pilothouse.mcp.registry import searching, service
from pilothouse.mcp.registry.local_copy import LocalCopy
from pilothouse.mcp.registry.notes import day
from pilothouse.mcp.registry.searching import Results, Search
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from tests.mcp.registry.services import Both, open_finder, open_registries
from tests.support.registry_server import META, Json, json_answer, npm, official_entry, smithery_entry
from tests.support.tiny_http import Answer, Request
from tests.support.waiting import eventually

LIST = "/v0.1/servers"


def many(count: int) -> list[Json]:
    return [official_entry(f"com.example/tool-{number:05}", "Does things.") for number in range(count)]


async def copied(both: Both, words: str = "tool") -> None:
    await both.finder.search(words)
    await both.finder.copied()


async def problem(both: Both, registry: str = "official") -> str:
    """Wait until a registry is known to have failed; return how."""

    async def look() -> str:
        return (await both.finder.view(registry)).problem

    return await eventually(look, "a problem")


@pytest.mark.case("REG-07")
async def test_the_first_search_asks_the_registry_and_begins_the_copy_which_is_whole_soon(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(
        home, monkeypatch, [*many(250), official_entry("com.else/other", "About tool boxes.")]
    ) as both:
        found = await both.finder.search("tool")
        assert len(found.servers) == limits.REGISTRY_HITS
        assert "The official registry is being copied, 50 servers so far" in found.notes[0]
        view = await both.finder.copied()
        assert view.servers == 251
        pages = [asked for asked in both.official.asked_for(LIST) if "search" not in asked]
        assert pages == [
            {"limit": "100", "version": "latest"},
            {"limit": "100", "version": "latest", "cursor": "100"},
            {"limit": "100", "version": "latest", "cursor": "200"},
        ]
        # The registry looks at names only; the copy has descriptions, too.
        assert await both.finder.names("boxes") == ["com.else/other"]


@pytest.mark.case("REG-07")
async def test_the_second_search_asks_nobody_and_answers_without_a_network(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, many(3), [smithery_entry("@a/tool")]) as both:
        await copied(both)
        asked = len(both.official.requests), len(both.smithery.requests)
        found = await both.finder.search("tool")
        assert (len(found.servers), found.notes) == (4, ())
        assert (len(both.official.requests), len(both.smithery.requests)) == asked
    async with open_finder(home) as offline:
        found = await offline.search("tool")
        assert (len(found.servers), found.notes) == (4, ())


async def test_a_copy_says_of_which_day_it_is_when_its_registry_cannot_be_reached(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, many(3), [smithery_entry("@a/tool")]) as both:
        await copied(both)
        for name in ("official", "smithery"):
            both.finder.age(name, 3 * 24 * 3600)
        then = day(time.time() - 3 * 24 * 3600)
    async with open_finder(home) as offline:
        first = await offline.search("tool")
        assert len(first.servers) == 4
        assert first.notes == (
            f"The copy of the official registry is of {then}; it is being brought up to date.",
            f"Smithery cannot be reached: nothing listens there. What is shown of it is its copy of {then}.",
        )

        async def look() -> bool:
            return bool((await offline.view("official")).problem)

        await eventually(look, "the try to fail")
        assert (await offline.search("tool")).notes[0] == (
            "The official registry cannot be reached: nothing listens there. "
            f"What is shown of it is its copy of {then}."
        )


async def test_what_changed_since_is_asked_for_about_once_an_hour(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_registries(home, monkeypatch, many(3)) as both:
        await copied(both)
        both.finder.age(seconds=1800)
        before = len(both.official.requests)
        await both.finder.search("tool")
        assert len(both.official.requests) == before
        both.finder.age(seconds=3700)
        new = official_entry("com.example/tool-new", updated="2999-01-01T00:00:00Z")
        gone = official_entry("com.example/tool-00001", status="deleted", updated="2999-01-01T00:00:00Z")
        both.official.entries += [new, gone]
        # It answers at once, with what it has.
        assert "com.example/tool-new" not in await both.finder.names("tool")

        async def look() -> bool:
            return "com.example/tool-new" in await both.finder.names("tool")

        await eventually(look, "the new one")
        asked = both.official.asked_for(LIST)[-1]
        assert asked["version"] == "latest"
        found = {each.name: each.status for each in (await both.finder.search("tool")).servers}
        assert found["com.example/tool-00001"] == "deleted"
        # What is asked for is what changed since the copy began, with some room for what was on its way.
        assert asked["updated_since"] < time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        assert len(found) == 4


async def test_a_copy_that_was_broken_off_goes_on_where_it_stopped(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REGISTRY_REST", 0.0)
    async with open_registries(home, monkeypatch, many(250)) as both:

        def breaks(request: Request) -> Answer | None:
            return Answer(500, b"no") if "cursor=200" in request.target else None

        both.official.answering = breaks
        await both.finder.search("tool")
        assert await problem(both) == "The official registry is not well: it answered with status 500."
        both.official.works()
        before = len(both.official.asked_for(LIST))
        await both.finder.search("tool")
        assert (await both.finder.copied()).servers == 250
        assert [each.get("cursor") for each in both.official.asked_for(LIST)[before:]] == ["200"]


async def test_what_a_registry_dropped_without_a_word_is_gone_after_a_look_at_all_of_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, many(3)) as both:
        await copied(both)
        both.official.entries.pop()
        both.finder.age()
        both.finder.copy.note("official", both.official.url, full_at=time.time() - 8 * 24 * 3600)
        await both.finder.search("tool")

        async def look() -> bool:
            return len(await both.finder.names("tool")) == 2

        await eventually(look, "the dropped one to go")


async def test_a_broken_copy_is_thrown_away_and_made_anew(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_registries(home, monkeypatch, many(3)) as both:
        await copied(both)
    (home / "cache" / "registries.sqlite").write_bytes(b"not a database at all" * 500)
    async with open_registries(home, monkeypatch, many(2)) as both:
        await copied(both)
        assert len(await both.finder.names("tool")) == 2


async def test_a_copy_of_another_version_or_another_address_is_made_anew(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, many(3)) as both:
        await copied(both)
        both.finder.copy.work(lambda file: file.execute("PRAGMA user_version = 99"))
    async with open_registries(home, monkeypatch, many(2)) as both:
        await copied(both)
        assert len(await both.finder.names("tool")) == 2
    async with open_registries(home, monkeypatch, many(1)) as both:
        # The servers before were at another port.
        await copied(both)
        assert len(await both.finder.names("tool")) == 1


async def test_what_comes_late_from_an_address_that_a_registry_has_left_is_dropped(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, many(3)) as both:
        await copied(both)
        copy, left, now = both.finder.copy, "https://left.example", "https://now.example"
        entries = [
            kept.entry for number in range(3) if (kept := copy.find("official", f"com.example/tool-{number:05}"))
        ]
        assert copy.state("moving", left).servers == 0
        assert copy.keep("moving", left, entries) == 3
        assert copy.state("moving", now).servers == 0
        assert copy.keep("moving", left, entries, asked="tool", changes={"copied_at": 1.0}) == 0
        copy.note("moving", left, copied_at=1.0, problem="It is down.")
        state = copy.state("moving", now)
        assert (state.servers, state.copied_at, state.problem) == (0, 0.0, "")
        assert copy.was_asked("moving", "tool") == 0.0
        assert copy.keep("moving", now, entries) == 3
        copy.drop_unseen("moving", left, time.time() + 60)
        assert copy.state("moving", now).servers == 3


async def test_details_that_arrive_after_a_change_of_address_do_not_replace_the_new_copy(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, many(1)) as both:
        await copied(both)
        both.finder.age()
        both.official.until = asyncio.Event()
        asked = len(both.official.requests)
        late = asyncio.create_task(both.finder.service.proposals(ME, "official", "com.example/tool-00000"))

        async def has_asked() -> bool:
            return len(both.official.requests) > asked

        await eventually(has_asked, "the request for the details")
        copy, now = both.finder.copy, "https://now.example"
        assert copy.state("official", now).servers == 0
        both.official.until.set()
        with pytest.raises(PilothouseError, match="no server"):
            await late
        assert copy.state("official", now).servers == 0


async def test_nothing_is_asked_of_anyone_before_someone_searches(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_registries(home, monkeypatch, many(3)) as both:
        views = (await both.finder.service.list("me")).registries
        assert [(each.id, each.servers, each.copied_at) for each in views] == [
            ("official", 0, None),
            ("smithery", 0, None),
        ]
        assert not both.official.requests
        assert not both.smithery.requests


async def test_an_older_version_of_a_server_is_left_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = official_entry("com.example/tool", version="1.0.0", meta={"isLatest": False}, packages=[npm("old")])
    new = official_entry("com.example/tool", version="2.0.0", packages=[npm("new", "2.0.0")])
    async with open_registries(home, monkeypatch, [new, old]) as both:
        (found,) = (await both.finder.search("tool")).servers
        assert (found.version, found.runs) == ("2.0.0", ("npm new 2.0.0",))


async def test_what_two_searches_ask_for_at_the_same_time_is_asked_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, smithery=[smithery_entry("@a/tool")]) as both:
        both.smithery.until = asyncio.Event()
        searches = [asyncio.create_task(both.finder.names("tool", "smithery")) for _ in range(5)]
        await both.smithery.asked.wait()
        both.smithery.until.set()
        assert await asyncio.gather(*searches) == [["@a/tool"]] * 5
        assert len(both.smithery.requests) == 1


async def test_a_search_that_ends_after_the_copy_was_made_does_not_make_it_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_late_begun, is_copied = threading.Event(), threading.Event()

    def search(copy: LocalCopy, asked: Search) -> Results:
        if asked.words == ("late",):
            is_late_begun.set()
            assert is_copied.wait(10)
        return searching.search(copy, asked)

    monkeypatch.setattr(service, "search", search)
    async with open_registries(home, monkeypatch, many(3)) as both:
        late = asyncio.create_task(both.finder.search("late", "official"))
        assert await asyncio.to_thread(is_late_begun.wait, 10)
        await copied(both)
        is_copied.set()
        await late
        if work := [task for task in asyncio.all_tasks() if task.get_name() == "registry"]:
            await asyncio.wait(work)
        assert sum("search" not in asked for asked in both.official.asked_for(LIST)) == 1


async def test_entries_that_are_none_are_passed_over(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd: list[object] = [
        None, 7, "text", [], {}, {"server": None}, {"server": {"name": 7}}, {"server": {"name": ""}},
        {"server": {"name": "a/tool", "packages": "npm", "remotes": {"url": 1}}, "_meta": 5},
        {"server": {"name": "b/tool", "packages": [None, {"registryType": 1}], "version": {}}, "_meta": {META: []}},
    ]  # fmt: skip
    async with open_registries(home, monkeypatch) as both:
        both.official.says(json_answer({"servers": odd, "metadata": None}))
        assert sorted(await both.finder.names("tool", "official")) == ["a/tool", "b/tool"]
