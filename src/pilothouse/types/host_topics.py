"""The verbs about topics: a part of `types/host`."""

from __future__ import annotations

from pilothouse.types.paging import FIRST, Page
from pilothouse.types.topics import Topic, TopicInput, TopicList, TopicPatch
from pilothouse.types.verbs import Options, Service, verb


class Topics(Service):
    """Named places that conversations share for memories, documents and todos."""

    @verb("list_topics", "GET", "/api/topics")
    async def list(self, owner: str, page: Page = FIRST) -> TopicList:
        """Topics in the order of their names, with how much is in each."""

    @verb("create_topic", "POST", "/api/topics", Options(status=201))
    async def create(self, owner: str, body: TopicInput) -> Topic:
        """Make a topic; conversations are put into it by their settings."""

    @verb("get_topic", "GET", "/api/topics/{id}")
    async def get(self, owner: str, topic_id: str) -> Topic:
        """A topic, and how much is in it."""

    @verb("update_topic", "PATCH", "/api/topics/{id}")
    async def update(self, owner: str, topic_id: str, body: TopicPatch) -> Topic:
        """Rename a topic or describe it."""

    @verb("delete_topic", "DELETE", "/api/topics/{id}")
    async def delete(self, owner: str, topic_id: str) -> None:
        """Delete a topic; it can be restored for a while.

        Its conversations stay and are taken out of it. Its memories, documents and todos are hidden with it, and are
        removed for good when it cannot be restored any more.
        """

    @verb("restore_topic", "POST", "/api/topics/{id}/restore")
    async def restore(self, owner: str, topic_id: str) -> Topic:
        """Bring a deleted topic back, with its conversations that are in no other topic by now."""
