"""Conversations as files: out of one installation, and into another."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal, Protocol

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


class Importing(Protocol):
    """Conversations out of a file."""

    async def import_conversations(self, owner: str, chunks: AsyncIterator[bytes]) -> Imported:
        """Take the conversations of an export over, all or none; nothing in them is carried out."""
        ...


class Exporting(Protocol):
    """Conversations into a file."""

    async def export_conversation(self, owner: str, conversation_id: str, form: ExportFormat) -> Download:
        """Return a conversation as a file."""
        ...
