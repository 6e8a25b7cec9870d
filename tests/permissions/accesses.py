"""Calls, rules and accesses as tests make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pilothouse.permissions.matching import Subject, covers_all
from pilothouse.types.access import Access, CommandUse, PathUse
from pilothouse.types.authority import Pattern, Rule, Verdict

TERMINAL = "terminal_operations.run_command"
FOLDER = "/srv/project"


def an_access(
    operation: str = "file_operations.create_file",
    *,
    paths: Sequence[str] = (),
    effect: Literal["reads", "writes"] = "writes",
    command: str | None = None,
    destination: str = "",
    network: bool = False,
) -> Access:
    return Access(
        operation=operation,
        effects=frozenset({"runs" if command is not None else effect}),
        paths=tuple(PathUse(path=path, effect=effect, inside=path.startswith(FOLDER)) for path in paths),
        command=None if command is None else CommandUse(text=command, folder=FOLDER, network=network),
        destination=destination,
    )


def a_subject(access: Access, definition: str = "", folder: str = FOLDER) -> Subject:
    return Subject(access, definition, folder)


def a_command(text: str, *, network: bool = False) -> Subject:
    return a_subject(an_access(TERMINAL, command=text, network=network))


def grants(pattern: Sequence[str], command: str) -> bool:
    """Return whether a permission for these words is one for the command."""
    return covers_all(Pattern(command=tuple(pattern)), a_command(command))


def a_rule(rule_id: str, verdict: Verdict, **pattern: object) -> Rule:
    return Rule(id=rule_id, verdict=verdict, pattern=Pattern(**pattern))  # type: ignore[arg-type]
