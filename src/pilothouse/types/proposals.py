"""Servers that could be added: recognised in what a person typed, pasted, dropped or found. Nothing of them is kept."""

from __future__ import annotations

import msgspec

from pilothouse.types.json import Body, Frozen, JsonObject
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.servers import AuthType, PackageType, ServerInput, Source


class ProposalField(Frozen, frozen=True):
    """Something that only the person knows: a key, an argument, a part of an address."""

    # Of a secret the id of the key ("env:NAME", "header:NAME", "slot:NAME"); of anything else a name of its own.
    id: str
    label: str
    # A JSON Schema of the value, as tools describe theirs: a text, a choice, a number, a switch, a list of folders.
    schema: JsonObject
    secret: bool = False
    required: bool = False
    # What the one who describes it says about it.
    about: str = ""
    # Where to get it.
    link: str = ""


class Proposal(Frozen, frozen=True):
    """A server that could be added, and what is still to be filled in."""

    name: str
    kind: PackageType
    # What would run or be reached, in one line: "npm @scope/server 1.2.3", "https://example.com/mcp".
    runs: str
    # With "${field:ID}" wherever something is filled in; null when it cannot be added here, as `problem` says.
    server: ServerInput | None
    source: Source
    fields: tuple[ProposalField, ...] = ()
    auth_type: AuthType = "none"
    description: str = ""
    # What a careful reader would notice, a sentence each.
    warnings: tuple[str, ...] = ()
    # What was left out or taken over in another way, a sentence each.
    notes: tuple[str, ...] = ()
    problem: str = ""


class Recognised(Frozen, frozen=True):
    """What something is, in one sentence, and the servers in it."""

    what: str
    proposals: tuple[Proposal, ...] = ()
    # To search for; empty where something else than words was recognised.
    words: str = ""


class AnyText(Body, frozen=True):
    """Whatever was typed or pasted into the box."""

    text: str


class FilledProposal(Body, frozen=True):
    """A proposal with what the person filled in."""

    proposal: Proposal
    # By the ids of the fields that are no secrets; what is left out has its default.
    values: JsonObject = msgspec.field(default_factory=dict)
    # By the ids of the fields that are secrets.
    keys: dict[str, KeyInput] = msgspec.field(default_factory=dict)
