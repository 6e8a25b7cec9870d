"""Registries of one's own: added by their address, asked like the official one, removed with all that was kept."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.registries import RegistryInput, RegistryKey
from pilothouse.types.servers import RegistrySource
from tests.mcp.registry.services import NOWHERE, open_registries
from tests.support.registry_server import HTML, OfficialServer, npm, official_entry, smithery_entry
from tests.support.tiny_http import Answer

INTERNAL = official_entry("com.acme/payroll", "Payroll.", packages=[npm("@acme/payroll")])


async def test_a_registry_of_ones_own_is_searched_like_the_others_and_removed_with_its_copy(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with OfficialServer([INTERNAL]) as own, open_registries(home, monkeypatch) as both:
        service = both.finder.service
        added = await service.add(ME, RegistryInput(url=f"{own.url}/v0.1/servers/", name="Acme, Inc."))
        new = added.registries[-1]
        assert (new.id, new.name, new.kind, new.url, new.own) == ("acme-inc", "Acme, Inc.", "official", own.url, True)
        (found,) = (await both.finder.search("payroll")).servers
        assert found.registries == ("acme-inc",)
        assert await both.finder.names("payroll", "acme-inc") == ["com.acme/payroll"]
        (offered,) = (await service.proposals(ME, "acme-inc", "com.acme/payroll")).proposals
        assert offered.source == RegistrySource("acme-inc", "com.acme/payroll", "1.0.0")
        left = await service.remove(ME, "acme-inc")
        assert [each.id for each in left.registries] == ["official", "smithery"]
        assert await both.finder.names("payroll") == []
        assert both.finder.config.config.registries == ()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("not an address", "This is no web address."),
        ("ftp://registry.example", "This is no web address."),
        ("http://registry.example.com", "The address is without encryption"),
        ("https://me:secret@registry.example.com", "The address has a name or a password in it."),
        ("https://registry.example.com/?x=1", "has no “?” or “#” in it."),
        (NOWHERE, "is no registry that can be searched: it cannot be reached: nothing listens there."),
    ],
)
async def test_an_address_that_is_no_registry_gets_a_sentence_and_is_not_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch, url: str, said: str
) -> None:
    async with open_registries(home, monkeypatch) as both:
        with pytest.raises(PilothouseError) as failed:
            await both.finder.service.add(ME, RegistryInput(url=url))
        assert said in str(failed.value)
        assert "secret" not in str(failed.value)
        assert both.finder.config.config.registries == ()


@pytest.mark.parametrize("answer", [HTML, Answer(404, b""), Answer(200, b"[]"), Answer(200, b"{}")])
async def test_what_answers_in_another_way_is_no_registry(
    home: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    async with OfficialServer() as own, open_registries(home, monkeypatch) as both:
        own.says(answer)
        with pytest.raises(PilothouseError, match="is no registry that can be searched"):
            await both.finder.service.add(ME, RegistryInput(url=own.url))


async def test_a_registry_that_is_there_already_is_not_added_twice(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with OfficialServer() as own, open_registries(home, monkeypatch) as both:
        service = both.finder.service
        await service.add(ME, RegistryInput(url=own.url, name="One"))
        for url, name in ((own.url, "Two"), (f"{own.url}/other", "ONE"), (both.official.url, "Three")):
            with pytest.raises(PilothouseError, match="already"):
                await service.add(ME, RegistryInput(url=url, name=name))
        with pytest.raises(PilothouseError, match="only registries that you added"):
            await service.remove(ME, "official")
        with pytest.raises(PilothouseError, match="There is no registry “nobody”"):
            await service.remove(ME, "nobody")


@pytest.mark.case("REG-09")
async def test_smithery_asks_for_a_key_in_words_while_the_other_registry_answers(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, [INTERNAL], [smithery_entry("@acme/payroll-too")]) as both:
        both.smithery.key = "sesame-open-123"
        found = await both.finder.search("payroll")
        assert [each.name for each in found.servers] == ["com.acme/payroll"]
        assert found.key_wanted == ("smithery",)
        assert any(
            note.startswith("Smithery wants a key before it answers. Get one at https://")
            and note.endswith("`pilothouse mcp registries key smithery`.")
            for note in found.notes
        )
        views = await both.finder.service.set_key(ME, "smithery", RegistryKey(value=" sesame-open-123\n"))
        assert [each.has_key for each in views.registries] == [False, True]
        again = await both.finder.search("payroll")
        assert sorted(each.name for each in again.servers) == ["@acme/payroll-too", "com.acme/payroll"]
        assert again.key_wanted == ()
        assert all("authorization" not in request.headers for request in both.official.requests)
        # A key that is not taken is said to be so.
        await both.finder.service.set_key(ME, "smithery", RegistryKey(value="wrong"))
        refused = await both.finder.search("other words")
        assert any("Smithery did not take the key that it was given." in note for note in refused.notes)
        views = await both.finder.service.set_key(ME, "smithery", RegistryKey(value=None))
        assert not views.registries[1].has_key
        assert not list((home / "secrets").glob("registry.*"))


async def test_a_key_is_never_sent_to_another_address(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        OfficialServer([INTERNAL]) as own,
        OfficialServer([INTERNAL]) as thief,
        open_registries(home, monkeypatch) as both,
    ):
        own.key = "own-key-9876"
        new = (await both.finder.service.add(ME, RegistryInput(url=own.url, name="Acme"))).registries[-1]
        assert new.problem == "The registry Acme wants a key before it answers."
        await both.finder.service.set_key(ME, "acme", RegistryKey(value="own-key-9876"))
        assert await both.finder.names("payroll", "acme") == ["com.acme/payroll"]

        def moved(raw: JsonObject) -> None:
            raw["registries"][0]["url"] = thief.url

        both.finder.config.file.update(moved)
        assert not (await both.finder.view("acme")).has_key
        await both.finder.search("payroll", "acme")
        assert thief.requests
        assert all("authorization" not in request.headers for request in thief.requests)


@pytest.mark.parametrize("key", ["", "  ", "two\nlines", "schlüssel", "x" * 1_001])
async def test_what_cannot_be_a_key_gets_a_sentence(home: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    async with open_registries(home, monkeypatch) as both:
        with pytest.raises(PilothouseError, match="This cannot be a key"):
            await both.finder.service.set_key(ME, "smithery", RegistryKey(value=key))


async def test_the_settings_file_gives_a_registry_another_address_or_none(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with OfficialServer([INTERNAL]) as mirror, open_registries(home, monkeypatch) as both:

        def mirrored(raw: JsonObject) -> None:
            raw["registries"] = [
                {"id": "official", "url": mirror.url},
                {"id": "smithery", "url": ""},
                {"id": "../evil", "url": mirror.url},
                {"id": "broken", "url": 7},
                {"name": "nothing"},
            ]

        both.finder.config.file.update(mirrored)
        assert [each.id for each in (await both.finder.service.list(ME)).registries] == ["official"]
        assert await both.finder.names("payroll") == ["com.acme/payroll"]
        assert not both.official.requests


async def test_only_the_owner_changes_the_registries_and_anyone_may_search(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with OfficialServer([INTERNAL]) as own, open_registries(home, monkeypatch, [INTERNAL]) as both:
        service, other = both.finder.service, "someone else"
        await service.add(ME, RegistryInput(url=own.url, name="Acme"))
        asked = len(own.requests)
        for change in (
            service.add(other, RegistryInput(url=f"{own.url}/more", name="More")),
            service.remove(other, "acme"),
            service.set_key(other, "smithery", RegistryKey(value="a-key-of-mine")),
            service.set_key(other, "smithery", RegistryKey(value=None)),
        ):
            with pytest.raises(PilothouseError, match="Only the owner of this installation") as refused:
                await change
            assert refused.value.code == "forbidden"
        assert len(own.requests) == asked
        assert [each.id for each in (await service.list(other)).registries] == ["official", "smithery", "acme"]
        assert not list((home / "secrets").glob("registry.*"))
        assert (await service.search(other, "payroll")).total == 1


async def test_a_key_that_cannot_be_read_is_told_by_its_registry_alone_and_can_be_replaced(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_registries(home, monkeypatch, [INTERNAL], [smithery_entry("@acme/payroll-too")]) as both:
        service, both.smithery.key = both.finder.service, "sesame-open-123"
        await service.set_key(ME, "smithery", RegistryKey(value="sesame-open-123"))
        (file,) = (home / "secrets").glob("registry.smithery*")
        for broken in ('{"origin": "x"', f'{{"origin": "{both.smithery.url}", "store": "file", "sealed": "AA"}}'):
            file.write_text(broken)
            found = await both.finder.search(f"payroll {len(broken)}")
            assert found.key_wanted == ("smithery",)
            (note,) = [each for each in found.notes if each.startswith("Smithery")]
            assert note.startswith("Smithery has a key here that cannot be read: give it again, or forget it.")
            official, smithery = (await service.list(ME)).registries
            assert (official.problem, smithery.problem) == (
                "",
                "Smithery has a key here that cannot be read: give it again, or forget it.",
            )
        forgotten = await service.set_key(ME, "smithery", RegistryKey(value=None))
        assert not forgotten.registries[1].problem
        file.write_text("{")
        again = await service.set_key(ME, "smithery", RegistryKey(value="sesame-open-123"))
        assert (again.registries[1].has_key, again.registries[1].problem) == (True, "")
        assert sorted(await both.finder.names("payroll")) == ["@acme/payroll-too", "com.acme/payroll"]


async def test_of_two_registries_that_are_added_at_the_same_moment_under_one_name_or_address_one_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with OfficialServer() as own, open_registries(home, monkeypatch) as both:
        added = (RegistryInput(url=own.url, name="Acme"), RegistryInput(url=f"{own.url}/v0.1", name="Acme"))
        made = await asyncio.gather(*(both.finder.service.add(ME, each) for each in added), return_exceptions=True)
        (refused,) = [each for each in made if isinstance(each, PilothouseError)]
        assert str(refused) == "The registry Acme was added a moment ago."
        assert [each.id for each in (await both.finder.service.list(ME)).registries][2:] == ["acme"]
