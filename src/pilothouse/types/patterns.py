"""Patterns of rules and permissions in words."""

from __future__ import annotations

import shlex

from pilothouse.types.authority import Pattern


def in_words(pattern: Pattern) -> str:
    """Return a pattern as people read it: `file_operations.create_file at src/**`."""
    said = ["any tool" if pattern.tool == "*" else pattern.tool]
    if pattern.command:
        said.append("runs " + " ".join(word if word == "*" else shlex.quote(word) for word in pattern.command))
    if pattern.paths:
        said.append("at " + ", ".join(pattern.paths))
    if pattern.destination:
        said.append(f"to {pattern.destination}")
    if pattern.folder:
        said.append(f"in {pattern.folder}")
    return " ".join(said) + (" (exactly this definition)" if pattern.definition else "")
