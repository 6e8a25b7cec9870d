"""Writes docs/guide/command-line.md: every command and option, in the words of its own help."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

TARGET = Path(__file__).resolve().parent.parent / "docs" / "guide" / "command-line.md"
INTRO = """# The command line

Made by `scripts/help` from the commands themselves; a test fails when it is out of date.
"""


def sentence(text: str | None) -> str:
    """Return a help text on one line, fit for a table."""
    return " ".join((text or "").split()).replace("|", "\\|")


def parameter_line(parameter: Any) -> str:
    """Return the table line of an option or argument."""
    if parameter.param_type_name == "argument":
        name = f"`{parameter.metavar or parameter.name.upper()}`"
    else:
        name = ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])
    return f"| {name} | {sentence(parameter.help)} |\n"


def document(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    """Yield the section of a command and of those under it."""
    usage = " ".join(path)
    yield f"\n## `{usage}`\n\n{sentence(command.help)}\n"
    shown = [parameter for parameter in command.params if not parameter.hidden and parameter.name != "help"]
    if shown:
        yield "\n| option | meaning |\n| --- | --- |\n"
        yield from map(parameter_line, shown)
    for name in sorted(command.list_commands(None)) if hasattr(command, "commands") else ():
        inner = command.get_command(None, name)
        if not inner.hidden:
            yield from document(inner, (*path, name))


def render(app: typer.Typer) -> str:
    """Return the whole document."""
    return INTRO + "".join(document(get_command(app), ("pilothouse",)))


def main() -> int:
    """Write the document."""
    app = importlib.import_module("pilothouse.cli.app").app
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(render(app), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
