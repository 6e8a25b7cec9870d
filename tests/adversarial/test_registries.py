"""Registries that lie, flood, hang and break, and names that are made to be mistaken for others."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from pilothouse.mcp.registry.addresses import VARIABLE
from pilothouse.mcp.registry.advisories import AdvisoryFeed
from pilothouse.net.loop_clients import close_clients
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.registries import FoundServers
from pilothouse.types.servers import ServerInput
from pilothouse.wiring import open_host
from tests.mcp.registry.services import NOWHERE, Both, open_registries
from tests.support.lag import HELD, least_hold
from tests.support.limits_in_hand import in_hand
from tests.support.package_indexes import indexes
from tests.support.registry_server import (
    HTML,
    AdvisoryServer,
    Json,
    json_answer,
    npm,
    official_entry,
    registry_addresses,
    smithery_entry,
)
from tests.support.tiny_http import Answer, Request
from tests.support.waiting import eventually

GITHUB = official_entry("io.github.github/github-mcp-server", title="GitHub", packages=[npm("@github/mcp")])
STRIPE = smithery_entry("stripe", title="Stripe Payments", verified=True, uses=40_000)


async def warned(both: Both, words: str) -> dict[str, tuple[str, ...]]:
    await both.finder.search(words)
    await both.finder.copied()
    return {each.name: each.warnings for each in (await both.finder.search(words)).servers}


@pytest.mark.case("attack:REG-01")
@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("io.github.evil/github-mcp-server", "GitHub"),
        ("io.github.evil/github", "Something"),
        ("io.github.evil/githuub-mcp", "Something"),
        ("io.github.evil/g1thub", "GitHub tools"),
        ("io.github.githib/mcp", "Github work"),
        ("com.githib/mcp", "Github work"),
        ("io.github.evil/x", "GitHub"),
        ("io.github.evil/y", "Gіthub"),
    ],
)
async def test_a_server_that_looks_like_a_known_one_is_pointed_out_and_comes_after_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, name: str, title: str
) -> None:
    later = {"publishedAt": "2026-06-01T10:00:00Z"}
    lookalike = official_entry(name, "For github.", title=title, packages=[npm("@evil/github")], meta=later)
    async with open_registries(home, monkeypatch, [lookalike, GITHUB]) as both:
        found = await warned(both, "github")
        assert list(found) == ["io.github.github/github-mcp-server", name]
        assert "It looks like io.github.github/github-mcp-server, and is another one." in found[name]
        assert found["io.github.github/github-mcp-server"] == ()
        (offered,) = (await both.finder.service.proposals(ME, "official", name)).proposals
        assert "It looks like io.github.github/github-mcp-server, and is another one." in offered.warnings


@pytest.mark.case("attack:REG-01")
async def test_a_lookalike_of_a_verified_server_gets_neither_its_badge_nor_its_place(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes = [official_entry("io.github.evil/stripe", title="Stripe Payments"), official_entry("com.str1pe/payments")]
    async with open_registries(home, monkeypatch, fakes, [STRIPE]) as both:
        found = await warned(both, "stripe payments")
        assert next(iter(found)) == "stripe"
        assert found["stripe"] == ()
        assert "It looks like stripe, and is another one." in found["io.github.evil/stripe"]
        assert "It looks like stripe, and is another one." in (await warned(both, "payments"))["com.str1pe/payments"]
        shown = {each.name: each.verified for each in (await both.finder.search("stripe")).servers}
        assert shown["stripe"]
        assert not shown["io.github.evil/stripe"]


@pytest.mark.case("attack:REG-01")
async def test_servers_with_names_of_their_own_are_not_pointed_out(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [
        official_entry("io.github.github/github-actions", "For github.", title="GitHub Actions"),
        official_entry("com.gitlab/gitlab", "Like github.", title="GitLab"),
        official_entry("io.github.someone/repositories", "For github.", title="Repositories"),
    ]
    async with open_registries(home, monkeypatch, [*others, GITHUB], [STRIPE]) as both:
        assert set((await warned(both, "github")).values()) == {()}


@pytest.mark.case("attack:REG-03")
async def test_searching_and_looking_at_proposals_starts_keeps_and_reaches_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = home / "started"
    evil = official_entry(
        "com.evil/tool",
        packages=[
            npm(f"x; touch {marker}", runtimeHint="sh", runtimeArguments=[{"type": "positional", "value": "-c"}])
        ],
        remotes=[{"type": "streamable-http", "url": f"{NOWHERE}/mcp"}],
    )
    async with open_registries(home, monkeypatch, [evil]) as both:
        before = (home / "config.json").read_bytes()
        await both.finder.search("tool")
        offered = await both.finder.service.proposals(ME, "official", "com.evil/tool")
        assert offered.proposals
        assert (home / "config.json").read_bytes() == before
        assert not marker.exists()
        assert {request.target.partition("?")[0] for request in both.official.requests} == {"/v0.1/servers"}


@pytest.mark.case("attack:REG-04")
@pytest.mark.parametrize("failure", ["hangs", "trickles", "500", "429", "html", "nonsense", "huge", "redirect", "away"])
async def test_a_registry_that_fails_holds_up_neither_the_search_nor_the_other_one(
    home: Path, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    # It is over once the other one has answered, and what it said is kept.
    patience = in_hand(monkeypatch, "REGISTRY_PATIENCE")

    async def search(both: Both) -> FoundServers:
        searching = asyncio.create_task(both.finder.search("github"))

        async def ended() -> bool:
            kept = await asyncio.to_thread(both.finder.copy.was_asked, "smithery", "github")
            if kept and failure in ("hangs", "trickles"):
                patience.run_out()
            return searching.done()

        await eventually(ended, "the search to end")
        return await searching

    async with open_registries(home, monkeypatch, [GITHUB], [smithery_entry("@a/github")]) as both:
        if failure == "hangs":
            both.official.hangs()
        elif failure == "away":
            monkeypatch.setenv(VARIABLE, registry_addresses(official=NOWHERE, smithery=both.smithery))
        else:
            both.official.says(_failing(failure))
        # Of one that hangs it says that it was not waited for to the end.
        found = await search(both)
        assert [each.name for each in found.servers] == ["@a/github"]
        assert found.notes[0].startswith("The official registry ")
        assert _SAID[failure] in found.notes[0]
        assert [each.name for each in (await search(both)).servers] == ["@a/github"]


_SAID = {
    "hangs": "has not answered yet; search again to see what it has.",
    "trickles": "has not answered yet; search again to see what it has.",
    "500": "is not well: it answered with status 500.",
    "429": "asks to be left alone for a while.",
    "html": "answered with something that is not JSON.",
    "nonsense": "answered with something that is no list of servers.",
    "huge": "answers with too much at once: it sent more than 2048 KB.",
    "redirect": "sends us on to another address.",
    "away": "cannot be reached: nothing listens there.",
}


def _failing(failure: str) -> Answer:
    return {
        "trickles": lambda: Answer(200, b"x" * 100, stall_after=10),
        "500": lambda: Answer(500, b"<html>"),
        "429": lambda: Answer(429, b"", {"Retry-After": "7"}),
        "html": lambda: HTML,
        "nonsense": lambda: json_answer({"servers": {"a": 1}}),
        "huge": lambda: json_answer({"servers": [official_entry(f"com.example/{n}") for n in range(20_000)]}),
        "redirect": lambda: Answer(302, b"", {"Location": "http://127.0.0.1:9/"}),
    }[failure]()


@pytest.mark.case("attack:REG-04")
async def test_a_registry_that_asks_for_a_pause_is_left_alone_for_as_long(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, [GITHUB]) as both:
        both.official.says(Answer(429, b"", {"Retry-After": "1800"}))
        await both.finder.search("github", "official")
        asked = len(both.official.requests)
        state = both.finder.copy.state("official", both.official.url)
        assert 1700 < state.rest_until - time.time() <= 1800
        both.official.works()
        assert await both.finder.names("github", "official") == []
        assert len(both.official.requests) == asked
        # Nobody is put off for ever.
        both.official.says(Answer(429, b"", {"Retry-After": "999999999"}))
        both.finder.copy.note("official", both.official.url, rest_until=0.0)
        await both.finder.search("github", "official")
        assert both.finder.copy.state("official", both.official.url).rest_until - time.time() <= 3600


@pytest.mark.case("attack:REG-04")
@pytest.mark.parametrize("how", ["the same cursor", "always another cursor", "a huge cursor"])
async def test_pages_without_an_end_come_to_one(home: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    monkeypatch.setattr(limits, "REGISTRY_PAGES", 25)
    count = iter(range(1_000_000))

    def endless(_request: Request) -> Answer:
        number = next(count)
        cursor = {"the same cursor": "again", "always another cursor": str(number), "a huge cursor": "x" * 9_000}[how]
        entry = official_entry(f"com.example/github-{number}")
        return json_answer({"servers": [entry], "metadata": {"nextCursor": cursor, "count": 1}})

    async with open_registries(home, monkeypatch) as both:
        both.official.answering = endless
        await both.finder.search("github", "official")

        async def look() -> str:
            return (await both.finder.view("official")).problem

        said = await eventually(look, "the copy to be given up")
        sentence, most = {
            "the same cursor": ("sends the same page again and again", 3),
            "always another cursor": ("has more pages than are copied", 26),
            "a huge cursor": ("answered with a cursor that is longer than any", 2),
        }[how]
        assert said == f"The official registry {sentence}."
        assert len(both.official.requests) <= most
        assert await both.finder.names("github", "official")


@pytest.mark.case("attack:REG-04")
async def test_a_registry_with_more_servers_than_anyone_needs_fills_no_disk(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REGISTRY_ENTRIES", 300)
    many = [official_entry(f"com.example/github-{number}") for number in range(1_000)]
    large = official_entry("com.example/github-large", "github", packages=[npm("x" * 70_000)])
    async with open_registries(home, monkeypatch, [large, *many]) as both:
        await both.finder.search("github", "official")
        assert (await both.finder.copied()).servers == 300
        assert "com.example/github-large" not in await both.finder.names("large", "official")


@pytest.mark.case("attack:REG-04")
async def test_many_large_entries_side_by_side_do_not_keep_the_rest_from_being_copied(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = [official_entry(f"com.evil/x-{number}", packages=[npm("x" * 60_000)]) for number in range(60)]
    async with open_registries(home, monkeypatch, [*large, GITHUB]) as both:
        await both.finder.search("nothing")
        assert (await both.finder.copied()).servers == 61
        assert await both.finder.names("github") == ["io.github.github/github-mcp-server"]


@pytest.mark.case("attack:REG-04")
@pytest.mark.parametrize("what", ["many entries", "deep", "empty objects"])
async def test_no_answer_of_a_registry_holds_the_event_loop(
    home: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    bodies = {
        "many entries": lambda: json.dumps({"servers": [official_entry(f"a/github-{n}") for n in range(4_000)]}),
        "deep": lambda: '{"servers": [' + '{"server": {"name": "a/github", "x": ' + "[" * 400_000,
        "empty objects": lambda: '{"servers": [' + ",".join(["{}"] * 600_000) + "]}",
    }
    body = bodies[what]().encode()
    assert len(body) < limits.REGISTRY_PAGE_BYTES
    async with open_registries(home, monkeypatch) as both:
        await both.finder.search("warm")
        both.official.says(Answer(200, body))
        numbers = iter(range(100))

        async def work() -> None:
            await both.finder.search(f"github {next(numbers)}", "official")

        assert await least_hold(work) < HELD


HOSTILE: Json = {
    "name": "com.evil/\u202etxt.exe\u0000\x1b[31mred\n\n",
    "title": "<img src=x onerror=alert(1)> \u200b\u2066hidden\U000e0041",
    "description": "<script>alert(1)</script>\r\n\x1b]0;title\x07 [click](javascript:alert(1)) " + "A" * 100_000,
    "version": "1.0\u202e",
    "license": "MIT\x00",
    "packages": [npm("evil\u202e\n", "1\x1b[2J")],
}


@pytest.mark.case("attack:REG-05")
async def test_texts_of_a_registry_are_shown_as_text_short_and_with_nothing_hidden(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile: Json = {"server": {**HOSTILE, "description": HOSTILE["description"][:20_000]}, "_meta": {}}
    async with open_registries(home, monkeypatch, [hostile]) as both:
        (found,) = (await both.finder.search("evil", "official")).servers
        texts = [found.name, found.title, found.description, found.version, found.licence, *found.runs]
        assert all(text.isprintable() for text in texts), texts
        assert "\\u{202e}" in found.name
        assert "\\u{001b}" in found.name
        assert "<img src=x onerror=alert(1)>" in found.title
        assert len(found.name) <= limits.REGISTRY_NAME_CHARS
        assert len(found.description) <= limits.REGISTRY_ABOUT_CHARS
        assert "Its name has characters that cannot be seen; they are written out here." in found.warnings
        # By the name that was shown it is found again.
        offered = await both.finder.service.proposals(ME, "official", found.name)
        assert offered.what.isprintable()


@pytest.mark.case("attack:REG-05")
async def test_no_name_of_a_registry_changes_what_the_copy_is_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["a/x'); DROP TABLE server; --", 'b/" OR "', "c/%_*", "d/" + "x" * 5_000, "e/\udc80half"]
    async with open_registries(home, monkeypatch, [official_entry(name, "findable") for name in names]) as both:
        await both.finder.search("findable")
        assert (await both.finder.copied()).servers == len(names)
        assert len(await both.finder.names("findable")) == len(names)
    with closing(sqlite3.connect(home / "cache" / "registries.sqlite")) as file:
        assert file.execute("SELECT count(*) FROM server").fetchone() == (len(names),)


# --- packages that are known to be bad ------------------------------------------------------------


@pytest.mark.case("attack:REG-06")
async def test_a_package_that_is_known_to_be_malicious_is_named_and_others_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = {("npm", "evil-mcp"): ["MAL-2026-1234"], ("PyPI", "weak-mcp"): ["GHSA-1", "GHSA-2", "GHSA-3", "GHSA-4"]}
    async with AdvisoryServer(known) as feed:
        monkeypatch.setenv(VARIABLE, registry_addresses(advisories=feed))
        asked = AdvisoryFeed()
        bad = await asked.look("npm", "evil-mcp", "1.0.0")
        assert bad.malicious == "MAL-2026-1234: About evil-mcp."
        weak = await asked.look("pypi", "weak-mcp", "2.0")
        assert (weak.malicious, weak.warnings) == (
            "",
            ("weak-mcp has known weaknesses: GHSA-1, GHSA-2, GHSA-3 and 1 more.",),
        )
        good = await asked.look("npm", "good-mcp", "1.0.0")
        assert (good.malicious, good.warnings) == ("", ())
        assert json.loads(feed.requests[0].body) == {
            "package": {"name": "evil-mcp", "ecosystem": "npm"},
            "version": "1.0.0",
        }
        # What was said a moment ago is not asked for again.
        assert await asked.look("npm", "evil-mcp", "1.0.0") == bad
        assert len(feed.requests) == 3
        await close_clients()


@pytest.mark.case("attack:REG-06")
@pytest.mark.parametrize("failure", ["away", "500", "html"])
async def test_where_nobody_can_be_asked_about_a_package_that_is_said_and_asked_again(
    monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    async with AdvisoryServer({("npm", "evil-mcp"): ["MAL-1"]}) as feed:
        monkeypatch.setenv(VARIABLE, f"advisories={NOWHERE if failure == 'away' else feed.url}")
        if failure != "away":
            feed.says(HTML if failure == "html" else Answer(500, b""))
        asked = AdvisoryFeed()
        unknown = await asked.look("npm", "evil-mcp", "1.0.0")
        assert unknown.malicious == ""
        assert unknown.warnings[0].startswith("Nobody could be asked whether evil-mcp is known to be malicious: ")
        feed.works()
        monkeypatch.setenv(VARIABLE, registry_addresses(advisories=feed))
        assert (await asked.look("npm", "evil-mcp", "1.0.0")).malicious
        await close_clients()


@pytest.mark.case("attack:REG-06")
@pytest.mark.slow
async def test_the_program_asks_before_it_installs_and_refuses_what_is_known_to_be_malicious(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AdvisoryServer({("npm", "evil-mcp"): ["MAL-2026-1"]}) as feed, indexes(monkeypatch) as index:
        index.node("evil-mcp", "1.0.0")
        index.node("good-mcp", "1.0.0")
        monkeypatch.setenv(VARIABLE, registry_addresses(advisories=feed))
        async with open_host(home, brief=True) as host:
            with pytest.raises(PilothouseError, match=r"evil-mcp 1\.0\.0 is known to be malicious: MAL-2026-1: About"):
                await host.api.servers.add(ME, ServerInput(command_line="npx -y evil-mcp"))
            added = await host.api.servers.add(ME, ServerInput(command_line="npx -y good-mcp"))
            assert added.consent is not None
            assert added.consent.warnings == ()
            assert [each.name for each in (await host.api.servers.list(ME)).servers] == [added.name]
