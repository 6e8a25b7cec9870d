"""A person who types a word gets that word first; what means about the same comes after it, and is marked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.host.searching import search
from pilothouse.store.opening import open_store
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.api import SearchHit
from pilothouse.types.conversations import Conversation
from pilothouse.types.events import ItemCreated
from pilothouse.types.meaning import Near, WordsOnly
from tests.support.chats import ME, open_chat
from tests.support.records import OWNER, a_conversation, an_item
from tests.support.word_groups import WordGroups


@pytest_asyncio.fixture
async def store(home: Path) -> AsyncIterator[Store]:
    os.makedirs(home, exist_ok=True)
    opened = open_store(home, None, lambda *_told: None)
    yield opened.store
    await opened.close()


async def said(store: Store, conversation: Conversation, text: str) -> str:
    item = an_item(conversation.id, "response", "completed", text)
    await store.append(conversation.id, [ItemCreated(item=item)], None)
    return item.id


def told(hits: tuple[SearchHit, ...]) -> list[tuple[str | None, bool, int]]:
    return [(hit.item_id, hit.similar, hit.found_here) for hit in hits]


async def test_hits_with_the_word_come_first_and_what_is_similar_after_them(store: Store) -> None:
    first, second, third = [await store.add_conversation(a_conversation()) for _ in range(3)]
    word = await said(store, first, "A harbour")
    beside = await said(store, first, "Where vessels rest")
    alone = await said(store, second, "A port in the north")
    far = await said(store, third, "Something else")
    meaning = WordGroups()
    meaning.nearby = (Near(alone, 0.8), Near(word, 0.75), Near(beside, 0.6), Near("gone", 0.5), Near(far, 0.1))
    result = await search(store, meaning, OWNER, "harbour", 50)
    # Those of one conversation stand together; what is hardly alike is left out.
    assert told(result.hits) == [(word, False, 2), (beside, True, 2), (alone, True, 1)]
    assert meaning.asked_near == [("harbour", "message", OWNER, None)]
    # Without a model, and while a word is being typed, words are all there is.
    assert told((await search(store, WordsOnly(), OWNER, "harbour", 50)).hits) == [(word, False, 1)]
    assert told((await search(store, meaning, OWNER, "har", 50)).hits) == [(word, False, 1)]
    assert len(meaning.asked_near) == 1


async def test_what_is_similar_takes_no_room_from_what_has_the_word(store: Store) -> None:
    words, others = [], []
    for number in range(3):
        words.append(await said(store, await store.add_conversation(a_conversation()), f"harbour {number}"))
        others.append(await said(store, await store.add_conversation(a_conversation()), f"port {number}"))
    meaning = WordGroups()
    meaning.nearby = tuple(Near(each, 0.9) for each in others)
    full = (await search(store, meaning, OWNER, "harbour", 3)).hits
    assert sorted(str(hit.item_id) for hit in full) == sorted(words)
    four = (await search(store, meaning, OWNER, "harbour", 4)).hits
    assert told(four)[3:] == [(others[0], True, 1)]


async def test_one_conversation_shows_no_more_than_a_few_similar_ones(store: Store) -> None:
    conversation = await store.add_conversation(a_conversation())
    said_there = [await said(store, conversation, f"port {number}") for number in range(5)]
    meaning = WordGroups()
    meaning.nearby = tuple(Near(each, 0.9) for each in said_there)
    hits = (await search(store, meaning, OWNER, "harbour", 50)).hits
    assert told(hits) == [(each, True, 3) for each in said_there[: limits.SEARCH_HITS_EACH]]


async def test_nobody_waits_for_a_model_that_does_not_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(WordGroups):
        async def near(self, *_asked: object) -> tuple[Near, ...]:
            await asyncio.Event().wait()
            return ()

    monkeypatch.setattr(limits, "MEANING_MESSAGE_TIME", 0.05)
    word = await said(store, await store.add_conversation(a_conversation()), "harbour")
    assert told((await search(store, Silent(), OWNER, "harbour", 50)).hits) == [(word, False, 1)]


@pytest.mark.slow
async def test_a_conversation_is_found_in_other_words_by_the_built_in_model(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MEANING_MESSAGE_TIME", 60.0)
    monkeypatch.setattr(limits, "MEANING_MOMENT", 60.0)
    async with open_chat(home, ["The employees receive their wages on the last Friday."]) as chat:
        await chat.say("Tell me about the elevator")
        (answer,) = await chat.items("response")
        result = await chat.api.conversations.search(ME, "when is the salary paid")
        assert [(hit.item_id, hit.similar) for hit in result.hits] == [(answer.id, True)]
        (word,) = (await chat.api.conversations.search(ME, "elevator")).hits[-1:]
        assert not word.similar


async def test_who_types_gets_the_words_first_without_waiting_for_a_model(home: Path) -> None:
    async with open_chat(home, ["The employees receive their wages."]) as chat:
        await chat.say("Tell me about the elevator")
        result = await chat.api.conversations.search(ME, "salary payment", by="words")
        assert result.hits == ()
