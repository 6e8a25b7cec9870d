"""What the person allows beyond one call: kept, tried on the past, over in time whatever the clock says."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import msgspec
import pytest
import pytest_asyncio

from pilothouse.permissions.grants import Expiry, PersonPermissions
from pilothouse.permissions.policy_file import new_policy, parse_policy
from pilothouse.settings.json_file import JsonFile
from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.authority import Authority, Decision, Example, Grant, Pattern, Rule, Verdict
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.items import Call
from pilothouse.types.json import plain
from pilothouse.types.records import PastCall
from tests.permissions.accesses import FOLDER, TERMINAL, a_rule, an_access
from tests.support.records import OWNER, a_conversation, an_item

CREATE = "file_operations.create_file"


@pytest_asyncio.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    opened = open_store(tmp_path, None, lambda _id, _events: None)
    yield opened.store
    await opened.close()


class Clocks:
    """The wall clock and the steady one, set by hand."""

    def __init__(self) -> None:
        self.wall = time.time()
        self.steady = 1_000.0

    def run(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@pytest.fixture
def clocks() -> Clocks:
    return Clocks()


@pytest.fixture
def permissions(tmp_path: Path, store: Store, clocks: Clocks) -> PersonPermissions:
    file = JsonFile(tmp_path / "policy.json", parse_policy, new_policy, backup=tmp_path / "kept.json")
    return PersonPermissions(file, store, Expiry(lambda: clocks.wall, lambda: clocks.steady))


async def given(permissions: PersonPermissions, store: Store, clocks: Clocks) -> Grant:
    conversation = await store.add_conversation(a_conversation())
    grant = Grant(
        id=new_id("g"),
        owner=OWNER,
        conversation_id=conversation.id,
        pattern=Pattern(tool=CREATE),
        created_at=clocks.wall,
        expires_at=clocks.wall + 300,
        single_use=False,
    )
    await permissions.add_grant(grant)
    return grant


async def stands(permissions: PersonPermissions, grant: Grant, clocks: Clocks) -> bool:
    listed = bool(await permissions.standing_grants(OWNER, grant.conversation_id, 0))
    used = await permissions.use_grant(grant.id, clocks.wall)
    assert listed == used
    return used


@pytest.mark.case("AUTHZ-07", "ATZ-10")
async def test_a_permission_ends_in_time_and_setting_the_clock_back_does_not_revive_it(
    permissions: PersonPermissions, store: Store, clocks: Clocks
) -> None:
    grant = await given(permissions, store, clocks)
    clocks.run(200)
    assert await stands(permissions, grant, clocks)
    clocks.run(200)
    assert not await stands(permissions, grant, clocks)
    clocks.wall -= 300
    assert not await stands(permissions, grant, clocks)
    clocks.wall -= 100_000
    assert not await stands(permissions, grant, clocks)


@pytest.mark.case("AUTHZ-07")
async def test_setting_the_clock_back_at_once_gives_no_more_time(
    permissions: PersonPermissions, store: Store, clocks: Clocks
) -> None:
    grant = await given(permissions, store, clocks)
    clocks.run(10)
    clocks.wall -= 5
    assert await stands(permissions, grant, clocks)
    clocks.run(293)
    # The wall clock says that two seconds are left.
    assert grant.expires_at is not None
    assert clocks.wall < grant.expires_at
    assert not await stands(permissions, grant, clocks)


@pytest.mark.case("AUTHZ-07")
async def test_a_time_zone_changes_nothing(
    permissions: PersonPermissions, store: Store, clocks: Clocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant = await given(permissions, store, clocks)
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    assert await stands(permissions, grant, clocks)
    monkeypatch.undo()
    time.tzset()


async def test_a_permission_that_could_cover_nothing_or_everything_is_refused(
    permissions: PersonPermissions, store: Store, clocks: Clocks
) -> None:
    grant = await given(permissions, store, clocks)
    for pattern in (Pattern(command=("*",)), Pattern(command=("find", "*")), Pattern(paths=("../x",))):
        with pytest.raises(PilothouseError) as refused:
            await permissions.add_grant(msgspec.structs.replace(grant, id=new_id("g"), pattern=pattern))
        assert refused.value.code == "bad_request"
    assert len(await permissions.grants(OWNER, None)) == 1


async def test_rules_are_added_beside_others_and_kept_with_their_date(
    permissions: PersonPermissions, tmp_path: Path
) -> None:
    await asyncio.gather(*(permissions.add_rule(a_rule(f"r{n}", "deny", command=(f"p{n}",))) for n in range(5)))
    assert {rule.id for rule in permissions.rules} == {f"r{n}" for n in range(5)}
    assert all(rule.created_at > 0 for rule in permissions.rules)
    assert len(json.loads((tmp_path / "policy.json").read_text())["rules"]) == 5
    found = permissions.check(Example(tool=TERMINAL, command="p3 x"))
    assert (found.verdict, found.rule) == ("deny", "r3")
    assert permissions.check(Example(tool=TERMINAL, command="ls")).verdict is None


@pytest.mark.case("AUTHZ-08")
async def test_a_rule_is_not_added_to_a_file_that_cannot_be_read_and_what_is_in_it_is_kept_aside(
    permissions: PersonPermissions, tmp_path: Path
) -> None:
    await permissions.add_rule(a_rule("a", "deny", command=("rm", "*")))
    (tmp_path / "policy.json").write_text("{ broken")
    with pytest.raises(PilothouseError) as refused:
        await permissions.add_rule(a_rule("b", "allow", tool=CREATE))
    assert refused.value.code == "conflict"
    assert (tmp_path / "policy.json").read_text() == "{ broken"
    # Saying all rules anew mends it.
    await permissions.replace_rules([a_rule("b", "allow", tool=CREATE)])
    assert [rule.id for rule in permissions.rules] == ["b"]
    assert permissions.problem is None
    (aside,) = (name for name in os.listdir(tmp_path) if name.startswith("policy.json.broken-"))
    assert (tmp_path / aside).read_text() == "{ broken"


async def test_rules_that_cannot_be_kept_leave_the_file_as_it_was(
    permissions: PersonPermissions, tmp_path: Path
) -> None:
    await permissions.add_rule(a_rule("a", "deny", command=("rm", "*")))
    before = (tmp_path / "policy.json").read_bytes()
    long = a_rule("long", "deny", paths=tuple(f"{n}/{'x' * 1000}" for n in range(3_000)))
    for wrong, code in (
        ([a_rule("a", "allow", command=("find", "*"))], "bad_request"),
        ([a_rule("a", "ask"), a_rule("a", "ask")], "bad_request"),
        ([long], "too_large"),
    ):
        with pytest.raises(PilothouseError) as refused:
            await permissions.replace_rules(wrong)
        assert refused.value.code == code
    assert (tmp_path / "policy.json").read_bytes() == before


def past(access: Access, verdict: Verdict, authority: Authority, rule: str, definition: str = "") -> PastCall:
    decision = Decision(verdict=verdict, authority=authority, rule=rule, why="", call_hash="", at=7.0)
    kept = plain(access)
    del kept["preview"]
    data = {"access": kept, "decision": plain(decision), "display": "What it did", "definition": definition}
    return PastCall(cast(Call, an_item("c_1", "tool_call", "completed", data=data)), FOLDER)


@pytest.mark.case("ATZ-15")
def test_a_policy_is_tried_on_the_past_before_it_is_kept(permissions: PersonPermissions) -> None:
    inside = an_access(CREATE, paths=[f"{FOLDER}/src/a.py"])
    secret = an_access(CREATE, paths=[f"{FOLDER}/secret/key"])
    server = an_access("github.read_file", destination="github")
    calls = [
        past(inside, "allow", "person", "writes"),
        past(secret, "allow", "mode", "auto_edit"),
        past(secret, "allow", "person", "protected"),
        past(an_access(TERMINAL, command="git log main"), "allow", "person", "command"),
        past(an_access(TERMINAL, command="git log main; ls"), "allow", "person", "command"),
        past(server, "allow", "rule", "gone"),
        past(server, "allow", "person", "server", "s:read_file:1"),
        past(an_access("think"), "allow", "harmless", "nothing"),
        PastCall(cast(Call, an_item("c_1", "tool_call", "completed")), None),
    ]
    report = permissions.replay(
        [
            a_rule("write", "allow", tool=CREATE, paths=("src/**", "secret/**")),
            a_rule("logs", "allow", command=("git", "log", "*")),
            a_rule("exact", "allow", tool="github.read_file", definition="s:read_file:1"),
            a_rule("keys", "ask", paths=("secret/key",)),
        ],
        calls,
    )
    assert [(one.before, one.after, one.rule) for one in report.changed] == [
        ("ask", "allow", "write"),
        ("allow", "ask", "keys"),
        ("ask", "allow", "logs"),
        ("allow", "ask", ""),
        ("ask", "allow", "exact"),
    ]
    assert (report.looked_at, report.allowed, report.asked, report.denied) == (8, 4, 4, 0)
    assert permissions.replay([a_rule("no", "deny")], calls).denied == 8
    assert permissions.rules == ()
    (used,) = permissions.uses(calls)
    assert (used.rule_id, used.uses, used.last_used_at) == ("gone", 1, 7.0)


def test_what_a_replay_shows_is_bounded(permissions: PersonPermissions) -> None:
    calls = [past(an_access(CREATE), "allow", "person", "writes")] * (limits.REPLAYED_SHOWN + 50)
    report = permissions.replay([Rule(id="no", verdict="deny", pattern=Pattern())], calls)
    assert (report.denied, len(report.changed)) == (limits.REPLAYED_SHOWN + 50, limits.REPLAYED_SHOWN)
