"""Topics and prompts, for programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from pilothouse.host.named_topics import topic_named
from pilothouse.types.conversations import Conversation
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.host_prompts import MiniPrompts, Prompts
from pilothouse.types.paging import whole
from pilothouse.types.prompts import PromptDetails, PromptInput, PromptValues, PromptView
from pilothouse.types.topics import Topic, TopicInput, TopicPatch


class Topics:
    """Named places that conversations share; each is named by its name or its id."""

    def __init__(self, api: ClientApi) -> None:
        self._api = api

    async def list(self) -> Sequence[Topic]:
        """Return all topics, by name."""
        return (await whole(lambda page: self._api.topics.list(LOCAL_OWNER, page))).topics

    async def get(self, topic: str) -> Topic:
        """Return a topic with how much is in it."""
        return await topic_named(self._api, topic)

    async def create(self, name: str, description: str = "") -> Topic:
        """Make a topic."""
        return await self._api.topics.create(LOCAL_OWNER, TopicInput(name=name, description=description))

    async def change(self, topic: str, *, name: str | None = None, description: str | None = None) -> Topic:
        """Rename a topic or describe it."""
        found = await topic_named(self._api, topic)
        return await self._api.topics.update(LOCAL_OWNER, found.id, TopicPatch(name=name, description=description))

    async def remove(self, topic: str) -> Topic:
        """Delete a topic, whose conversations stay; return it, by whose id it can be restored for a while."""
        found = await topic_named(self._api, topic)
        await self._api.topics.delete(LOCAL_OWNER, found.id)
        return found

    async def restore(self, topic_id: str) -> Topic:
        """Bring a deleted topic back."""
        return await self._api.topics.restore(LOCAL_OWNER, topic_id)

    async def conversations(self, topic: str) -> AsyncIterator[Conversation]:
        """Yield the conversations of a topic, most recently used first."""
        found, cursor = await topic_named(self._api, topic), None
        while True:
            page = await self._api.conversations.list(LOCAL_OWNER, cursor=cursor, topic=found.id)
            for conversation in page.conversations:
                yield conversation
            cursor = page.next
            if cursor is None:
                return


class PromptFiles:
    """The person's prompts, or their mini prompts; each is a file."""

    def __init__(self, verbs: Prompts | MiniPrompts) -> None:
        self._verbs = verbs

    async def list(self) -> Sequence[PromptView]:
        """Return all of them, by name."""
        return (await self._verbs.list(LOCAL_OWNER)).prompts

    async def get(self, name: str) -> PromptDetails:
        """Return one with its text."""
        return await self._verbs.get(LOCAL_OWNER, name)

    async def put(self, name: str, text: str, *, title: str = "", description: str = "") -> PromptDetails:
        """Write one's file."""
        body = PromptInput(text=text, title=title, description=description)
        return await self._verbs.put(LOCAL_OWNER, name, body)

    async def remove(self, name: str) -> None:
        """Remove one's file."""
        await self._verbs.delete(LOCAL_OWNER, name)


class OwnPrompts(PromptFiles):
    """The person's prompts, which have variables."""

    def __init__(self, verbs: Prompts) -> None:
        super().__init__(verbs)
        self._own = verbs

    async def filled(self, name: str, /, **values: str) -> str:
        """Return the text of one with its variables filled in; what was given nothing stands as it is."""
        return (await self._own.fill(LOCAL_OWNER, name, PromptValues(values=values))).text
