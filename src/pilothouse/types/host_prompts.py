"""The verbs about prompts and mini prompts: a part of `types/host`."""

from __future__ import annotations

from pilothouse.types.prompts import FilledPrompt, PromptDetails, PromptInput, PromptList, PromptValues
from pilothouse.types.verbs import Service, verb


class Prompts(Service):
    """The person's own prompts: each is a file."""

    @verb("list_prompts", "GET", "/api/prompts")
    async def list(self, owner: str) -> PromptList:
        """The prompts that can stand in for the system prompt or be put into a message."""

    @verb("get_prompt", "GET", "/api/prompts/{id}")
    async def get(self, owner: str, name: str) -> PromptDetails:
        """A prompt with its text, by its name."""

    @verb("put_prompt", "PUT", "/api/prompts/{id}")
    async def put(self, owner: str, name: str, body: PromptInput) -> PromptDetails:
        """Write a prompt's file, a new one or in place of what it was."""

    @verb("delete_prompt", "DELETE", "/api/prompts/{id}")
    async def delete(self, owner: str, name: str) -> None:
        """Remove a prompt's file; one that comes with the program is as it came then."""

    @verb("fill_prompt", "POST", "/api/prompts/{id}/filled")
    async def fill(self, owner: str, name: str, body: PromptValues) -> FilledPrompt:
        """A prompt with its variables filled in; nothing is changed by that."""


class MiniPrompts(Service):
    """Small prompts that are switched on in a conversation: each is a file."""

    @verb("list_mini_prompts", "GET", "/api/mini-prompts")
    async def list(self, owner: str) -> PromptList:
        """The mini prompts that can be switched on."""

    @verb("get_mini_prompt", "GET", "/api/mini-prompts/{id}")
    async def get(self, owner: str, name: str) -> PromptDetails:
        """A mini prompt with its text, by its name."""

    @verb("put_mini_prompt", "PUT", "/api/mini-prompts/{id}")
    async def put(self, owner: str, name: str, body: PromptInput) -> PromptDetails:
        """Write a mini prompt's file, a new one or in place of what it was."""

    @verb("delete_mini_prompt", "DELETE", "/api/mini-prompts/{id}")
    async def delete(self, owner: str, name: str) -> None:
        """Remove a mini prompt's file; one that comes with the program is as it came then."""
