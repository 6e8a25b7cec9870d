"""The verbs about prompts, carried out on the files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from pilothouse.prompts.library import PromptLibrary
from pilothouse.prompts.variables import check_values, filled
from pilothouse.types.host_prompts import MiniPrompts, Prompts
from pilothouse.types.prompts import FilledPrompt, PromptDetails, PromptInput, PromptList, PromptValues

# What fills the variables of a prompt by itself, in a conversation of an owner or in none.
FactsOf = Callable[[str, str | None], Awaitable[Mapping[str, str]]]


class PromptService(Prompts):
    """The person's prompts."""

    def __init__(self, library: PromptLibrary, facts_of: FactsOf) -> None:
        self._library = library
        self._facts_of = facts_of

    async def list(self, owner: str) -> PromptList:
        return await self._library.listed("prompt")

    async def get(self, owner: str, name: str) -> PromptDetails:
        return await self._library.details("prompt", name)

    async def put(self, owner: str, name: str, body: PromptInput) -> PromptDetails:
        return await self._library.put("prompt", name, body)

    async def delete(self, owner: str, name: str) -> None:
        await self._library.delete("prompt", name)

    async def fill(self, owner: str, name: str, body: PromptValues) -> FilledPrompt:
        check_values(body.values)
        found = await self._library.details("prompt", name)
        return filled(found.text, body.values, await self._facts_of(owner, body.conversation_id))


class MiniPromptService(MiniPrompts):
    """The person's mini prompts."""

    def __init__(self, library: PromptLibrary) -> None:
        self._library = library

    async def list(self, owner: str) -> PromptList:
        return await self._library.listed("mini_prompt")

    async def get(self, owner: str, name: str) -> PromptDetails:
        return await self._library.details("mini_prompt", name)

    async def put(self, owner: str, name: str, body: PromptInput) -> PromptDetails:
        return await self._library.put("mini_prompt", name, body)

    async def delete(self, owner: str, name: str) -> None:
        await self._library.delete("mini_prompt", name)
