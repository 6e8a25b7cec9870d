"""Beginning a conversation, for commands and programs."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import msgspec

from pilothouse.runs.modes import harmless
from pilothouse.types.api import NewConversation
from pilothouse.types.authority import Mode
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER, ClientApi, Models
from pilothouse.types.json import JsonObject

SCRIPTED = "scripted:"
MODES = ", ".join(get_args(Mode))


def model_name(given: str | None) -> str | None:
    """Return a model as any process understands it: a script's path does not depend on the folder we are in."""
    if given is None or not given.startswith(SCRIPTED):
        return given
    return SCRIPTED + str(Path(given.removeprefix(SCRIPTED)).expanduser().absolute())


def chosen(
    *, model: str | None = None, system: str | None = None, folder: str | None = None, mode: str | None = None
) -> JsonObject:
    """Return the settings that were named, as a conversation has them; raise one sentence for a mode that is none."""
    if mode is not None and mode not in get_args(Mode):
        raise PilothouseError("bad_request", f"There is no mode “{mode}”.", fix=f"Take one of: {MODES}.")
    where = str(Path(folder).expanduser().absolute()) if folder is not None else None
    wanted = {"model_id": model_name(model), "system_prompt": system, "working_directory": where, "mode": mode}
    return {name: value for name, value in wanted.items() if value is not None}


async def check_model(api: Models, model_id: str) -> None:
    """Raise one sentence for a model that does not exist; a script is looked at when it is used."""
    known = [one.id for one in (await api.models(LOCAL_OWNER)).models]
    if known and model_id not in known and not model_id.startswith(SCRIPTED):
        fix = f"There are: {', '.join(known)}."
        raise PilothouseError("unknown_model", f"There is no model “{model_id}”.", fix=fix)


def check_folder(given: str) -> str:
    """Return a working directory's whole path; raise one sentence for what is no folder."""
    folder = Path(given).expanduser()
    if not folder.is_absolute() or not folder.is_dir():
        is_file = folder.is_absolute() and folder.is_file()
        missing = f"There is no folder {folder} on the server's machine."
        wrong = f"{folder} is a file, not a folder." if is_file else missing
        raise PilothouseError("bad_request", wrong, fix="Give the whole path of a folder.")
    return str(folder)


async def begin_conversation(
    api: ClientApi, settings: JsonObject | None = None, *, title: str | None = None
) -> Conversation:
    """Start a conversation; what is not `chosen` is as the active profile has it."""
    given = None
    if settings:
        given = msgspec.structs.replace(harmless(await api.usual_settings(LOCAL_OWNER)), **settings)
    return await api.create_conversation(LOCAL_OWNER, NewConversation(title=title, settings=given))
