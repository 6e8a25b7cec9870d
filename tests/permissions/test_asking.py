"""What the person is asked, what their answer counts for, and what a refusal says."""

from __future__ import annotations

import msgspec
import pytest

from pilothouse.permissions.authorizer import call_hash
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse, PathUse
from pilothouse.types.authority import Approval, Pattern
from pilothouse.types.json import plain
from pilothouse.types.ports import PermitNeeded, PermitRefused
from tests.support.authorizers import (
    FILES,
    ROOT,
    SERVER,
    TERMINAL,
    HeldRules,
    a_grant,
    a_rule,
    an_authorizer,
    call_context,
    command_access,
    decide,
    file_access,
    server_access,
    verdict,
)
from tests.support.tools import ToolOf

# --- asking and refusing -------------------------------------------------------------------------


@pytest.mark.case("AUTHZ-01")
async def test_an_answer_counts_only_for_the_call_that_was_shown() -> None:
    by, shown = an_authorizer(), call_context(file_access("/srv/other/a"))
    asked = await by.decide(FILES, {"path": "a"}, shown, None)
    approval = Approval("allow", asked.decision.call_hash, by="me")
    given = await by.decide(FILES, {"path": "a"}, shown, approval)
    assert (verdict(given)[:2], given.decision.by) == (("allow", "person"), "me")
    elsewhere = call_context(file_access("/srv/other/b"))
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


# Each field of what a call touches with another value, and whether the person's word is about it. A new field belongs
# here; one that the word is about may count only where it says something, so that calls of before keep their hash.
OTHERWISE: dict[type[msgspec.Struct], dict[str, tuple[object, bool]]] = {
    Access: {
        "operation": ("other.operation", True),
        "effects": (frozenset({"reads"}), True),
        "paths": ((), True),
        "command": (None, True),
        "destination": ("example.org", True),
        "through": ("Server", True),
        "payload_bytes": (1, True),
        "brings": (frozenset({"private"}), True),
        "source": ("files", True),
        "lane": ("lane", True),
        "preview": ({"diff": "+"}, False),
        "folder_identity": ((1, 2), True),
        "content": ("digest", True),
        "dangerous": ("It is.", True),
        "destructive": (True, False),
        "costs": (True, False),
    },
    CommandUse: {
        "uncovered": ("There is no room.", False),
        "text": ("rm -r .", True),
        "argv": (("rm",), True),
        "folder": ("/elsewhere", True),
        "sandbox": ("landlock", True),
        "network": (True, True),
        "covered": (True, False),
        "typed": (True, True),
    },
    PathUse: {
        "path": ("/srv/other", True),
        "effect": ("reads", True),
        "inside": (False, True),
        "protected": ("It is.", True),
        "whole": (True, True),
        "belongs": (True, True),
    },
}


def _one_of_each() -> tuple[Access, CommandUse, PathUse]:
    command = CommandUse(text="ls", sandbox="bubblewrap")
    path = PathUse(path=f"{ROOT}/a", effect="writes", inside=True)
    return Access(operation="terminal_operations.run_command", paths=(path,), command=command), command, path


def _changed(kind: type[msgspec.Struct], field: str) -> Access:
    access, command, path = _one_of_each()
    other = {field: OTHERWISE[kind][field][0]}
    if kind is CommandUse:
        return msgspec.structs.replace(access, command=msgspec.structs.replace(command, **other))
    if kind is PathUse:
        return msgspec.structs.replace(access, paths=(msgspec.structs.replace(path, **other),))
    return msgspec.structs.replace(access, **other)


@pytest.mark.case("AUTHZ-01")
@pytest.mark.parametrize("kind", OTHERWISE)
def test_it_is_said_of_every_field_of_an_access_whether_the_persons_word_is_about_it(
    kind: type[msgspec.Struct],
) -> None:
    assert {field.name for field in msgspec.structs.fields(kind)} == set(OTHERWISE[kind])
    shown = call_hash(TERMINAL, {}, call_context(_one_of_each()[0]))
    counts = {field: call_hash(TERMINAL, {}, call_context(_changed(kind, field))) != shown for field in OTHERWISE[kind]}
    assert counts == {field: is_about for field, (_, is_about) in OTHERWISE[kind].items()}


def test_an_answer_to_a_question_from_before_still_counts_after_an_upgrade() -> None:
    assert (
        call_hash(TERMINAL, {}, call_context(_one_of_each()[0]))
        == "7be733e98749a61bbfc6d43ee5e24f3e62b2711fcd5cbe7ec7a51e91806c173b"
    )


async def test_no_beats_whatever_allows_by_now() -> None:
    context = call_context(file_access(f"{ROOT}/a"))
    by = an_authorizer()
    asked = await by.decide(FILES, {}, context, None)
    quiet = msgspec.structs.replace(context, mode="auto_approve")
    denied = await by.decide(FILES, {}, quiet, Approval("deny", asked.decision.call_hash))
    assert verdict(denied)[:2] == ("deny", "person")


