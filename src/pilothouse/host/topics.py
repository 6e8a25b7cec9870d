"""Topics: made, named, deleted and brought back; and what the conversations of one see of each other."""

from __future__ import annotations

import asyncio
import logging

from pilothouse.timeline.feed import Feed
from pilothouse.types.api import TodosFrame, TopicsFrame
from pilothouse.types.conversations import clean_title
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host_topics import Topics
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.records import Records
from pilothouse.types.todos import TodoList
from pilothouse.types.topics import Topic, TopicInput, TopicList, TopicPatch, check_description

_log = logging.getLogger(__name__)


class TopicService(Topics):
    """Topics, as the store keeps them; every page of their owner hears of a change."""

    def __init__(self, records: Records, feed: Feed) -> None:
        self._records = records
        self._feed = feed
        self._telling = asyncio.Lock()

    async def list(self, owner: str, page: Page = FIRST) -> TopicList:
        return await self._records.topics(owner, page)

    async def create(self, owner: str, body: TopicInput) -> Topic:
        made = await self._records.add_topic(owner, _name(body.name), check_description(body.description))
        await self.changed(owner)
        return made

    async def get(self, owner: str, topic_id: str) -> Topic:
        return await self._records.topic(owner, topic_id)

    async def update(self, owner: str, topic_id: str, body: TopicPatch) -> Topic:
        name = None if body.name is None else _name(body.name)
        description = None if body.description is None else check_description(body.description)
        changed = await self._records.change_topic(owner, topic_id, name, description)
        await self.changed(owner)
        return changed

    async def delete(self, owner: str, topic_id: str) -> None:
        await self._records.delete_topic(owner, topic_id)
        await self.changed(owner)

    async def restore(self, owner: str, topic_id: str) -> Topic:
        restored = await self._records.restore_topic(owner, topic_id)
        await self.changed(owner)
        return restored

    async def changed(self, owner: str) -> None:
        """Tell an owner's pages what topics there are, and how much is in them."""
        if owner in self._feed.list_owners():
            # One after the other: what was read first is told first.
            async with self._telling:
                self._feed.tell(TopicsFrame(topics=await self._records.topics(owner, FIRST)), owner)


class TopicNews:
    """Tells whoever looks at a conversation of a topic what others there did to the todos that they share."""

    def __init__(self, records: Records, feed: Feed) -> None:
        self._records = records
        self._feed = feed
        self._tasks: set[asyncio.Task[None]] = set()

    def changed(self, topic_id: str, todos: TodoList) -> None:
        """Tell that this process changed a topic's todos."""
        self._later(topic_id, todos)

    def woken(self, conversation_id: str) -> None:
        """Look what another process, which wrote to a conversation, may have done to the todos of its topic."""
        self._later(conversation_id, None)

    def _later(self, place: str, todos: TodoList | None) -> None:
        if self._feed.list_owners():
            task = asyncio.create_task(self._tell(place, todos))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _tell(self, place: str, todos: TodoList | None) -> None:
        try:
            if todos is None:
                topic_id = (await self._records.settings(place)).topic_id
                if topic_id is None:
                    return
                place, todos = topic_id, await self._records.todos(topic_id)
        except PilothouseError as error:
            _log.debug("the todos of %s were not read: %s", place, error.message)
            return
        for owner in self._feed.list_owners():
            try:
                await self._records.topic(owner, place)
            except PilothouseError as error:
                # It is not one of theirs.
                _log.debug("the todos of %s were not told: %s", place, error.message)
            else:
                self._feed.tell(TodosFrame(topic_id=place, todos=todos), owner)

    async def close(self) -> None:
        """Wait for what is on its way to the pages."""
        if self._tasks:
            await asyncio.wait(self._tasks)


def _name(given: str) -> str:
    name = clean_title(given)
    if not name:
        raise PilothouseError("bad_request", "A topic needs a name.")
    return name
