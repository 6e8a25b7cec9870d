"""What the person is asked, what their answer counts for, and what a refusal says."""

from __future__ import annotations

import msgspec
import pytest

from pilothouse.types.access import Access
from pilothouse.types.authority import Approval, Pattern
from pilothouse.types.json import plain
from pilothouse.types.ports import PermitNeeded, PermitRefused
from tests.support.deciding import (
    FILES,
    ROOT,
    SERVER,
    TERMINAL,
    HeldRules,
    a_grant,
    a_rule,
    about,
    an_authorizer,
    calling,
    decide,
    running,
    touching,
    verdict,
)
from tests.support.tools import ToolOf

# --- asking and refusing -------------------------------------------------------------------------


@pytest.mark.case("AUTHZ-01")
async def test_an_answer_counts_only_for_the_call_that_was_shown() -> None:
    by, shown = an_authorizer(), about(touching("/srv/other/a"))
    asked = await by.decide(FILES, {"path": "a"}, shown, None)
    approval = Approval("allow", asked.decision.call_hash, by="me")
    given = await by.decide(FILES, {"path": "a"}, shown, approval)
    assert (verdict(given)[:2], given.decision.by) == (("allow", "person"), "me")
    elsewhere = about(touching("/srv/other/b"))
    for arguments, context in (
        ({"path": "b"}, shown),
        ({"path": "a", "force": True}, shown),
        # The same words, and a link that leads elsewhere by now.
        ({"path": "a"}, elsewhere),
        ({"path": "a"}, msgspec.structs.replace(shown, run_id="r_2")),
        ({"path": "a"}, msgspec.structs.replace(shown, call_id="i_2")),
        ({"path": "a"}, msgspec.structs.replace(shown, owner="someone else")),
    ):
        assert isinstance(await by.decide(FILES, arguments, context, approval), PermitNeeded)


async def test_no_beats_whatever_allows_by_now() -> None:
    context = about(touching(f"{ROOT}/a"))
    by = an_authorizer()
    asked = await by.decide(FILES, {}, context, None)
    quiet = msgspec.structs.replace(context, mode="auto_approve")
    denied = await by.decide(FILES, {}, quiet, Approval("deny", asked.decision.call_hash))
    assert verdict(denied)[:2] == ("deny", "person")


@pytest.mark.case("ATZ-13")
async def test_a_refusal_names_the_operation_the_reason_and_how_to_ask() -> None:
    by, context = an_authorizer(), about(touching("/srv/other/a"))
    asked = await by.decide(FILES, {}, context, None)
    denied = await by.decide(FILES, {}, context, Approval("deny", asked.decision.call_hash, reason="Not that one."))
    assert isinstance(denied, PermitRefused)
    for part in ("Not that one.", "file_operations.create_file", "user_collaboration", "“May I do this: Using"):
        assert part in denied.reason
    ruled = await decide(touching(f"{ROOT}/a"), by=an_authorizer(rules=HeldRules(a_rule("deny", Pattern()))))
    assert isinstance(ruled, PermitRefused)
    assert "A rule of yours forbids it." in ruled.reason
    assert "user_collaboration" in ruled.reason


@pytest.mark.case("AUTHZ-10")
async def test_a_card_shows_what_happens_and_proposes_the_narrowest_useful_pattern() -> None:
    found = await decide(touching(f"{ROOT}/src/a.py"))
    assert isinstance(found, PermitNeeded)
    assert found.data["proposal"] == {
        "tool": "file_operations.create_file",
        "definition": "",
        "paths": ["src/*"],
        "command": [],
        "destination": "",
        "folder": ROOT,
    }
    assert found.data["proposalText"] == f"file_operations.create_file at src/* in {ROOT}"
    assert found.data["access"]["paths"] == [
        {
            "path": f"{ROOT}/src/a.py",
            "effect": "writes",
            "inside": True,
            "protected": "",
            "whole": False,
            "belongs": False,
        }
    ]
    assert [choice["label"] for choice in found.data["choices"]] == [
        "Allow once",
        "Allow in this conversation for 5 minutes",
        "Always for this pattern",
        "Deny",
    ]


@pytest.mark.parametrize(
    ("tool", "access", "pattern"),
    [
        (
            FILES,
            touching("/etc/hosts"),
            Pattern(tool="file_operations.create_file", paths=("/etc/hosts",), folder=ROOT),
        ),
        (FILES, touching(f"{ROOT}/a"), Pattern(tool="file_operations.create_file", paths=("*",), folder=ROOT)),
        (
            TERMINAL,
            running("make test"),
            Pattern(tool="terminal_operations.run_command", command=("make", "test"), folder=ROOT),
        ),
        (TERMINAL, running("make; rm x"), None),
        (TERMINAL, running("echo '*'"), None),
        (SERVER, calling(), Pattern(tool="files.read", definition="files__read")),
        (FILES, touching(f"{ROOT}/sr*c/a"), None),
        (FILES, touching(*(f"{ROOT}/{name}/x" for name in "abcdef")), None),
    ],
)
async def test_what_is_proposed_covers_the_call_and_little_else(
    tool: ToolOf, access: Access, pattern: Pattern | None
) -> None:
    found = await decide(access, tool=tool)
    assert isinstance(found, PermitNeeded)
    assert found.data["proposal"] == (None if pattern is None else plain(pattern))
    if pattern is None:
        assert [choice["id"] for choice in found.data["choices"]] == ["allow", "deny"]
    else:
        granted = an_authorizer(a_grant(pattern))
        assert verdict(await decide(access, by=granted, tool=tool)) == ("allow", "grant", "g_1")


@pytest.mark.case("AUTHZ-11")
async def test_calls_of_one_shape_share_a_group_and_others_do_not() -> None:
    async def group(access: Access, tool: ToolOf = FILES) -> str:
        found = await decide(access, tool=tool)
        assert isinstance(found, PermitNeeded)
        return str(found.data["group"])

    first = await group(touching(f"{ROOT}/src/a.py"))
    assert first == await group(touching(f"{ROOT}/src/b.py"))
    others = [
        await group(touching(f"{ROOT}/lib/b.py")),
        await group(touching(f"{ROOT}/src/a.py", operation="delete_file")),
        await group(touching("/etc/hosts")),
        await group(running("make"), TERMINAL),
    ]
    assert first
    assert first not in others
    assert await group(running("sudo make"), TERMINAL) == ""
    assert await group(touching(f"{ROOT}/.git/hooks/x")) == ""
