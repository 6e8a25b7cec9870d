"""What one call would touch, said before it is carried out: what a decision about it is made from."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types.json import Frozen, JsonObject

# What a tool may touch; a tool that touches nothing is harmless and needs no one's word.
Effect = Literal["reads", "writes", "runs", "sends"]
# What a result may bring into the conversation: data of the person, text that strangers wrote.
Taint = Literal["private", "untrusted"]


class PathUse(Frozen, frozen=True):
    """One file or folder that a call would touch."""

    # Absolute, with every link resolved as it was when the call was looked at.
    path: str
    effect: Literal["reads", "writes"]
    # Whether it is the working directory or lies in it, component by component.
    inside: bool
    # Why it needs a word of its own whatever a rule says (our settings, start files of shells, …); else empty.
    protected: str = ""
    # Whether it is a folder that goes, or comes, with everything that is in it.
    whole: bool = False
    # Whether it lies outside but is part of what the working directory is, as a repository is of its second working
    # tree: refused and guarded like any other, and on record, but no reason to ask by itself.
    belongs: bool = False


class CommandUse(Frozen, frozen=True):
    """A command that a call would run, exactly as the shell or the system gets it."""

    # What a shell reads; empty when there is no shell.
    text: str
    # The words, when it is started without a shell.
    argv: tuple[str, ...] = ()
    folder: str = ""
    # How it is held: "bubblewrap", "landlock", or empty when nothing holds it.
    sandbox: str = ""
    network: bool = False
    # Whether its sandbox keeps it off the network, and what it changes can be undone.
    covered: bool = False
    # Why it cannot, although a sandbox keeps it; for people.
    uncovered: str = ""
    # Typed at a shell that others typed at before: what its words mean there, nobody can promise.
    typed: bool = False


class Access(Frozen, frozen=True):
    """What one call would touch, as exactly as can be said beforehand."""

    # The name that people and rules use for it: `file_operations.create_file`, `github.read_file`.
    operation: str
    effects: frozenset[Effect] = frozenset()
    paths: tuple[PathUse, ...] = ()
    command: CommandUse | None = None
    # Where data would go: a host, a server's name, "anywhere"; empty when nothing leaves this machine.
    destination: str = ""
    # The server that takes it there, where the destination is the host that the server is at.
    through: str = ""
    # How many bytes of the person's would go there.
    payload_bytes: int = 0
    # What its result brings along, and from where: "files", "terminal", "server:github".
    brings: frozenset[Taint] = frozenset()
    source: str = ""
    # Calls of one conversation with the same lane are carried out one after the other; empty: side by side.
    lane: str = ""
    # What the person should see before they decide: a diff, what a commit contains.
    preview: JsonObject = msgspec.field(default_factory=dict)
    # The device and inode of the working directory when it was looked at; another one in its place is refused.
    folder_identity: tuple[int, int] | None = None
    # A digest of what is to be kept for good, where that must be exactly what was shown: another content is asked
    # about again.
    content: str = ""
    # Never covered by a lasting permission and never grouped with others.
    dangerous: str = ""
    # Whether it moves or deletes files, or a server says of its own tool that it destroys: such a word makes one more
    # careful, never less.
    destructive: bool = False
    # Whether it may cost the person money, each time.
    costs: bool = False


class Shown(Frozen, frozen=True):
    """A call in words and with a picture, for people."""

    # The operation as one word, and as people say it: "create_file", "Creating file".
    action: str
    action_display_name: str
    # One line: "Creating file: notes.md".
    summary: str
    details: tuple[str, ...] = ()
    # The name of an icon that the page knows: "file", "pencil", "terminal", "clipboard", "git", "brain", "question", …
    icon: str = "tool"

    @classmethod
    def by_name(cls, name: str) -> Shown:
        """Return a call of which nothing but its tool's name can be shown."""
        return cls(action=name, action_display_name=name, summary=name)
