"""Other ways on in a conversation, as programs ask for them. Nothing is rewritten: each makes a branch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pilothouse.host.following import all_items
from pilothouse.host.new_conversations import model_name
from pilothouse.library.answers import Answer
from pilothouse.types.api import Comparison, MessageAccepted, NewMessage
from pilothouse.types.branch_views import BranchChoice, BranchTree, FilesBack, Hidden, LeftBehind, NewCopy, Retry
from pilothouse.types.branches import WhenBusy
from pilothouse.types.changes import UndoReport
from pilothouse.types.conversations import Conversation, check_temperature
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.items import Item

# What an answer is made of.
_PIECES = ("response", "thinking", "tool_call")


class Branching:
    """What a conversation can do beside going on at its end."""

    def __init__(self, api: ClientApi, conversation: Conversation) -> None:
        self._api = api
        self.id = conversation.id

    async def edit(
        self,
        message: Item | Answer | str,
        text: str,
        *,
        model: str | None = None,
        when_busy: WhenBusy = "finish",
        attended: bool = False,
    ) -> Answer:
        """Say an own message in other words, and have it answered, in a branch of its own.

        The message is an item, its id, or the answer to it; what was attached to it stays. Answers at work that the
        branch leaves behind are finished first, or with `when_busy="stop"` stopped.
        """
        body = NewMessage(
            text=text,
            instead_of=_message(message),
            model_id=model_name(model),
            when_busy=when_busy,
            unattended=not attended,
        )
        after = await self._newest()
        return await self._answered(await self._api.runs.post_message(LOCAL_OWNER, self.id, body), after)

    async def branch(
        self,
        answer: Answer | str,
        text: str,
        *,
        model: str | None = None,
        when_busy: WhenBusy = "finish",
        attended: bool = False,
    ) -> Answer:
        """Go on after an answer, or the run with this id: in a branch of its own, if something followed there."""
        body = NewMessage(
            text=text,
            after=_run(answer),
            model_id=model_name(model),
            when_busy=when_busy,
            unattended=not attended,
        )
        after = await self._newest()
        return await self._answered(await self._api.runs.post_message(LOCAL_OWNER, self.id, body), after)

    async def retry(
        self,
        answer: Answer | str,
        *,
        model: str | None = None,
        temperature: float | None = None,
        when_busy: WhenBusy = "finish",
        attended: bool = False,
    ) -> Answer:
        """Have the same message answered once more, by the same model or another, in a branch of its own."""
        if temperature is not None:
            check_temperature(temperature)
        body = Retry(model_id=model_name(model), temperature=temperature, when_busy=when_busy, unattended=not attended)
        after = await self._newest()
        return await self._answered(await self._api.branches.retry(LOCAL_OWNER, _run(answer), body), after)

    async def compare(self, text: str, models: Sequence[str], *, attended: bool = False) -> list[Answer]:
        """Send one message to two or three models; their answers come side by side, each in a branch.

        `choose` the branch of the one to go on with: it is the first one's until then.
        """
        message = NewMessage(text=text, unattended=not attended)
        wanted = tuple(model_name(model) or model for model in models)
        after = await self._newest()
        body = Comparison(message=message, model_ids=wanted)
        accepted = (await self._api.branches.compare(LOCAL_OWNER, self.id, body)).accepted
        return [await self._answered(each, after) for each in accepted]

    async def branches(self) -> BranchTree:
        """Return all branches, each with how it began and what was said in it in a few words, and the chosen one."""
        return await self._api.branches.tree(LOCAL_OWNER, self.id)

    async def choose(self, branch: int) -> None:
        """Go on with a branch; 0 is the first one."""
        await self._api.branches.choose(LOCAL_OWNER, self.id, BranchChoice(branch=branch))

    async def copy(self, answer: Answer | str, *, title: str | None = None) -> Self:
        """Return a new conversation of everything that leads to an answer, and of the answer.

        What was allowed for a while and what files were before is not taken over.
        """
        made = await self._api.branches.copy(LOCAL_OWNER, _run(answer), NewCopy(title=title))
        return type(self)(self._api, made)

    async def hide(self, item: Item | Answer | str) -> Hidden:
        """Hide a message, or the whole answer that an item belongs to, from models; it stays in the record."""
        return await self._api.branches.hide(LOCAL_OWNER, await self._piece(item))

    async def show(self, item: Item | Answer | str) -> Hidden:
        """Let models be sent again what was hidden."""
        return await self._api.branches.show(LOCAL_OWNER, await self._piece(item))

    async def _piece(self, given: Item | Answer | str) -> str:
        """Return the id of an item; of an answer that of any piece of it."""
        if not isinstance(given, Answer):
            return _id(given)
        items = await all_items(self._api, self.id, None)
        pieces = [item.id for item in items if item.run_id == given.run_id and item.kind in _PIECES]
        if not pieces:
            raise PilothouseError("conflict", "There is nothing of this answer to hide yet.")
        return pieces[0]

    async def left_behind(self, answer: Answer | str, *, itself: bool = True) -> LeftBehind:
        """Return what a branch in the place of an answer, or after it, leaves behind.

        Those are answers at work, files that changed, and what cannot be put back.
        """
        return await self._api.branches.left_behind(LOCAL_OWNER, _run(answer), itself)

    async def put_files_back(self, answer: Answer | str, *, itself: bool = True) -> UndoReport:
        """Put files back to what they were before an answer, or right after it; what others changed since stays."""
        return await self._api.branches.put_files_back(LOCAL_OWNER, _run(answer), FilesBack(itself=itself))

    async def _newest(self) -> int:
        return (await self._api.conversations.get(LOCAL_OWNER, self.id, limit=1)).last_seq

    async def _answered(self, accepted: MessageAccepted, after: int) -> Answer:
        return Answer(self._api, await self._api.runs.get(LOCAL_OWNER, accepted.run_id), after)


def _message(given: Item | Answer | str) -> str:
    return given.message_id if isinstance(given, Answer) else _id(given)


def _run(given: Answer | str) -> str:
    return given.run_id if isinstance(given, Answer) else given


def _id(given: Item | str) -> str:
    return given if isinstance(given, str) else given.id