@pytest.mark.case("ATZ-13")
async def test_a_refusal_names_the_operation_the_reason_and_how_to_ask() -> None:
    by, context = an_authorizer(), call_context(file_access("/srv/other/a"))
    asked = await by.decide(FILES, {}, context, None)
    denied = await by.decide(FILES, {}, context, Approval("deny", asked.decision.call_hash, reason="Not that one."))
    assert isinstance(denied, PermitRefused)
    for part in ("Not that one.", "file_operations.create_file", "user_collaboration", "“May I do this: Using"):
        assert part in denied.reason
    ruled = await decide(file_access(f"{ROOT}/a"), by=an_authorizer(rules=HeldRules(a_rule("deny", Pattern()))))
    assert isinstance(ruled, PermitRefused)
    assert "A rule of yours forbids it." in ruled.reason
    assert "user_collaboration" in ruled.reason


@pytest.mark.case("AUTHZ-10")
async def test_a_card_shows_what_happens_and_proposes_the_narrowest_useful_pattern() -> None:
    found = await decide(file_access(f"{ROOT}/src/a.py"))
    assert isinstance(found, PermitNeeded)
    assert found.data["proposal"] == {
        "tool": "file_operations.edits",
        "definition": "",
        "paths": ["**"],
        "command": [],
        "destination": "",
        "sources": None,
        "folder": ROOT,
    }
    assert found.data["proposalText"] == f"file_operations.edits at ** in {ROOT}"
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
        "For this task",
        "For 30 minutes",
        "In this conversation",
        "Always for this pattern",
        "Deny",
    ]


def typed(access: Access) -> Access:
    """The same at a shell that others typed at before."""
    assert access.command is not None
    return msgspec.structs.replace(access, command=msgspec.structs.replace(access.command, typed=True))


@pytest.mark.parametrize(
    "other",
    [
        "make test 2>&1 | tail -50",
        "make test 2>&1 | tail -5 ; rm x",
        " make test 2>&1 | tail -5",
        "make test",
        "make test 2>&1",
    ],
)
async def test_a_permission_for_a_line_is_for_that_very_line(other: str) -> None:
    line = "make test 2>&1 | tail -5"
    by = an_authorizer(a_grant(Pattern(tool="terminal_operations.run_command", command=(line,), sources=())))
    assert verdict(await decide(command_access(line), by=by, tool=TERMINAL))[:2] == ("allow", "grant")
    assert verdict(await decide(command_access(other), by=by, tool=TERMINAL))[0] == "ask"
    # It is none for the same line with the network.
    assert verdict(await decide(command_access(line, network=True), by=by, tool=TERMINAL))[0] == "ask"


@pytest.mark.parametrize(
    ("tool", "access", "pattern"),
    [
        (
            FILES,
            file_access("/etc/hosts"),
            Pattern(tool="file_operations.create_file", paths=("/etc/hosts",), folder=ROOT),
        ),
        (FILES, file_access(f"{ROOT}/a"), Pattern(tool="file_operations.edits", paths=("**",), folder=ROOT)),
        (
            FILES,
            file_access(f"{ROOT}/a", f"{ROOT}/b", operation="rename_file"),
            Pattern(tool="file_operations.edits", paths=("**",), folder=ROOT),
        ),
        (
            TERMINAL,
            command_access("make test"),
            Pattern(tool="terminal_operations.run_command", command=("make", "test"), sources=(), folder=ROOT),
        ),
        (
            TERMINAL,
            command_access("make test 2>&1 | tail -5"),
            Pattern(
                tool="terminal_operations.run_command",
                command=("make test 2>&1 | tail -5",),
                sources=(),
                folder=ROOT,
            ),
        ),
        # Longer than one line, or than anyone reads; and typed where others typed before.
        (TERMINAL, command_access("make\nrm x"), None),
        (TERMINAL, command_access(f"make {'x' * limits.COMMAND_CERTAIN_CHARS} | tail"), None),
        (TERMINAL, typed(command_access("make | tail -5")), None),
        (TERMINAL, command_access("echo '*'"), None),
        (SERVER, server_access(), Pattern(tool="files.read", definition="files__read", sources=())),
        (
            FILES,
            file_access(f"{ROOT}/sr*c/a", f"{ROOT}/b/x", "/etc/hosts"),
            Pattern(tool="file_operations.create_file", paths=("**", "/etc/hosts"), folder=ROOT),
        ),
        (FILES, file_access("/srv/o*her/a"), None),
        (FILES, file_access(*(f"/srv/other/{name}" for name in "abcdef")), None),
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

    first = await group(file_access(f"{ROOT}/src/a.py"))
    assert first == await group(file_access(f"{ROOT}/lib/b.py"))
    assert first == await group(file_access(f"{ROOT}/src/a.py", operation="replace_string"))
    others = [
        await group(file_access(f"{ROOT}/src/a.py", operation="delete_file")),
        await group(file_access("/etc/hosts")),
        await group(command_access("make"), TERMINAL),
    ]
    assert first
    assert first not in others
    assert await group(command_access("sudo make"), TERMINAL) == ""
    assert await group(file_access(f"{ROOT}/.git/hooks/x")) == ""
