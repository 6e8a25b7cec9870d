"""What a question says about how it could have been spared is true."""

from __future__ import annotations

import pytest

from pilothouse.types.access import Access
from pilothouse.types.authority import Mode, Pattern, Seen
from pilothouse.types.ports import PermitNeeded
from tests.support.authorizers import (
    FILES,
    FILES_READ,
    ROOT,
    SERVER,
    TERMINAL,
    HeldRules,
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


@pytest.mark.parametrize(
    ("tool", "access", "seen", "allow", "modes"),
    [
        (FILES, file_access(f"{ROOT}/a"), Seen(), ["file_operations.create_file"], ["sandboxed", "auto_edit"]),
        (FILES, file_access("/srv/other/a"), Seen(), ["file_operations.create_file:/srv/other/a"], []),
        (
            FILES,
            file_access(f"{ROOT}/a", "/srv/other/b"),
            Seen(),
            ["file_operations.create_file:**", "file_operations.create_file:/srv/other/b"],
            [],
        ),
        (TERMINAL, command_access("make"), Seen(), ["terminal_operations.run_command"], []),
        (TERMINAL, covered(command_access("make")), Seen(), ["terminal_operations.run_command"], ["sandboxed"]),
        (TERMINAL, command_access("make", network=True), Seen(), ["terminal_operations.run_command", "net:*"], []),
        (SERVER, server_access(), Seen(), ["files.read"], ["sandboxed"]),
        (SERVER, server_access("api.example.com"), FILES_READ, ["net:api.example.com"], []),
        (SERVER, server_access("My files"), FILES_READ, ["files.read"], []),
        # What always asks is spared by nothing that is said beforehand; what the sandbox holds, by its mode.
        (FILES, file_access(f"{ROOT}/.git/hooks/pre-commit"), Seen(), [], []),
        (TERMINAL, command_access("rm -rf build"), Seen(), [], []),
        (TERMINAL, covered(command_access("rm -rf build")), Seen(), [], ["sandboxed"]),
    ],
)
async def test_the_cure_that_a_question_names_spares_it(
    tool: ToolOf, access: Access, seen: Seen, allow: list[str], modes: list[Mode]
) -> None:
    found = await decide(access, tool=tool, seen=seen)
    assert isinstance(found, PermitNeeded)
    assert found.data["cure"] == {"allow": allow, "modes": modes}
    if allow:
        assert verdict(await decide(access, tool=tool, seen=seen, allow=tuple(allow)))[:2] == ("allow", "run")
    for mode in modes:
        assert verdict(await decide(access, mode, tool=tool, seen=seen))[:2] == ("allow", "mode")


@pytest.mark.parametrize(
    ("allow", "path", "found"),
    [
        ("file_operations.create_file", "/srv/other/a", "ask"),
        ("file_operations.*", "/srv/other/a", "ask"),
        ("file_operations", "/srv/other/a", "ask"),
        ("file_operations.create_file:/srv/other/a", "/srv/other/b", "ask"),
        ("file_operations.create_file:/srv/other/a", "/srv/other/a/b", "ask"),
        ("file_operations.create_file:/srv/other/**", "/srv/others/b", "ask"),
        ("file_operations.delete_file:/srv/other/**", "/srv/other/a", "ask"),
        ("file_operations.create_file:/**", "/srv/other/.git/hooks/pre-commit", "ask"),
        ("file_operations.create_file:src/**", f"{ROOT}/docs/a", "ask"),
        ("file_operations.create_file:/srv/other/**", "/srv/other/deep/a", "allow"),
        ("file_operations.edits:/srv/other/**", "/srv/other/deep/a", "allow"),
        ("file_operations.*:/srv/other/*", "/srv/other/a", "allow"),
        ("file_operations.create_file:src/**", f"{ROOT}/src/a", "allow"),
        ("file_operations.create_file", f"{ROOT}/a", "allow"),
        ("file_operations.edits", f"{ROOT}/a", "allow"),
    ],
)
async def test_what_is_allowed_with_a_message_is_for_the_folder_or_for_the_paths_it_names(
    allow: str, path: str, found: str
) -> None:
    assert verdict(await decide(file_access(path), allow=(allow,)))[0] == found


async def test_a_rule_of_the_persons_own_that_asks_has_no_cure() -> None:
    by = an_authorizer(rules=HeldRules(a_rule("ask", Pattern(tool="file_operations.*"))))
    found = await decide(file_access(f"{ROOT}/a"), by=by)
    assert isinstance(found, PermitNeeded)
    assert found.data["cure"] == {"allow": [], "modes": []}
