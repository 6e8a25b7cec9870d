"""Tables: in a terminal no line is longer than the window, and nothing one would copy is cut."""

from __future__ import annotations

import io

import pytest

from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import Terminal

HEAD = ("permission", "conversation", "for", "about")
ROW = ("g_01a1df72225d0790c917174fc9", "c_01a1df71aac0b4b8335c0fa0d6", "59m", "any tool at docs/** in " + "x" * 90)


class _Window(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    show_table(Terminal(stream), HEAD, [ROW, (*ROW[:3], "short")])
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_no_line_is_longer_than_the_window_and_ids_are_whole(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(_Window(), columns, monkeypatch)
    assert max(map(len, lines)) <= columns
    assert sum(ROW[0] in line and ROW[1] in line for line in lines) == 2


def test_a_last_column_without_room_has_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(_Window(), 80, monkeypatch)
    assert len(lines) == 5
    assert lines[2].startswith("  any tool at docs/** in x")
    assert lines[4] == "  short"


def test_what_is_piped_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = shown(io.StringIO(), 80, monkeypatch)
    assert len(lines) == 3
    assert lines[1].endswith(ROW[3])
