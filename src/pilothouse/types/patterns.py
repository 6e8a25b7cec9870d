"""Patterns of rules and permissions in words."""

from __future__ import annotations

import shlex

from pilothouse.types.authority import Pattern, source_name


def in_words(pattern: Pattern) -> str:
    """Return a pattern as people read it: `file_operations.create_file at src/**`."""
    said = ["any tool" if pattern.tool == "*" else pattern.tool]
    if pattern.command:
        said.append("runs " + " ".join(word if word == "*" else shlex.quote(word) for word in pattern.command))
    if pattern.paths:
        said.append("at " + ", ".join(pattern.paths))
    if pattern.destination:
        said.append(f"to {pattern.destination}")
    if pattern.sources:
        said.append("with data from " + ", ".join(map(source_name, pattern.sources)))
    if pattern.folder:
        said.append(f"in {pattern.folder}")
    if not pattern.definition:
        return " ".join(said)
    return f"{' '.join(said)} ({'this very server' if pattern.definition.endswith(':') else 'exactly this definition'})"
