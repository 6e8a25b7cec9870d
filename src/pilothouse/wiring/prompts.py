"""The person's prompts, loaded when someone asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse.host.dependencies import PromptParts
from pilothouse.host.prompts import facts_of
from pilothouse.types.host import Models
from pilothouse.types.lazy import Lazy
from pilothouse.types.records import Records

if TYPE_CHECKING:
    from pilothouse.prompts.library import PromptLibrary
    from pilothouse.prompts.service import MiniPromptService, PromptService


def prompt_library(home: Path) -> Lazy[PromptLibrary]:
    """Return the prompts of a data folder."""

    def library() -> PromptLibrary:
        from pilothouse.prompts.library import PromptLibrary

        return PromptLibrary(home)

    return Lazy(library)


def prompt_parts(library: Lazy[PromptLibrary], records: Records, models: Models) -> PromptParts:
    """Return who answers for the prompts."""

    async def facts(owner: str, conversation_id: str | None) -> Mapping[str, str]:
        settings = (await records.conversation(owner, conversation_id)).settings if conversation_id else None
        return await facts_of(records, models, owner, settings)

    def prompts() -> PromptService:
        from pilothouse.prompts.service import PromptService

        return PromptService(library(), facts)

    def mini_prompts() -> MiniPromptService:
        from pilothouse.prompts.service import MiniPromptService

        return MiniPromptService(library())

    return PromptParts(library, Lazy(prompts), Lazy(mini_prompts))
