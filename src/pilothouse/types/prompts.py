"""Prompts of the person's own: files that stand in for the system prompt, and small ones that are switched on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from pilothouse.types.json import Body, Frozen

PromptKind = Literal["prompt", "mini_prompt"]


class PromptVariable(Frozen, frozen=True):
    """A place in a prompt that is filled in."""

    name: str
    # What it is unless something else is given; None where something must be given.
    default: str | None = None
    # Filled in by itself: the day, the folder, the model, the topic.
    built_in: bool = False


class PromptView(Frozen, frozen=True):
    """A prompt as it is listed."""

    name: str
    title: str
    description: str = ""
    variables: tuple[PromptVariable, ...] = ()
    # It comes with the program; a file of the same name takes its place.
    built_in: bool = False
    # Its file, as the person finds it; empty for one that comes with the program.
    path: str = ""
    # One sentence about why it cannot be used; else empty.
    problem: str = ""


class PromptDetails(PromptView, frozen=True):
    """A prompt with its text."""

    text: str = ""


class PromptList(Frozen, frozen=True):
    """All prompts of a kind, by name; where their files are, and what is wrong there."""

    prompts: tuple[PromptView, ...]
    folder: str
    # One sentence for each file that was left out, and why.
    problems: tuple[str, ...] = ()


class PromptInput(Body, frozen=True):
    """A prompt as a person writes it."""

    text: str
    title: str = ""
    description: str = ""


class PromptValues(Body, frozen=True):
    """What the variables of a prompt are given, for a conversation whose facts fill in the rest."""

    values: dict[str, str] = msgspec.field(default_factory=dict)
    conversation_id: str | None = None


class FilledPrompt(Frozen, frozen=True):
    """A prompt with its variables filled in."""

    text: str
    # Those that were given nothing; they stand in the text as they are.
    missing: tuple[str, ...] = ()


class PromptSource(Protocol):
    """The prompts as their files have them now."""

    async def listed(self, kind: PromptKind) -> PromptList:
        """Return all prompts of a kind."""

    async def details(self, kind: PromptKind, name: str) -> PromptDetails:
        """Return one with its text; raise `not_found` where there is none of that name."""

    async def usable(self, kind: PromptKind, names: Sequence[str]) -> Sequence[PromptDetails]:
        """Return those of these names that there are and that can be used, in that order."""

    async def filled(self, name: str, values: Mapping[str, str], facts: Mapping[str, str]) -> str:
        """Return a prompt with its variables filled in; raise one sentence where that cannot be."""
