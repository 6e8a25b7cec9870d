"""A conversation as programs have it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.host.following import all_items
from pilothouse.host.new_conversations import model_name
from pilothouse.host.selection import choose
from pilothouse.library.answers import Answer
from pilothouse.library.branches import Branching
from pilothouse.types.api import CompactionWish, ConversationPatch, ImageInput, NewMessage
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.documents import Document
from pilothouse.types.host import LOCAL_OWNER
from pilothouse.types.items import Item
from pilothouse.types.selection import Selection
from pilothouse.types.usage import ContextLedger


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What one message may use: these servers and no others, and what of them needs no question."""

    # Each as "name" or "name:tool,tool"; None leaves it to the conversation.
    servers: Sequence[str] | None = None
    # Each as "server.tool" or "server.*".
    allow: Sequence[str] = ()

    def selection(self) -> Selection | None:
        """Return the servers as the core takes them."""
        return None if self.servers is None else choose(self.servers)


class Chat(Branching):
    """A conversation; what is said in it goes on with the branch that was chosen last."""

    async def send(
        self,
        text: str,
        *,
        images: Sequence[ImageInput | Document] = (),
        model: str | None = None,
        tools: Tools | None = None,
        attended: bool = False,
        thinking: bool | None = None,
    ) -> Answer:
        """Send a message and return its answer, which is on its way; with `attended` it may wait for a person.

        Documents that were added may go with it as images do.
        `thinking` asks the model to think first, or not to; a model that cannot be asked says so in a notice.
        """
        after = (await self.info()).last_seq
        tools = tools or Tools()
        body = NewMessage(
            text=text,
            images=tuple(each for each in images if isinstance(each, ImageInput)),
            documents=tuple(each.id for each in images if isinstance(each, Document)),
            model_id=model_name(model),
            unattended=not attended,
            selection=tools.selection(),
            allow=tuple(tools.allow),
            thinking=thinking,
        )
        return await self._answered(await self._api.runs.post_message(LOCAL_OWNER, self.id, body), after)

    async def compact(self, keep: str = "", *, attended: bool = False) -> Answer:
        """Sum up what was said so far, and above all what `keep` names; the text of the answer is the summary.

        From then on the model reads the summary; `items` has everything as before. With `attended` it may wait for a
        person at a budget.
        """
        after = (await self.info()).last_seq
        wish = CompactionWish(keep=keep, unattended=not attended)
        return await self._answered(await self._api.runs.compact(LOCAL_OWNER, self.id, wish), after)

    async def info(self) -> Conversation:
        """Return its title, settings and state as they are now."""
        return (await self._api.conversations.get(LOCAL_OWNER, self.id, limit=1)).conversation

    async def items(self, branch: int | None = None) -> tuple[Item, ...]:
        """Return everything on the path of a branch, or of the chosen one, in order."""
        number = (await self.info()).branch if branch is None else branch
        return await all_items(self._api, self.id, number)

    async def context(self) -> ContextLedger:
        """Return what fills the model's window, and what the answers took."""
        return await self._api.conversations.context(LOCAL_OWNER, self.id)

    async def part(self, item: Item, index: int) -> bytes:
        """Return the bytes of an image or a file of an item: `item.data.content` tells which there are."""
        return (await self._api.runs.part(LOCAL_OWNER, item.id, index)).data

    async def update(self, *, title: str | None = None, settings: ConversationSettings | None = None) -> Conversation:
        """Rename it or change its settings."""
        return await self._api.conversations.update(
            LOCAL_OWNER, self.id, ConversationPatch(title=title, settings=settings)
        )

    async def delete(self) -> None:
        """Delete it; the page can bring it back for a while."""
        await self._api.conversations.delete(LOCAL_OWNER, self.id)
