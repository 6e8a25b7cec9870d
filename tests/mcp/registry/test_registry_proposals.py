"""How a server that was found could be added: what its registry says now, or what it said last."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import OfficialSource, SmitherySource
from tests.mcp.registry.services import open_finder, open_registries
from tests.support.registry_server import json_answer, npm, official_entry, remote, smithery_details, smithery_entry

NOTES = official_entry(
    "com.example/notes",
    "Keeps notes.",
    version="1.2.3",
    packages=[
        npm(
            "@example/notes",
            "1.2.3",
            environmentVariables=[{"name": "NOTES_TOKEN", "isSecret": True, "isRequired": True}],
        )
    ],
    remotes=[remote("https://notes.example.com/mcp")],
)
EXA = smithery_entry("@exa/search", "Searches the web.", verified=True)
KEY = {"type": "object", "properties": {"exaApiKey": {"type": "string", "title": "API key"}}, "required": ["exaApiKey"]}


@pytest.mark.case("REG-08")
async def test_an_official_server_gives_its_packages_and_addresses_with_what_is_to_be_filled_in(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, [NOTES]) as both:
        await both.finder.search("notes")
        offered = await both.finder.service.proposals(ME, "official", "com.example/notes")
        assert offered.what == "com.example/notes 1.2.3, from the official registry."
        package, reached = offered.proposals
        assert (package.kind, package.source) == ("npm", OfficialSource("com.example/notes", "1.2.3"))
        assert [(field.secret, field.required) for field in package.fields] == [(True, True)]
        assert reached.runs == "https://notes.example.com/mcp"
        # The copy was made a moment ago.
        assert not both.official.asked_for("/v0.1/servers/com.example%2Fnotes/versions/latest")


async def test_where_the_copy_is_old_the_registry_is_asked_and_without_it_the_copy_counts(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, [NOTES]) as both:
        await both.finder.search("notes")
        await both.finder.copied()
        both.finder.age()
        both.official.entries = [official_entry("com.example/notes", version="2.0.0", packages=[npm("n", "2.0.0")])]
        offered = await both.finder.service.proposals(ME, "official", "com.example/notes")
        assert [each.runs for each in offered.proposals] == ["npm n 2.0.0"]
        both.finder.age()
    async with open_finder(home) as offline:
        offered = await offline.service.proposals(ME, "official", "com.example/notes")
        assert [each.runs for each in offered.proposals] == ["npm n 2.0.0"]
        assert offered.what.startswith("com.example/notes 2.0.0, from the official registry as of ")
        assert offered.what.endswith(". The official registry cannot be reached: nothing listens there.")


@pytest.mark.case("REG-11")
async def test_a_smithery_server_opens_to_its_connections_and_settings(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, smithery=[EXA]) as both:
        both.smithery.details["@exa/search"] = smithery_details(
            EXA, schema=KEY, tools=[{"name": "search"}, {"name": "get\n"}]
        )
        await both.finder.search("exa", "smithery")
        (offered,) = (await both.finder.service.proposals(ME, "smithery", "@exa/search")).proposals
        assert offered.source == SmitherySource("@exa/search")
        assert [(field.label, field.required) for field in offered.fields] == [("API key", True)]
        assert "Its tools: search, get." in offered.notes
        # What it reaches is known from now on.
        (found,) = (await both.finder.search("exa", "smithery")).servers
        assert found.runs == ("https://server.smithery.ai/@exa/search",)
        both.smithery.fails(500)
        (again,) = (await both.finder.service.proposals(ME, "smithery", "@exa/search")).proposals
        assert again == offered


async def test_smithery_wants_a_key_for_details_and_says_so(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_registries(home, monkeypatch, smithery=[EXA]) as both:
        await both.finder.search("exa", "smithery")
        both.smithery.key = "sesame"
        with pytest.raises(PilothouseError, match="Smithery wants a key before it answers") as failed:
            await both.finder.service.proposals(ME, "smithery", "@exa/search")
        assert failed.value.code == "no_key"
        assert "pilothouse mcp registries key smithery" in failed.value.fix


@pytest.mark.parametrize("registry", ["official", "smithery"])
async def test_a_name_that_no_registry_has_gets_a_sentence(
    home: Path, monkeypatch: pytest.MonkeyPatch, registry: str
) -> None:
    async with open_registries(home, monkeypatch) as both:
        with pytest.raises(PilothouseError, match=r"has no server “com[.]example/nothing”"):
            await both.finder.service.proposals(ME, registry, "com.example/nothing")
        with pytest.raises(PilothouseError, match="There is no registry “elsewhere”"):
            await both.finder.service.proposals(ME, "elsewhere", "com.example/nothing")


async def test_what_is_deprecated_warns_and_what_is_deleted_cannot_be_added(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = official_entry("com.a/old", status="deprecated", packages=[npm("old")])
    bad = official_entry("com.a/bad", status="deleted", meta={"statusMessage": "Malware."}, packages=[npm("bad")])
    async with open_registries(home, monkeypatch, [old, bad]) as both:
        (first,) = (await both.finder.service.proposals(ME, "official", "com.a/old")).proposals
        assert first.server is not None
        assert "The official registry says that it is not to be used any more." in first.warnings
        (second,) = (await both.finder.service.proposals(ME, "official", "com.a/bad")).proposals
        assert (second.server, second.problem) == (None, "The official registry has deleted it. Malware.")


async def test_an_answer_about_another_server_is_not_taken(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_registries(home, monkeypatch, [NOTES]) as both:
        other = official_entry("com.evil/notes", packages=[npm("evil")])
        both.official.answering = lambda request: (
            None if "latest" not in request.target.partition("?")[0] else json_answer(other)
        )
        with pytest.raises(PilothouseError, match="answered with something that is not this server"):
            await both.finder.service.proposals(ME, "official", "com.example/notes")
