"""Git repositories made with the real git, and the tool that works on them."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path

from pilothouse.helper.client import Helper
from pilothouse.permissions.protected import Protected
from pilothouse.tools.build_and_version_control import build_and_version_control
from pilothouse.tools.files.workspace import Workspace
from pilothouse.types.terminals import SandboxKind
from tests.support.terminals import TerminalCalls, open_terminal_tool

_ENVIRONMENT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}


def git(folder: Path, *arguments: str) -> str:
    """Run git as the person who owns the repository."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=_ENVIRONMENT, capture_output=True, check=True, timeout=20, text=True
    )
    return done.stdout.strip()


def make_repository(
    folder: Path, contents: Mapping[str, str] | None = None, *, message: str = "First", **files: str
) -> Path:
    """Make a repository with one commit of these contents by path, or of these files; a name `a__b` means `a.b`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    with (folder / ".git" / "config").open("a", encoding="utf-8") as settings:
        settings.write("[user]\n\tname = Someone\n\temail = someone@example.test\n")
    named = {name.replace("__", "."): text for name, text in (files or {"readme__md": "Hello\n"}).items()}
    for name, text in (contents or named).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", message)
    return folder


@asynccontextmanager
async def open_git_tool(
    home: Path, folder: Path, kind: SandboxKind | None = None, helper: Helper | None = None
) -> AsyncIterator[TerminalCalls]:
    """Open `build_and_version_control` on a folder, held by what is strongest here; a helper may be given."""
    async with open_terminal_tool(home, folder, kind) as hands:
        with contextlib.nullcontext(helper) if helper is not None else closing(Helper()) as reading:
            hands.tool = build_and_version_control(hands.terminals, Workspace(Protected(home), hands.store), reading)
            yield hands
