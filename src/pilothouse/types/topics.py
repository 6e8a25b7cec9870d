"""A topic: a named place that conversations share for memories, documents and todos."""

from __future__ import annotations

from typing import Protocol

from pilothouse.types import limits
from pilothouse.types.branches import place_of
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import Body, Frozen
from pilothouse.types.paging import Page


class Topic(Frozen, frozen=True):
    """A topic, and how much is in it."""

    id: str
    owner: str
    name: str
    description: str = ""
    created_at: float = 0.0
    updated_at: float = 0.0
    # Nothing for one that is there; a deleted one can be brought back for a while.
    deleted_at: float | None = None
    conversations: int = 0
    memories: int = 0
    documents: int = 0
    todos: int = 0


class TopicInput(Body, frozen=True):
    """A new topic."""

    name: str
    description: str = ""


class TopicPatch(Body, frozen=True):
    """Changes a topic; an absent field stays."""

    name: str | None = None
    description: str | None = None


class TopicList(Frozen, frozen=True):
    """Topics in the order of their names; `next` is the cursor for the rest."""

    topics: tuple[Topic, ...]
    next: str | None = None


class TopicRecords(Protocol):
    """Topics in the database. Whose they are is checked by each."""

    async def add_topic(self, owner: str, name: str, description: str) -> Topic:
        """Keep a new topic; raise `conflict` where there is one of that name."""

    async def topic(self, owner: str, topic_id: str, *, deleted: bool = False) -> Topic:
        """Return one topic."""

    async def topics(self, owner: str, page: Page) -> TopicList:
        """Return topics in the order of their names."""

    async def change_topic(self, owner: str, topic_id: str, name: str | None, description: str | None) -> Topic:
        """Rename or describe a topic."""

    async def delete_topic(self, owner: str, topic_id: str) -> Topic:
        """Take its conversations out of a topic and hide what is in it, all or nothing."""

    async def restore_topic(self, owner: str, topic_id: str) -> Topic:
        """Bring a deleted topic back, with the conversations that are in no other topic by now."""


class SettingsNow(Protocol):
    """What conversations are set to, as of now."""

    async def of(self, conversation_id: str) -> ConversationSettings:
        """Return a conversation's settings; those of one that is gone are the default ones."""

    def forget(self, conversation_id: str | None = None) -> None:
        """Look again: another process wrote to a conversation, or perhaps to any."""


def place_of_todos(conversation_id: str, settings: ConversationSettings, branch: int = 0) -> str:
    """Return what a conversation's todos are kept by: its topic, which others may share, else the branch."""
    return settings.topic_id or place_of(conversation_id, branch)


def check_description(given: str) -> str:
    """Return a description without spaces around it; raise one sentence for one that is too long."""
    if len(given) > limits.TOPIC_DESCRIPTION_CHARS:
        most = f"{limits.TOPIC_DESCRIPTION_CHARS:,}"
        raise PilothouseError("bad_request", f"The description of a topic has at most {most} characters.")
    return given.strip()
