"""Searching registries: what is found, in which order, each once."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.mcp.registry.addresses import VARIABLE
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from tests.mcp.registry.services import open_registries
from tests.support.registry_server import (
    npm,
    oci,
    official_entry,
    pypi,
    remote,
    smithery_entry,
)

GITHUB = official_entry(
    "io.github.github/github-mcp-server",
    "Repositories, issues and pull requests.",
    title="GitHub",
    version="0.9.1",
    updated="2026-10-02T08:00:00Z",
    packages=[oci("ghcr.io/github/github-mcp-server:0.9.1")],
    remotes=[remote("https://api.githubcopilot.com/mcp/")],
)
FILES = official_entry(
    "io.github.modelcontextprotocol/server-filesystem",
    "Reads and writes files in folders that you name.",
    title="Filesystem",
    version="2026.8.1",
    packages=[npm("@modelcontextprotocol/server-filesystem", "2026.8.1")],
)
FETCH = official_entry(
    "io.github.modelcontextprotocol/server-fetch", "Gets web pages.", packages=[pypi("mcp-server-fetch", "2026.1.14")]
)
EXA = smithery_entry("exa", "Searches the web.", title="Exa Search", verified=True, uses=11451)


@pytest.mark.case("REG-02", "REG-12")
async def test_one_registry_or_both_are_searched_and_each_hit_says_where_it_is_from(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = official_entry("com.example/web-search", "Searches the web.")
    async with open_registries(home, monkeypatch, [web], [EXA]) as both:
        found = await both.finder.search("search")
        assert {each.name: each.registries for each in found.servers} == {
            "exa": ("smithery",),
            "com.example/web-search": ("official",),
        }
        assert await both.finder.names("search", "official") == ["com.example/web-search"]
        assert await both.finder.names("search", "smithery") == ["exa"]


@pytest.mark.case("REG-12")
async def test_both_registries_are_asked_at_the_same_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web = official_entry("com.example/web-search", "Searches the web.")
    async with open_registries(home, monkeypatch, [web], [EXA]) as both:
        # Each answers only after the other was asked.
        both.official.until, both.smithery.until = both.smithery.asked, both.official.asked
        found = await both.finder.search("search")
        assert sorted(each.name for each in found.servers) == ["com.example/web-search", "exa"]


@pytest.mark.case("REG-05", "REG-08")
async def test_an_official_hit_says_what_it_is_and_what_would_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_registries(home, monkeypatch, [GITHUB, FILES, FETCH]) as both:
        (found,) = (await both.finder.search("github")).servers
        assert (found.name, found.title, found.version) == ("io.github.github/github-mcp-server", "GitHub", "0.9.1")
        assert found.description == "Repositories, issues and pull requests."
        assert (found.registries, found.updated_at) == (("official",), "2026-10-02T08:00:00Z")
        assert found.runs == ("oci ghcr.io/github/github-mcp-server:0.9.1", "https://api.githubcopilot.com/mcp/")
        assert (found.status, found.uses, found.verified) == ("active", None, False)
        (files,) = (await both.finder.search("filesystem")).servers
        assert files.runs == ("npm @modelcontextprotocol/server-filesystem 2026.8.1",)


@pytest.mark.case("REG-07")
async def test_the_official_registry_is_asked_without_a_key(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_registries(home, monkeypatch, [GITHUB]) as both:
        assert await both.finder.names("GitHub", "official") == ["io.github.github/github-mcp-server"]
        first = both.official.asked_for("/v0.1/servers")[0]
        assert first == {"search": "github", "limit": str(limits.REGISTRY_LIVE_PAGE), "version": "latest"}
        assert all("authorization" not in request.headers for request in both.official.requests)
        assert not both.smithery.requests


@pytest.mark.case("REG-09", "REG-10")
async def test_a_smithery_hit_has_its_verification_and_its_uses(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = smithery_entry("@old/way", "Searches.", uses="77")  # type: ignore[arg-type]
    old |= {"isVerified": True, "verified": None}
    async with open_registries(home, monkeypatch, smithery=[EXA, old]) as both:
        found = {each.name: each for each in (await both.finder.search("searches", "smithery")).servers}
        assert both.smithery.asked_for("/servers")[0]["q"] == "searches"
        exa = found["exa"]
        assert (exa.title, exa.description, exa.verified, exa.uses) == ("Exa Search", "Searches the web.", True, 11451)
        assert exa.registries == ("smithery",)
        assert (found["@old/way"].verified, found["@old/way"].uses) == (True, 77)


@pytest.mark.case("REG-13")
async def test_the_same_server_in_both_registries_is_one_hit(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = official_entry("io.github.upstash/context7", "Documentation.", packages=[npm("@upstash/context7-mcp")])
    theirs = smithery_entry("@upstash/context7-mcp", "Documentation.", title="Context7", verified=True, uses=5000)
    async with open_registries(home, monkeypatch, [ours], [theirs]) as both:
        (found,) = (await both.finder.search("context7")).servers
        assert found.registries == ("official", "smithery")
        assert (found.name, found.verified, found.uses) == ("io.github.upstash/context7", True, 5000)
        assert found.runs == ("npm @upstash/context7-mcp 1.0.0",)


@pytest.mark.case("REG-13")
async def test_two_that_run_other_things_stay_two_though_they_have_one_name(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = official_entry("io.github.one/notes", packages=[npm("@one/notes")])
    theirs = smithery_entry("@other/notes")
    async with open_registries(home, monkeypatch, [ours], [theirs]) as both:
        assert sorted(await both.finder.names("notes")) == ["@other/notes", "io.github.one/notes"]


@pytest.mark.case("REG-13")
async def test_a_badge_is_not_borrowed_by_running_what_another_runs(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "https://server.smithery.ai/exa"
    thief = official_entry("io.github.thief/exa", packages=[npm("@thief/exa")], remotes=[remote(url)])
    copier = official_entry("io.github.copier/exa", remotes=[remote(url)])
    async with open_registries(home, monkeypatch, [thief, copier], [{**EXA, "deploymentUrl": url}]) as both:
        found = {each.name: each for each in (await both.finder.search("exa")).servers}
        assert not found["io.github.thief/exa"].verified
        assert not found["io.github.copier/exa"].verified
        assert found["io.github.thief/exa"].registries == ("official",)


@pytest.mark.case("REG-14")
async def test_verified_servers_come_first_then_those_used_most_among_those_that_fit_as_well(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [
        smithery_entry("@a/weather-few", uses=3),
        smithery_entry("@b/weather-many", uses=9000),
        smithery_entry("@c/weather-sure", uses=1, verified=True),
        # Only its description has the word.
        smithery_entry("@d/maps", "Maps, traffic and weather.", uses=90_000, verified=True),
    ]
    async with open_registries(home, monkeypatch, smithery=listed) as both:
        assert await both.finder.names("weather") == ["@c/weather-sure", "@b/weather-many", "@a/weather-few", "@d/maps"]


async def test_what_is_deprecated_or_deleted_says_so_and_comes_last(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [
        official_entry("com.a/mail", status="deleted", meta={"statusMessage": "It stole keys."}),
        official_entry("com.b/mail", status="deprecated"),
        official_entry("com.c/other", "Also for mail."),
    ]
    async with open_registries(home, monkeypatch, listed) as both:
        await both.finder.search("mail")
        await both.finder.copied()
        found = (await both.finder.search("mail")).servers
        assert [(each.name, each.status) for each in found] == [
            ("com.c/other", "active"),
            ("com.b/mail", "deprecated"),
            ("com.a/mail", "deleted"),
        ]
        assert found[2].status_note == "It stole keys."


async def test_words_are_found_by_their_beginning_in_any_order_and_with_a_slip(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, [GITHUB, FILES, FETCH]) as both:
        await both.finder.search("github")
        await both.finder.copied()
        assert await both.finder.names("files writes") == ["io.github.modelcontextprotocol/server-filesystem"]
        assert await both.finder.names("filesys") == ["io.github.modelcontextprotocol/server-filesystem"]
        assert await both.finder.names("gihtub") == ["io.github.github/github-mcp-server"]
        assert await both.finder.names("filesytsem") == ["io.github.modelcontextprotocol/server-filesystem"]
        assert await both.finder.names("mcp-server-fetch") == ["io.github.modelcontextprotocol/server-fetch"]
        # Where no server has all words, those with some of them are shown.
        assert await both.finder.names("github unicorns") == ["io.github.github/github-mcp-server"]
        assert await both.finder.names("unicorns") == []


@pytest.mark.parametrize(
    ("words", "registry", "said"),
    [
        ("", "all", "There is no word to search for."),
        ("…!?", "all", "There is no word to search for."),
        ("x" * 201, "all", "A search has at most 200 characters."),
        ("files", "nowhere", "There is no registry “nowhere”. There are: official, smithery."),
    ],
)
async def test_what_cannot_be_searched_for_gets_a_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, words: str, registry: str, said: str
) -> None:
    async with open_registries(home, monkeypatch) as both:
        with pytest.raises(PilothouseError) as failed:
            await both.finder.search(words, registry)
        assert said in str(failed.value)
        assert not both.official.requests


@pytest.mark.parametrize("words", ['"', "a AND", "NEAR(", "name:", "^*", "' OR 1=1 --", "-x", "github)"])
async def test_no_word_is_an_order_to_the_search(home: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    async with open_registries(home, monkeypatch, [GITHUB]) as both:
        await both.finder.search(f"github {words}")
        assert await both.finder.names(f"github {words}") == ["io.github.github/github-mcp-server"]


async def test_a_variable_that_points_nowhere_gets_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_registries(home, monkeypatch) as both:
        monkeypatch.setenv(VARIABLE, "oficial=http://127.0.0.1:1")
        with pytest.raises(PilothouseError, match="which is no NAME=URL"):
            await both.finder.search("files")
