"""Registries of MCP servers: which there are, and what a search finds in them."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Body, Frozen

RegistryKind = Literal["official", "smithery"]
FoundStatus = Literal["active", "deprecated", "deleted"]


class RegistryView(Frozen, frozen=True):
    """A registry as a person sees it."""

    # "official", "smithery", or of one that the person added.
    id: str
    name: str
    # Which of the two ways of answering it has.
    kind: RegistryKind
    url: str
    # Whether the person added it.
    own: bool = False
    # How many servers of it are in the local copy, and when that was last brought up to date.
    servers: int = 0
    copied_at: float | None = None
    has_key: bool = False
    # Why it did not answer the last time, in one sentence.
    problem: str = ""


class RegistryList(Frozen, frozen=True):
    """All registries, the official one first."""

    registries: tuple[RegistryView, ...]


class RegistryInput(Body, frozen=True):
    """A registry of one's own, with the API of the official one."""

    url: str
    # Empty takes the name of its host.
    name: str = ""


class RegistryKey(Body, frozen=True):
    """A key for a registry that wants one; null takes it away."""

    value: str | None


class ListedServer(Frozen, frozen=True, kw_only=True):
    """A server as a registry lists it; all texts may be shown."""

    # With the namespace: "io.github.owner/server", "@owner/server".
    name: str
    title: str
    description: str
    version: str = ""
    verified: bool = False
    uses: int | None = None
    updated_at: str = ""
    status: FoundStatus = "active"
    # What its registry says about its status.
    status_note: str = ""
    licence: str = ""
    # What would run or be reached, in a line each; empty where only the details say it.
    runs: tuple[str, ...] = ()


class FoundServer(ListedServer, frozen=True, kw_only=True):
    """A server that a search found; one that several registries have is one, and named as in the first of them."""

    # Where it was found, the one that its proposals are made from first.
    registries: tuple[str, ...]
    # "It looks like io.github.github/github-mcp-server, and is another one."
    warnings: tuple[str, ...] = ()


class FoundServers(Frozen, frozen=True):
    """The best hits, and what is to be said about the search."""

    servers: tuple[FoundServer, ...]
    # How many there are in all.
    total: int = 0
    # A sentence for each registry that did not answer, wants a key, or is answered for by an old copy.
    notes: tuple[str, ...] = ()
    # Of the registries that want a key before they answer.
    key_wanted: tuple[str, ...] = ()
