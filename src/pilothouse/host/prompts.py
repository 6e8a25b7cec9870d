"""Which prompts a conversation uses: a chosen prompt becomes its system prompt, as it is at that moment.

Each request extends the one before it, so a prompt's file that changes later changes no conversation; the person may
choose the prompt again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from pilothouse.types import limits
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import Models
from pilothouse.types.lazy import Lazy
from pilothouse.types.records import Records

if TYPE_CHECKING:
    from pilothouse.types.prompts import PromptSource


class ChosenPrompts:
    """Makes the text of what was chosen, and refuses what there is not."""

    def __init__(self, records: Records, models: Models, prompts: Lazy[PromptSource]) -> None:
        self._records = records
        self._models = models
        self._prompts = prompts

    async def begun(self, owner: str, settings: ConversationSettings, *, usual: bool) -> ConversationSettings:
        """Return the settings of a new conversation.

        What a profile names and is gone since is left out: nobody chose it just now.
        """
        if usual:
            settings = await self._without_lost(settings)
        await self._check_mini((), settings.mini_prompts)
        return await self._filled(owner, settings) if settings.prompt is not None else settings

    async def changed(self, now: Conversation, wanted: ConversationSettings) -> ConversationSettings:
        """Return the settings that a conversation is changed to."""
        before = now.settings
        await self._check_mini(before.mini_prompts, wanted.mini_prompts)
        if wanted.prompt is None:
            return msgspec.structs.replace(wanted, prompt_values={})
        chosen_anew = (wanted.prompt, wanted.prompt_values) != (before.prompt, before.prompt_values)
        if chosen_anew:
            return await self._filled(now.owner, wanted)
        if wanted.system_prompt is None:
            return await self._filled(now.owner, await self._with_known_values(wanted))
        if wanted.system_prompt != before.system_prompt:
            # The person wrote their own words over it.
            return msgspec.structs.replace(wanted, prompt=None, prompt_values={})
        # Before anything was said, a folder or a model that is chosen later may still stand in it.
        return await self._filled_if_there(now.owner, wanted) if now.activity is None else wanted

    async def _filled(self, owner: str, settings: ConversationSettings) -> ConversationSettings:
        facts = await facts_of(self._records, self._models, owner, settings)
        text = await self._prompts().filled(settings.prompt or "", settings.prompt_values, facts)
        return msgspec.structs.replace(settings, system_prompt=text)

    async def _with_known_values(self, settings: ConversationSettings) -> ConversationSettings:
        """Leave out the values of variables that the prompt's file no longer has."""
        for prompt in await self._prompts().usable("prompt", (settings.prompt or "",)):
            names = {each.name for each in prompt.variables}
            values = {name: value for name, value in settings.prompt_values.items() if name in names}
            return msgspec.structs.replace(settings, prompt_values=values)
        return settings

    async def _filled_if_there(self, owner: str, settings: ConversationSettings) -> ConversationSettings:
        try:
            return await self._filled(owner, settings)
        except PilothouseError:
            # It was taken away or changed since it was chosen, which is no hindrance to other changes.
            return settings

    async def _check_mini(self, before: Sequence[str], wanted: Sequence[str]) -> None:
        """Raise for a mini prompt that is not there; one that was removed meanwhile is no hindrance."""
        if len(wanted) > limits.MINI_PROMPTS_ON:
            raise PilothouseError("bad_request", f"At most {limits.MINI_PROMPTS_ON} mini prompts can be on at once.")
        new = [name for name in wanted if name not in before]
        if not new:
            return
        known = {each.name for each in (await self._prompts().listed("mini_prompt")).prompts}
        if missing := [name for name in new if name not in known]:
            fix = f"There are: {', '.join(sorted(known))}."
            raise PilothouseError("bad_request", f"There is no mini prompt “{missing[0][:100]}”.", fix=fix)

    async def _without_lost(self, settings: ConversationSettings) -> ConversationSettings:
        if settings.prompt is None and not settings.mini_prompts:
            return settings
        minis = await self._prompts().usable("mini_prompt", settings.mini_prompts)
        kept = msgspec.structs.replace(settings, mini_prompts=tuple(each.name for each in minis))
        if settings.prompt is None or await self._prompts().usable("prompt", (settings.prompt,)):
            return kept
        return msgspec.structs.replace(kept, prompt=None, prompt_values={})


async def facts_of(
    records: Records, models: Models, owner: str, settings: ConversationSettings | None
) -> Mapping[str, str]:
    """Return what fills the variables of a prompt by itself: the day, and what a conversation is set to."""
    settings = settings or ConversationSettings()
    model = settings.model_id or (await models.list(owner)).default_model_id
    topic = (await records.topic(owner, settings.topic_id)).name if settings.topic_id else ""
    facts = {"date": time.strftime("%Y-%m-%d"), "folder": settings.working_directory, "model": model, "topic": topic}
    return {name: value for name, value in facts.items() if value}
