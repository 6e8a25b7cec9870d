"""Beginning a conversation, for commands and programs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from pilothouse.types.api import NewConversation
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.host import LOCAL_OWNER, ClientApi

SCRIPTED = "scripted:"


def model_name(given: str | None) -> str | None:
    """Return a model as any process understands it: a script's path does not depend on the folder we are in."""
    if given is None or not given.startswith(SCRIPTED):
        return given
    return SCRIPTED + str(Path(given.removeprefix(SCRIPTED)).expanduser().absolute())


async def begin_conversation(
    api: ClientApi, *, model: str | None = None, system: str | None = None, title: str | None = None
) -> Conversation:
    """Start a conversation; what is not given here is as the active profile has it."""
    settings = None
    wanted = {"model_id": model_name(model), "system_prompt": system}
    given = {name: value for name, value in wanted.items() if value is not None}
    if given:
        settings = msgspec.structs.replace(await _usual_settings(api), **given)
    return await api.create_conversation(LOCAL_OWNER, NewConversation(title=title, settings=settings))


async def _usual_settings(api: ClientApi) -> ConversationSettings:
    config = await api.config(LOCAL_OWNER)
    chosen = [profile.settings for profile in config.profiles if profile.id == config.active_profile]
    return chosen[0] if chosen else ConversationSettings()
