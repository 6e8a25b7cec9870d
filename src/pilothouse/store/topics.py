"""Topics: kept, counted, deleted with what is in them, and brought back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from pilothouse.store import rows, todos
from pilothouse.store.statements import Connection, Statement
from pilothouse.store.writer import Transaction
from pilothouse.types import limits
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ConversationUpdated
from pilothouse.types.ids import new_id
from pilothouse.types.json import encode
from pilothouse.types.paging import Page, window
from pilothouse.types.topics import Topic, TopicList

_SELECT = "SELECT id, owner, name, description, created_at, updated_at, deleted_at FROM topics"
_ONE = Statement(f"{_SELECT} WHERE id = :id AND owner = :owner")
_OF_OWNER = Statement(f"{_SELECT} WHERE owner = :owner AND deleted_at IS NULL")
_ADD = Statement(
    "INSERT INTO topics (id, owner, name, description, created_at, updated_at) "
    "VALUES (:id, :owner, :name, :description, :at, :at)"
)
_CHANGE = Statement("UPDATE topics SET name = :name, description = :description, updated_at = :at WHERE id = :id")
_DELETE = Statement("UPDATE topics SET deleted_at = :at WHERE id = :id AND owner = :owner AND deleted_at IS NULL")
_RESTORE = Statement("UPDATE topics SET deleted_at = NULL, members = NULL, name = :name WHERE id = :id")
_MEMBERS = Statement("SELECT members FROM topics WHERE id = :id")
_KEEP_MEMBERS = Statement("UPDATE topics SET members = :members WHERE id = :id")
# Held by whoever joins, so that it is not deleted in between; SQLite's one writer holds everything.
_HOLD = Statement("SELECT 1 FROM topics WHERE id = :id FOR SHARE")
_SETTINGS = Statement("SELECT settings FROM conversations WHERE id = :id")
_SETTINGS_LIKE = Statement(
    "SELECT settings FROM conversations WHERE owner = :owner AND deleted_at IS NULL AND settings LIKE :like"
)
_IN_TOPIC = Statement(f"{rows.CONVERSATIONS} WHERE owner = :owner AND settings LIKE :like ORDER BY id")
_MEMORIES = Statement(
    "SELECT scope, count(*) FROM memories WHERE owner = :owner AND scope_kind = 'topic' AND forgotten_at IS NULL "
    "GROUP BY scope"
)
_DOCUMENTS = Statement(
    "SELECT scope, count(*) FROM documents WHERE owner = :owner AND scope_kind = 'topic' AND deleted_at IS NULL "
    "GROUP BY scope"
)
_GONE = Statement("SELECT id FROM topics WHERE deleted_at < :before")
# What goes with a topic that nobody can bring back any more, in this order.
_GOES = tuple(
    map(
        Statement,
        (
            "DELETE FROM passages WHERE document_id IN "
            "(SELECT id FROM documents WHERE scope_kind = 'topic' AND scope = :id)",
            "DELETE FROM documents WHERE scope_kind = 'topic' AND scope = :id",
            "DELETE FROM memories WHERE scope_kind = 'topic' AND scope = :id",
            "DELETE FROM vectors WHERE scope_kind = 'topic' AND scope = :id",
            "DELETE FROM todos WHERE conversation_id = :id",
            "DELETE FROM topics WHERE id = :id",
        ),
    )
)


class _Settings(msgspec.Struct, rename="camel"):
    """Of a conversation's settings what topics want to know."""

    topic_id: str | None = None


_settings_decoder = msgspec.json.Decoder(_Settings)
_members_decoder = msgspec.json.Decoder(list[str])


def settings(connection: Connection, conversation_id: str) -> ConversationSettings:
    """Return what a conversation is set to, whoever asks; of one that is gone the default."""
    kept = _SETTINGS.first(connection, {"id": conversation_id})
    return rows.settings_decoder.decode(kept) if kept is not None else ConversationSettings()


def topic(connection: Connection, owner: str, topic_id: str, *, deleted: bool = False) -> Topic:
    """Return a topic if it is this owner's, with how much is in it."""
    found = _found(connection, owner, topic_id, deleted=deleted)
    return next(_counted(connection, owner, [found]))


def topics(connection: Connection, owner: str, page: Page) -> TopicList:
    """Return a page of an owner's topics, by name."""
    found = _standing(connection, owner)
    first, last, more = window([each.id for each in found], page)
    return TopicList(topics=tuple(_counted(connection, owner, found[first:last])), next=more)


def like(topic_id: str) -> str:
    """Return what the settings of a topic's conversations look like; what else looks so is sorted out by reading it."""
    return f'%"topicId":"{topic_id}"%'


def add(tx: Transaction, owner: str, name: str, description: str) -> Topic:
    """Insert a topic; its name is nobody else's among the owner's."""
    standing = _standing(tx.connection, owner)
    if len(standing) >= limits.TOPICS:
        message = f"There are {limits.TOPICS} topics already, and there cannot be more."
        raise PilothouseError("too_many", message, fix="Delete one that you do not need.")
    _refuse_taken(standing, name)
    values = {"id": new_id("t"), "owner": owner, "name": name, "description": description, "at": tx.now}
    _ADD.run(tx.connection, values)
    return topic(tx.connection, owner, str(values["id"]))


