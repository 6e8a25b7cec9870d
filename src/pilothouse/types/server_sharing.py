"""Servers of other programs on this machine, servers on hosts that a person names, and ours for other programs."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Body, Frozen
from pilothouse.types.servers import Wire

OtherProgram = Literal[
    "claude-desktop",
    "claude-code",
    "vscode",
    "cursor",
    "windsurf",
    "zed",
    "goose",
    "codex",
    "gemini-cli",
    "lm-studio",
    "cherry-studio",
]


class OtherFile(Frozen, frozen=True):
    """A file in which another program on this machine keeps its MCP servers."""

    program: str
    path: str
    # The names of its servers.
    servers: tuple[str, ...] = ()
    # Why it cannot be read, in one sentence.
    problem: str = ""


class OtherFiles(Frozen, frozen=True):
    """What other programs on this machine have configured."""

    files: tuple[OtherFile, ...]


class Snippet(Frozen, frozen=True):
    """A server as another program takes it, without secrets."""

    program: str
    text: str
    language: Literal["json", "toml", "yaml", "shell"]
    # Where that program keeps it.
    path: str = ""
    # What the other program cannot do, or asks for: a sentence each.
    notes: tuple[str, ...] = ()


class HostsToLookAt(Body, frozen=True):
    """Hosts that a person named: "nas", "192.0.2.7", "box.tail1234.ts.net:9000"."""

    hosts: tuple[str, ...] = ()
    # Whether servers that announce themselves in the local network are listed too.
    announced: bool = False


class NearbyServer(Frozen, frozen=True):
    """A server that answered; nothing was added or started."""

    url: str
    name: str
    wire: Wire
    version: str = ""
    # None where it wants a sign-in or a key before it says so.
    tools: int | None = None
    needs_sign_in: bool = False
    # The name of the server in our list that has this address.
    known_as: str = ""


class NearbyServers(Frozen, frozen=True):
    """What the hosts have."""

    servers: tuple[NearbyServer, ...]
    # A sentence for each host that does not answer or is none.
    notes: tuple[str, ...] = ()
