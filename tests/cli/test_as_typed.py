"""A place of the page that an error names is a command in a terminal."""

from __future__ import annotations

import pytest

from pilothouse.cli.command import as_typed


@pytest.mark.parametrize(
    ("said", "typed"),
    [
        ("Check the key in Settings, Models.", "Check the key with `pilothouse models`."),
        ("Add one in Settings, Models, or with: pilothouse models add", "Add one with: pilothouse models add"),
        (
            "Look at its command in Settings, MCP, and allow it.",
            "Look at its command with `pilothouse mcp`, and allow it.",
        ),
        ("Nothing of the kind.", "Nothing of the kind."),
    ],
)
def test_a_place_of_the_page_is_the_command_that_does_the_same(said: str, typed: str) -> None:
    assert as_typed(said) == typed
