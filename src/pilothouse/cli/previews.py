"""What a call would run or change, in a terminal, before the person decides."""

from __future__ import annotations

import shlex

from pilothouse.cli.terminal import Terminal, exact
from pilothouse.types import limits
from pilothouse.types.access import CommandUse
from pilothouse.types.json import JsonObject

_SANDBOXES = {"bubblewrap": "in a sandbox (bubblewrap)", "landlock": "in a sandbox (Landlock)"}


def sandbox_words(kind: str) -> str:
    """Return where commands run, in the words of the page."""
    return _SANDBOXES.get(kind, "without a sandbox")


def show_command(command: CommandUse | None, aside: Terminal) -> None:
    """Print the command that a call runs, exactly."""
    if command is None:
        return
    for line in (command.text or shlex.join(command.argv)).split("\n"):
        aside.line(f"  $ {exact(line)}")
    aside.line(f"  {sandbox_words(command.sandbox)}{', with the network' if command.network else ''}", "dim")


def show_preview(preview: JsonObject, aside: Terminal) -> None:
    """Print what a call would change, file by file, as far as a screen has room for it."""
    left = limits.PREVIEW_LINES
    task = preview.get("task")
    if isinstance(task, dict) and task.get("means"):
        aside.line(f"  which means: {exact(str(task['means']))}", "dim")
    commit = preview.get("commit")
    for kind in ("hooks", "filters"):
        if isinstance(commit, dict) and commit.get(kind):
            aside.line(f"  runs the {kind} {exact(', '.join(map(str, commit[kind])))}", "yellow")
    changes = preview.get("changes")
    for change in changes if isinstance(changes, list) else ():
        aside.line(f"  {exact(str(change['path']))} ({change['kind']}, +{change['added']} −{change['removed']})")
        lines = str(change.get("diff") or "").splitlines()
        for line in lines[: max(0, left)]:
            aside.line(f"    {exact(line)}", "green" if line[:1] == "+" else "red" if line[:1] == "-" else "dim")
        left -= len(lines)
    more = int(preview.get("moreChanges") or 0)
    if more:
        aside.line(f"  … and {more} more files")
    if left < 0:
        aside.line(f"  … {-left} more lines; the page has all of them", "dim")
