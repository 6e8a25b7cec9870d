"""The tables of documents that are made: providers, built-in tools, what many need; `scripts/tables` writes them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from pilothouse.models.provider_table import rows
from pilothouse.types.tool_names import READ_RESULT, RECALL, TOOLS, BuiltInTool

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts import scaling

GUIDE = Path(__file__).resolve().parents[1] / "docs/guide"
BEGIN, END = "<!-- the table, made by scripts/tables -->\n", "<!-- end of the table -->\n"


def providers() -> Iterator[str]:
    """Yield the lines about providers."""
    yield "| provider | name for `--provider` | address | key from | variable |\n|---|---|---|---|---|\n"
    for row in rows().values():
        if row.base_url:
            # As people read it, without what every address begins with.
            keys = f"[{row.keys_at.split('/')[2]}]({row.keys_at})" if row.keys_at else ""
            variables = ", ".join(f"`{name}`" for name in (*row.variables, *row.guarded[: 0 if row.variables else 1]))
            yield f"| {row.name} | `{row.id}` | `{row.base_url}` | {keys} | {variables} |\n"


def tools() -> Iterator[str]:
    """Yield the lines about built-in tools."""
    yield "| tool | on the page | for | offered |\n|---|---|---|---|\n"
    for tool in TOOLS:
        if tool.label:
            yield f"| `{tool.name}` | {tool.label} | {tool.note} | {_when(tool)} |\n"


def _when(tool: BuiltInTool) -> str:
    if tool.needs_folder:
        return "with a working directory"
    if tool.for_finding:
        return "with many tools of servers"
    if tool.needs_service:
        return "with a service that you set up"
    if tool.name == READ_RESULT:
        return "with tools whose results can be large"
    if tool.name == RECALL:
        return "once older messages were summed up"
    return "always" if tool.for_small_models else "always, but for small models"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "providers.md": providers,
    "tools.md": tools,
    "../scaling.md": scaling.lines,
}


def renewed(name: str) -> str:
    """Return a page of the guide with its table as it is now."""
    before, rest = (GUIDE / name).read_text(encoding="utf-8").split(BEGIN)
    return before + BEGIN + "".join(TABLES[name]()) + END + rest.split(END)[1]


def main() -> int:
    """Write them."""
    for name in TABLES:
        (GUIDE / name).write_text(renewed(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
