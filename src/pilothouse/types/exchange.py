"""Conversations as files: out of one installation, and into another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

import msgspec

from pilothouse.types.json import Frozen

# Everything, for another Pilothouse; or what was said, for people.
ExportFormat = Literal["json", "markdown"]


class Download(msgspec.Struct, frozen=True):
    """A file that is sent as it comes, under a name."""

    name: str
    chunks: AsyncIterator[bytes]


class ImportedConversation(Frozen, frozen=True):
    """A conversation that came out of a file."""

    id: str
    title: str
    # Whether it was here already, with everything that the file says.
    already: bool


class Imported(Frozen, frozen=True):
    """What an import brought."""

    conversations: tuple[ImportedConversation, ...]
