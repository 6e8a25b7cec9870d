"""One task of a project."""

from __future__ import annotations

import shlex

import msgspec


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A command that the project, or the agent for this conversation, gave a name."""

    # Where it is described: "vscode", "just", "make", "npm", "poe", … or "conversation".
    source: str
    label: str
    # What a shell reads, or the words when there is no shell.
    text: str = ""
    argv: tuple[str, ...] = ()
    # What it does, where the command is only a name for that.
    means: str = ""
    # A digest of the file that says what it does, where the command does not.
    digest: str = ""
    # Whether it is left running.
    background: bool = False
    # Why it cannot be run here; else empty.
    problem: str = ""

    @property
    def said(self) -> str:
        """Return the command on one line."""
        return self.text or shlex.join(self.argv)
