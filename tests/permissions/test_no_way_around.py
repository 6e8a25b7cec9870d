"""Whatever rules, permissions, modes and flags come together: what must be asked is asked, what is denied is denied."""

from __future__ import annotations

import asyncio
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse.types.access import Access
from pilothouse.types.authority import Mode, Pattern, Rule, Seen
from tests.support.authorizers import (
    FILES,
    ROOT,
    SERVER,
    TERMINAL,
    HeldRules,
    a_grant,
    a_rule,
    an_authorizer,
    command_access,
    decide,
    file_access,
    server_access,
    verdict,
)
from tests.support.tools import ToolOf

CALLS: list[tuple[ToolOf, Access]] = [
    (FILES, file_access(f"{ROOT}/a", effect="reads")),
    (FILES, file_access(f"{ROOT}/a")),
    (FILES, file_access("/srv/other/a")),
    (FILES, file_access(f"{ROOT}/.git/hooks/pre-commit")),
    (FILES, file_access("/nonexistent/pilothouse/policy.json")),
    (TERMINAL, command_access("make")),
    (TERMINAL, command_access("sudo make")),
    (TERMINAL, command_access("make", network=True)),
    (SERVER, server_access()),
]
EVERYTHING = Pattern(tool="*")
MAKE = Pattern(tool="*", command=("make",))
RULES = st.lists(
    st.sampled_from(
        [
            a_rule("allow", EVERYTHING, "allow-all"),
            a_rule("allow", MAKE, "allow-make"),
            a_rule("ask", EVERYTHING, "ask-all"),
            a_rule("deny", Pattern(tool="file_operations.*"), "deny-files"),
            a_rule("deny", Pattern(tool="*", command=("make",)), "deny-make"),
        ]
    ),
    unique_by=lambda rule: rule.id,
)
MODES: st.SearchStrategy[Mode] = st.sampled_from(["ask", "sandboxed", "auto_edit", "read_only", "auto_approve"])
SEEN = st.builds(Seen, st.frozensets(st.sampled_from(["files", "server:Files", "server:Web", "terminal"])))


def found(call: tuple[ToolOf, Access], mode: Mode, rules: list[Rule], seen: Seen, generous: bool) -> str:
    tool, access = call
    grants = (a_grant(EVERYTHING), a_grant(MAKE, "g_2")) if generous else ()
    by = an_authorizer(*grants, rules=HeldRules(*rules))
    allow = ("file_operations.*", "terminal_operations.*", "files.*") if generous else ()
    return verdict(asyncio.run(decide(access, mode, by=by, tool=tool, seen=seen, allow=allow)))[0]


@pytest.mark.case("AUTHZ-06", "AUTHZ-14", "EXFIL-01")
@given(st.sampled_from(CALLS), MODES, RULES, SEEN, st.booleans())
@pytest.mark.slow
def test_nothing_gets_around_what_must_hold(
    call: tuple[ToolOf, Access], mode: Mode, rules: list[Rule], seen: Seen, generous: bool
) -> None:
    tool, access = call
    said = found(call, mode, rules, seen, generous)
    ids = {rule.id for rule in rules}
    if "deny-files" in ids and tool is FILES:
        assert said == "deny"
    if "deny-make" in ids and access.command is not None:
        assert said == "deny"
    if mode == "read_only" and not access.effects <= {"reads"}:
        assert said == "deny"
    if any("pilothouse" in use.path for use in access.paths):
        assert said == "deny"
    alone = any(".git" in use.path for use in access.paths) or (access.command and "sudo" in access.command.text)
    if alone or "ask-all" in ids:
        assert said != "allow"
    # No word about everything is one about private data; only the message that names the server is.
    leaves = access.destination and (access.command or seen.private - {f"server:{access.destination}"})
    if leaves and not (generous and tool is SERVER):
        assert said != "allow"


@given(st.sampled_from(CALLS), MODES, RULES, SEEN)
@pytest.mark.slow
def test_more_was_allowed_never_means_less_is_asked_than_the_rules_say(
    call: tuple[ToolOf, Access], mode: Mode, rules: list[Rule], seen: Seen
) -> None:
    strict = {"allow": 0, "ask": 1, "deny": 2}
    less, more = (found(call, mode, rules, seen, generous) for generous in (False, True))
    assert strict[more] <= strict[less]
    assert (more == "deny") == (less == "deny")


@pytest.mark.case("AUTHZ-06")
def test_the_order_of_rules_changes_nothing() -> None:
    rules = [
        a_rule("allow", EVERYTHING, "allow-all"),
        a_rule("ask", Pattern(tool="file_operations.*"), "ask-files"),
        a_rule("deny", Pattern(tool="*", paths=("a",)), "deny-a"),
    ]
    for call in CALLS:
        said = {found(call, "auto_edit", list(order), Seen(), True) for order in permutations(rules)}
        assert len(said) == 1
