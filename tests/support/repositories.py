"""Real repositories, made with the real git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

from pilothouse.helper.client import Helper
from pilothouse.permissions.protected import Protected
from pilothouse.tools.build_and_version_control import build_and_version_control
from pilothouse.tools.files.workspace import Workspace
from pilothouse.types.terminals import SandboxKind
from tests.support.terminals import AtTerminal, at_terminal

_ENVIRONMENT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}


def git(folder: Path, *arguments: str) -> str:
    """Run git as the person who owns the repository."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=_ENVIRONMENT, capture_output=True, check=True, timeout=20, text=True
    )
    return done.stdout.strip()


def make_repository(folder: Path, **files: str) -> Path:
    """Make a repository with one commit of these files; a name like `a__b` means `a.b`."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "user.name", "Someone")
    git(folder, "config", "user.email", "someone@example.test")
    for name, text in (files or {"readme__md": "Hello\n"}).items():
        (folder / name.replace("__", ".")).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "First")
    return folder


@asynccontextmanager
async def building(home: Path, folder: Path, kind: SandboxKind | None = None) -> AsyncIterator[AtTerminal]:
    """Open `build_and_version_control` on a folder, held by what is strongest here."""
    async with at_terminal(home, folder, kind) as hands:
        with closing(Helper()) as helper:
            hands.tool = build_and_version_control(hands.terminals, Workspace(Protected(home), hands.store), helper)
            yield hands
