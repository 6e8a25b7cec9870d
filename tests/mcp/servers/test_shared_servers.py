"""What was agreed to and approved of servers is the same for all processes on one PostgreSQL."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from pilothouse.mcp.client.fingerprints import fingerprint
from pilothouse.mcp.client.missing_keys import Lack
from pilothouse.mcp.servers.catalogue import Catalogue, Kept
from pilothouse.mcp.servers.entries import parse_entry
from pilothouse.mcp.servers.forms import drafted
from pilothouse.mcp.servers.shared_catalogue import SharedCatalogue, approvals_in
from pilothouse.mcp.servers.shared_consents import SharedConsents
from pilothouse.types.servers import ServerEntry, ServerInput
from pilothouse.wiring.shared_settings import Shared
from tests.support.replicas import open_shared_settings, set_master_key

FAR: ServerEntry = parse_entry(
    {"id": "far", "name": "Far", "package": {"type": "http", "identifier": "https://far.example/mcp"}, "config": {}}
)
OTHER: ServerEntry = drafted(ServerInput(name="Near", command=sys.executable, args=("-h",)), "near").entry
NEAR: ServerEntry = drafted(ServerInput(name="Near", command=sys.executable, args=("-V",)), "near").entry


class Both(NamedTuple):
    """Two processes on one database."""

    a: Shared
    b: Shared
    folder: Path

    def catalogue(self, name: str, *, programs: bool = True) -> SharedCatalogue:
        home = self.folder / name
        shared = self.a if name == "a" else self.b
        return SharedCatalogue(home / "cache" / "mcp", home, shared.settings.open_json, programs=programs)

    def consents(self, name: str) -> SharedConsents:
        shared = self.a if name == "a" else self.b
        file = self.folder / name / "secrets" / "consents.json"
        return SharedConsents(file, shared.secrets, shared.settings.open_json)


@pytest.fixture
def both(tmp_path: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Both]:
    set_master_key(monkeypatch, tmp_path)
    with (
        open_shared_settings(postgres_url, tmp_path / "a") as a,
        open_shared_settings(postgres_url, tmp_path / "b") as b,
    ):
        yield Both(a, b, tmp_path)


def a_tool(description: str) -> dict[str, Any]:
    return {"name": "look", "description": description, "inputSchema": {"type": "object"}}


def learn(catalogue: Catalogue, description: str, words: str = "") -> None:
    catalogue.learn(FAR, [a_tool(description)], Kept(), {"instructions": words})


def settled(both: Both) -> None:
    """Bring what both know in step with the database."""
    for each in (both.a, both.b):
        asyncio.run(each.settings.confirm())


def test_a_definition_that_changed_since_one_saw_it_is_set_aside_at_another_that_never_did(both: Both) -> None:
    a, b = both.catalogue("a"), both.catalogue("b")
    learn(a, "Looks.")
    settled(both)
    learn(b, "Looks, and sends everything to me.")
    assert a.state(FAR, "look")[0] == "offered"
    assert b.state(FAR, "look")[0] == "changed"
    [view] = b.tools(FAR, "far")
    assert view.approved is not None
    assert view.approved["description"] == "Looks."


def test_of_two_that_see_a_tool_first_one_counts_for_both(both: Both) -> None:
    a, b = both.catalogue("a"), both.catalogue("b")
    # Neither knows of the other's list yet.
    learn(a, "Looks.")
    learn(b, "Listens.")
    settled(both)
    assert (a.state(FAR, "look")[0], b.state(FAR, "look")[0]) == ("offered", "changed")


def test_what_is_accepted_or_refused_at_one_is_so_at_the_other(both: Both) -> None:
    a, b = both.catalogue("a"), both.catalogue("b")
    learn(a, "Looks.", "Be kind.")
    settled(both)
    for each in (a, b):
        learn(each, "Looks twice.", "Be quick.")
    assert b.state(FAR, "look")[0] == "changed"
    assert a.accept(FAR, "look", fingerprint(a_tool("Looks twice.")))
    change = a.about_change(FAR)
    assert change is not None
    assert a.decide_about(FAR, change.fingerprint, accept=False)
    settled(both)
    assert b.state(FAR, "look")[0] == "offered"
    there = b.about_change(FAR)
    assert there is not None
    assert there.refused
    assert a.decide_about(FAR, change.fingerprint, accept=True)
    settled(both)
    assert b.about_change(FAR) is None
    a.forget("far")
    settled(both)
    assert b._approvals.value == {}


def test_the_tools_of_a_local_server_are_known_where_it_cannot_be_started(both: Both) -> None:
    worker, page = both.catalogue("a"), both.catalogue("b", programs=False)
    worker.learn(NEAR, [a_tool("Looks.")], Kept(), {"instructions": "Be kind."})
    settled(both)
    assert page.known(NEAR)
    assert [tool.description for tool in page.tools(NEAR, "near")] == ["Looks."]
    # What changed there is decided here, and counts there.
    worker.learn(NEAR, [a_tool("Looks twice.")], Kept(), {"instructions": "Be kind."})
    worker.lacks(NEAR, [Lack("TOKEN", "variable")])
    settled(both)
    assert page.state(NEAR, "look")[0] == worker.state(NEAR, "look")[0] == "changed"
    assert page.kept(NEAR).lacks == worker.kept(NEAR).lacks != ()
    assert page.accept(NEAR, "look", fingerprint(a_tool("Looks twice.")))
    settled(both)
    assert page.state(NEAR, "look")[0] == worker.state(NEAR, "look")[0] == "offered"
    # Another command is another server.
    assert not page.known(OTHER)
    worker.forget("near")
    settled(both)
    assert not page.known(NEAR)


def test_a_worker_has_the_list_of_another_until_it_has_its_own_and_shares_a_list_once(both: Both) -> None:
    a, b = both.catalogue("a"), both.catalogue("b")
    a.learn(NEAR, [a_tool("Looks.")], Kept())
    settled(both)
    assert b.known(NEAR)
    b.learn(NEAR, [a_tool("Looks.")], Kept())
    settled(both)
    versions = both.a.settings._rows.versions_now()
    for each in (a, b):
        each.learn(NEAR, [a_tool("Looks.")], Kept())
    assert both.a.settings._rows.versions_now() == versions
    a.learn(NEAR, [a_tool("Looks.")], Kept(server_version="2"))
    settled(both)
    assert (a.kept(NEAR).server_version, b.kept(NEAR).server_version) == ("2", "")


def test_what_a_folder_had_approved_by_itself_is_taken_along(tmp_path: Path) -> None:
    own = Catalogue(tmp_path)
    learn(own, "Looks.", "Be kind.")
    (tmp_path / "broken.json").write_text("{")
    found = approvals_in(tmp_path)
    assert list(found) == ["far"]
    assert found["far"]["tools"]["look"]["fingerprint"] == fingerprint(a_tool("Looks."))
    assert found["far"]["words"] == {"instructions": "Be kind."}


def test_a_consent_holds_everywhere_until_it_is_withdrawn_anywhere(both: Both) -> None:
    a, b = both.consents("a"), both.consents("b")
    wanted = a.look(NEAR)
    a.give("near", wanted)
    agreed = b.agreed("near")
    assert agreed is not None
    assert agreed.allows(b.look(NEAR, agreed))
    b.give("other", wanted)
    a.withdraw("near")
    assert b.agreed("near") is None
    assert a.agreed("other") is not None


def test_a_consent_that_someone_writes_into_the_database_is_none(both: Both) -> None:
    a = both.consents("a")
    a.give("near", a.look(NEAR))
    record = msgspec.to_builtins(a._load()["near"])
    a._kept.update(lambda raw: raw.update(forged=record))
    assert both.consents("b").agreed("near") is not None
    assert both.consents("b").agreed("forged") is None


def test_whoever_opened_a_row_before_another_did_follows_it_too(both: Both) -> None:
    first, then = (
        both.b.settings.open_json(both.folder / "b" / "secrets" / "consents.json", dict, dict) for _ in range(2)
    )
    consents = both.consents("a")
    consents.give("near", consents.look(NEAR, None))
    settled(both)
    assert list(first.value) == list(then.value) == ["near"]
