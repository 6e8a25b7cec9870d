"""Who sees a memory or a document: one conversation, the conversations of a topic or a folder, or all of a person."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.conversations import Conversation
from pilothouse.types.json import Frozen

ScopeKind = Literal["conversation", "topic", "folder", "everywhere"]


class Scope(Frozen, frozen=True):
    """Where something is seen: the id of a conversation or a topic, the path of a folder, or nothing for everywhere."""

    kind: ScopeKind = "everywhere"
    id: str = ""


EVERYWHERE = Scope()


def scopes_seen(conversation: Conversation) -> tuple[Scope, ...]:
    """Return every scope that a conversation sees, the narrowest first."""
    settings = conversation.settings
    seen = [Scope(kind="conversation", id=conversation.id)]
    if settings.topic_id:
        seen.append(Scope(kind="topic", id=settings.topic_id))
    if settings.working_directory:
        seen.append(Scope(kind="folder", id=settings.working_directory))
    return (*seen, EVERYWHERE)


def usual_scope(conversation: Conversation) -> Scope:
    """Return where something of a conversation is kept unless another place is named: its topic, else it alone."""
    if conversation.settings.topic_id:
        return Scope(kind="topic", id=conversation.settings.topic_id)
    return Scope(kind="conversation", id=conversation.id)