def change(tx: Transaction, owner: str, topic_id: str, name: str | None, description: str | None) -> Topic:
    """Rename or describe a topic."""
    before = _found(tx.connection, owner, topic_id)
    if name is not None:
        _refuse_taken([each for each in _standing(tx.connection, owner) if each.id != topic_id], name)
    values = {
        "id": topic_id,
        "name": before.name if name is None else name,
        "description": before.description if description is None else description,
        "at": tx.now,
    }
    _CHANGE.run(tx.connection, values)
    return topic(tx.connection, owner, topic_id)


def delete(tx: Transaction, owner: str, topic_id: str) -> Topic:
    """Take every conversation out, deleted ones too, and remember which they were."""
    # First of all: whoever joins right now is waited for, and nobody joins after it.
    if not _DELETE.count(tx.connection, {"id": topic_id, "owner": owner, "at": tx.now}):
        raise no_such_topic()
    members = _members(tx.connection, owner, topic_id)
    for member in members:
        tx.hold(member.id)
    # Once more, now that nobody else writes to them.
    members = _members(tx.connection, owner, topic_id)
    for member in members:
        _put(tx, member, None)
    _KEEP_MEMBERS.run(tx.connection, {"id": topic_id, "members": encode([member.id for member in members])})
    return topic(tx.connection, owner, topic_id, deleted=True)


def restore(tx: Transaction, owner: str, topic_id: str) -> Topic:
    """Bring a topic back, under another name if its own is taken by now, with those that joined no other."""
    found = _found(tx.connection, owner, topic_id, deleted=True)
    if found.deleted_at is not None:
        members = _members_decoder.decode(_MEMBERS.first(tx.connection, {"id": topic_id}) or b"[]")
        name = _free(found.name, _standing(tx.connection, owner))
        _RESTORE.run(tx.connection, {"id": topic_id, "name": name})
        for member in sorted(members):
            tx.hold(member)
            conversation = rows.conversation_if_any(tx.connection, owner, member)
            if conversation is not None and conversation.settings.topic_id is None:
                _put(tx, conversation, topic_id)
    return topic(tx.connection, owner, topic_id)


def check_joined(tx: Transaction, owner: str, before: str | None, after: str | None) -> None:
    """Raise one sentence unless the topic that a conversation is put into is there, and stays until this is kept."""
    if after is None or after == before:
        return
    if tx.connection.dialect.name != "sqlite":
        _HOLD.run(tx.connection, {"id": after})
    found = _ONE.rows(tx.connection, {"id": after, "owner": owner})
    if not found or _topic(found[0]).deleted_at is not None:
        raise PilothouseError("bad_request", "There is no such topic.", fix="Choose one of your topics, or make one.")


def purge(connection: Connection, deleted_before: float) -> None:
    """Remove topics that were deleted before a time, with everything in them."""
    for topic_id in _GONE.column(connection, {"before": deleted_before}):
        for statement in _GOES:
            statement.run(connection, {"id": topic_id})


def no_such_topic() -> PilothouseError:
    """Return what a person is told of a topic that is none of theirs."""
    return PilothouseError("not_found", "There is no such topic.")


def _found(connection: Connection, owner: str, topic_id: str, *, deleted: bool = False) -> Topic:
    found = _ONE.rows(connection, {"id": topic_id, "owner": owner})
    if not found or (_topic(found[0]).deleted_at is not None and not deleted):
        raise no_such_topic()
    return _topic(found[0])


def _topic(row: Sequence[Any]) -> Topic:
    names = ("id", "owner", "name", "description", "created_at", "updated_at", "deleted_at")
    return Topic(**dict(zip(names, row, strict=True)))


def _standing(connection: Connection, owner: str) -> list[Topic]:
    found = map(_topic, _OF_OWNER.rows(connection, {"owner": owner}))
    return sorted(found, key=lambda each: (each.name.casefold(), each.id))


def _counted(connection: Connection, owner: str, found: Sequence[Topic]) -> Iterator[Topic]:
    asked: dict[str, object] = {"owner": owner, "like": like("%")}
    kept = map(_settings_decoder.decode, _SETTINGS_LIKE.column(connection, asked)) if found else ()
    conversations = Counter(each.topic_id for each in kept)
    memories, documents = (dict(map(tuple, each.rows(connection, asked))) for each in (_MEMORIES, _DOCUMENTS))
    for each in found:
        yield msgspec.structs.replace(
            each,
            conversations=conversations[each.id],
            memories=memories.get(each.id, 0),
            documents=documents.get(each.id, 0),
            todos=len(todos.todos(connection, each.id).todos),
        )


def _members(connection: Connection, owner: str, topic_id: str) -> list[Conversation]:
    found = map(rows.conversation_from, _IN_TOPIC.rows(connection, {"owner": owner, "like": like(topic_id)}))
    return [each for each in found if each.settings.topic_id == topic_id]


def _put(tx: Transaction, conversation: Conversation, topic_id: str | None) -> None:
    """Put a conversation into a topic, or out of it; it was not used for that, so it keeps its place in the list."""
    changed = msgspec.structs.replace(conversation.settings, topic_id=topic_id)
    tx.append(
        conversation.id, [ConversationUpdated(conversation=msgspec.structs.replace(conversation, settings=changed))]
    )


def _refuse_taken(standing: Sequence[Topic], name: str) -> None:
    if any(each.name.casefold() == name.casefold() for each in standing):
        raise PilothouseError("conflict", f"There is a topic “{name}” already.", fix="Give it another name.")


def _free(name: str, standing: Sequence[Topic]) -> str:
    """Return a name that no other topic has: this one, or the next with a number behind it."""
    taken = {each.name.casefold() for each in standing}
    free, number = name, 1
    while free.casefold() in taken:
        number += 1
        free = f"{name} {number}"
    return free
