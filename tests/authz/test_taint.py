"""Private data, strangers' words and a way out."""

from __future__ import annotations

import msgspec
import pytest

from pilothouse.types import limits
from pilothouse.types.authority import Mode, Pattern, Seen
from pilothouse.types.ports import PermitNeeded
from tests.support.deciding import (
    ROOT,
    SERVER,
    TERMINAL,
    HeldRules,
    a_grant,
    a_rule,
    an_authorizer,
    calling,
    decide,
    running,
    touching,
    verdict,
)

# --- taint ---------------------------------------------------------------------------------------

HELD = Seen(frozenset({"files"}), frozenset({"server:Web"}))


@pytest.mark.case("EXFIL-01")
@pytest.mark.parametrize("mode", ["ask", "auto_edit", "auto_approve"])
async def test_private_data_and_strangers_words_make_sending_a_question_of_its_own(mode: Mode) -> None:
    by = an_authorizer(a_grant(Pattern(tool="*")), rules=HeldRules(a_rule("allow", Pattern())))
    found = await decide(calling(payload=120), mode, by=by, tool=SERVER, seen=HELD, allow=("files.*",))
    assert verdict(found) == ("ask", "default", "tainted")
    assert isinstance(found, PermitNeeded)
    shown = found.data["access"]
    assert (shown["destination"], shown["payloadBytes"], shown["sentBefore"]) == ("Files", 120, 0)
    assert [choice["id"] for choice in found.data["choices"]] == ["allow", "deny"]
    for part in ("Files", "(files)", "(the server Web)"):
        assert part in found.question


@pytest.mark.parametrize(
    "seen",
    [
        Seen(),
        Seen(private=frozenset({"files"})),
        Seen(untrusted=frozenset({"server:Web"})),
        # What came from there goes back there.
        Seen(frozenset({"server:Files"}), frozenset({"server:Files", "server:Web"})),
    ],
)
async def test_without_all_three_a_permission_is_enough(seen: Seen) -> None:
    by = an_authorizer(a_grant(Pattern(tool="*")))
    assert verdict(await decide(calling(), by=by, tool=SERVER, seen=seen)) == ("allow", "grant", "g_1")


async def test_what_stays_on_the_machine_is_no_way_out() -> None:
    assert verdict(await decide(touching(f"{ROOT}/a"), "auto_edit", seen=HELD))[0] == "allow"
    by = an_authorizer(a_grant(Pattern(tool="*", command=("make",))))
    assert verdict(await decide(running("make"), by=by, tool=TERMINAL, seen=HELD))[0] == "allow"
    assert verdict(await decide(running("make", network=True), by=by, tool=TERMINAL, seen=HELD))[2] == "tainted"


@pytest.mark.case("EXFIL-02")
async def test_a_command_that_nothing_holds_is_a_way_out() -> None:
    by = an_authorizer(a_grant(Pattern(tool="*", command=("make",))))
    held = running("make")
    assert held.command is not None
    unheld = msgspec.structs.replace(held, command=msgspec.structs.replace(held.command, sandbox=""))
    assert verdict(await decide(unheld, by=by, tool=TERMINAL, seen=HELD))[2] == "tainted"
    assert verdict(await decide(unheld, by=by, tool=TERMINAL))[0] == "allow"


@pytest.mark.case("EXFIL-03")
async def test_many_small_payloads_add_up_until_they_are_looked_at() -> None:
    by = an_authorizer(a_grant(Pattern(tool="*")))
    little = Seen(sent={"Files": 200 * 1024})
    assert verdict(await decide(calling(payload=1024), by=by, tool=SERVER, seen=little))[0] == "allow"
    found = await decide(calling(payload=100 * 1024), by=by, tool=SERVER, seen=little)
    assert verdict(found) == ("ask", "default", "volume")
    assert isinstance(found, PermitNeeded)
    assert found.data["access"]["sentBefore"] == 200 * 1024


@pytest.mark.case("EXFIL-03")
async def test_very_many_tiny_payloads_are_looked_at_too() -> None:
    by = an_authorizer(a_grant(Pattern(tool="*")))
    often = Seen(sent={"Files": 10}, sends={"Files": limits.SENDS_UNASKED - 1})
    assert verdict(await decide(calling(payload=1), by=by, tool=SERVER, seen=often))[0] == "allow"
    oftener = Seen(sent={"Files": 10}, sends={"Files": limits.SENDS_UNASKED})
    assert verdict(await decide(calling(payload=1), by=by, tool=SERVER, seen=oftener))[2] == "volume"
