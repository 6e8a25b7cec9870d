"""The mode "sandboxed": what the sandbox holds and undo covers needs no question, and everything else does."""

from __future__ import annotations

import msgspec
import pytest

from pilothouse.types.access import Access
from pilothouse.types.authority import Pattern, Seen
from pilothouse.types.json import convert
from pilothouse.types.ports import PermitNeeded
from tests.support.authorizers import (
    FILES_READ,
    ROOT,
    SERVER,
    TERMINAL,
    HeldRules,
    a_grant,
    a_rule,
    an_authorizer,
    command_access,
    covered,
    decide,
    file_access,
    server_access,
    verdict,
)
from tests.support.tools import ToolOf

FIRST = ToolOf("files__read", server="Files", effects=SERVER.effects)
SECOND = ToolOf("files__write", server="Files", effects=SERVER.effects)
FIRST.grant_key, SECOND.grant_key = "s_1:read:aa", "s_1:write:bb"


def held(text: str, **more: object) -> Access:
    return covered(command_access(text), **more)


@pytest.mark.parametrize("command", ["make", "rm -rf build", "git clean -fdx", "$TOOL build", "sh run.sh"])
async def test_a_command_that_is_held_and_covered_is_not_asked_about(command: str) -> None:
    found = await decide(held(command), "sandboxed", tool=TERMINAL, seen=FILES_READ)
    assert verdict(found) == ("allow", "mode", "sandboxed")
    # In no other mode does that matter.
    assert verdict(await decide(held(command), "auto_edit", tool=TERMINAL, seen=FILES_READ))[0] == "ask"


@pytest.mark.parametrize("more", [{"covered": False}, {"covered": False, "sandbox": ""}])
async def test_one_that_is_not_is(more: dict[str, object]) -> None:
    assert verdict(await decide(held("make", **more), "sandboxed", tool=TERMINAL))[0] == "ask"
    dangerous = await decide(held("rm -rf build", **more), "sandboxed", tool=TERMINAL)
    assert verdict(dangerous)[2] == "dangerous"


async def test_the_network_and_what_tools_themselves_call_dangerous_are_asked_about() -> None:
    networked = command_access("make", network=True)
    assert verdict(await decide(networked, "sandboxed", tool=TERMINAL))[2] == "leaving"
    at_home = msgspec.structs.replace(held("make"), dangerous="It works in your home folder.")
    assert verdict(await decide(at_home, "sandboxed", tool=TERMINAL))[2] == "dangerous"


async def test_edits_inside_go_through_and_those_outside_or_of_what_starts_by_itself_are_asked_about() -> None:
    assert verdict(await decide(file_access(f"{ROOT}/a"), "sandboxed"))[0] == "allow"
    assert verdict(await decide(file_access("/srv/other/a"), "sandboxed"))[2] == "outside"
    assert verdict(await decide(file_access(f"{ROOT}/.git/hooks/pre-commit"), "sandboxed"))[2] == "protected"


async def test_a_servers_tool_is_asked_about_when_it_can_take_data_along_or_says_that_it_destroys() -> None:
    local = msgspec.structs.replace(server_access(), destination="")
    assert verdict(await decide(local, "sandboxed", tool=FIRST, seen=FILES_READ))[:2] == ("allow", "mode")
    assert verdict(await decide(server_access(), "sandboxed", tool=FIRST))[:2] == ("allow", "mode")
    assert verdict(await decide(server_access(), "sandboxed", tool=FIRST, seen=FILES_READ))[2] == "leaving"
    destroys = msgspec.structs.replace(local, destructive=True)
    assert verdict(await decide(destroys, "sandboxed", tool=FIRST))[2] == "server"


@pytest.mark.case("AUTHZ-04")
async def test_a_place_that_was_allowed_is_allowed_for_every_tool_of_that_very_server() -> None:
    asked = await decide(server_access(), "sandboxed", tool=FIRST, seen=FILES_READ)
    assert isinstance(asked, PermitNeeded)
    by = an_authorizer(a_grant(convert(asked.data["proposal"], Pattern)))
    other = msgspec.structs.replace(server_access(), operation="files.write")
    assert verdict(await decide(other, "sandboxed", by=by, tool=SECOND, seen=FILES_READ))[:2] == ("allow", "grant")
    more = Seen(frozenset({"files", "server:Web"}))
    assert verdict(await decide(other, "sandboxed", by=by, tool=SECOND, seen=more))[2] == "leaving"
    namesake = ToolOf("files__write", server="Files", effects=SERVER.effects)
    namesake.grant_key = "s_2:write:bb"
    assert verdict(await decide(other, "sandboxed", by=by, tool=namesake, seen=FILES_READ))[2] == "leaving"


async def test_a_rule_that_asks_or_forbids_is_heard_first() -> None:
    rules = HeldRules(a_rule("ask", Pattern(command=("make",))), a_rule("deny", Pattern(command=("rm", "*")), "no"))
    by = an_authorizer(rules=rules)
    assert verdict(await decide(held("make"), "sandboxed", by=by, tool=TERMINAL))[:2] == ("ask", "rule")
    assert verdict(await decide(held("rm x"), "sandboxed", by=by, tool=TERMINAL))[:2] == ("deny", "rule")
