"""What a deleted topic holds is hidden until the topic is brought back: its documents, in every read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from pilothouse.types.api import ConversationPatch
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_documents import Sought, Where
from pilothouse.types.topics import TopicInput
from tests.support.chats import ME, Chat, open_chat


async def _content() -> AsyncIterator[bytes]:
    yield b"The pelican arrived at noon."


async def _missing(work: Awaitable[object]) -> str:
    with pytest.raises(PilothouseError) as raised:
        await work
    assert raised.value.code == "not_found"
    return raised.value.message


async def _hidden(chat: Chat) -> None:
    topic = await chat.api.topics.create(ME, TopicInput(name="Harbour"))
    here = Where(scope="topic", scope_id=topic.id)
    documents = chat.api.documents
    document = (await documents.upload(ME, _content(), "Report.txt", here)).document
    settings = ConversationSettings(topic_id=topic.id)
    await chat.api.conversations.update(ME, chat.id, ConversationPatch(settings=settings))
    for where in (here, Where(), Where(seen_by=chat.id)):
        assert (await documents.list(ME, where)).documents == (document,)
        assert (await documents.search(ME, Sought(q="pelican"), where)).hits
    await chat.api.topics.delete(ME, topic.id)
    for where in (here, Where(), Where(seen_by=chat.id)):
        assert (await documents.list(ME, where)).documents == ()
        assert (await documents.search(ME, Sought(q="pelican"), where)).hits == ()
    for named in (document.id, document.short_id):
        for work in (
            documents.get(ME, named),
            documents.text(ME, named),
            documents.file(ME, named),
            documents.search(ME, Sought(q="pelican", document=named)),
            documents.delete(ME, named),
        ):
            assert await _missing(work) == "There is no such document."
        assert await _missing(documents.restore(ME, named)) == "There is no such topic."
    assert await _missing(documents.upload(ME, _content(), "Again.txt", here)) == "There is no such topic."
    await chat.say()
    assert not [item for item in await chat.items("reminder") if "Report.txt" in item.text]
    await chat.api.topics.restore(ME, topic.id)
    assert await documents.get(ME, document.short_id) == document
    assert (await documents.search(ME, Sought(q="pelican"), here)).hits


async def test_documents_of_a_deleted_topic_are_seen_nowhere_until_it_is_back(home: Path) -> None:
    async with open_chat(home) as chat:
        await _hidden(chat)


async def test_documents_of_a_deleted_topic_are_seen_nowhere_on_postgresql_either(
    home: Path, postgres_url: str
) -> None:
    async with open_chat(home, database_url=postgres_url) as chat:
        await _hidden(chat)
