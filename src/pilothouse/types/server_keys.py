"""Keys of MCP servers: what a server needs and an entry does not show. A person knows each by its label.

A key goes into a variable of a local server, into a header of a remote one, or into a slot of a text; its `id` says
which ("env:NAME", "header:NAME", "slot:NAME"), and nobody has to type that.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types.json import Body, Frozen

KeySource = Literal["missing", "pasted", "file", "environment"]


class KeyPlace(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Where a key is read from at each start: a file, or a variable of Pilothouse's own environment."""

    file: str = ""
    environment: str = ""
    # The address that it was given for; one that was written by hand into the file has none, and counts everywhere.
    origin: str = ""


class ServerKey(Frozen, frozen=True):
    """A key as a person sees it; never its value."""

    id: str
    # "GitHub token".
    label: str
    source: KeySource
    # Of the file, as it was typed.
    path: str = ""
    # Of Pilothouse's own environment.
    variable: str = ""
    # The server's own words about it, masked; empty when it said nothing.
    about: str = ""


class KeyInput(Body, frozen=True):
    """A key as a form gives it: exactly one of these."""

    # Pasted, kept as a secret.
    value: str | None = None
    # The path of a file that holds the key and nothing else; only the path is kept.
    file: str | None = None
    # The name of a variable of Pilothouse's own environment.
    environment: str | None = None
