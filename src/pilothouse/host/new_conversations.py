"""Beginning a conversation, for commands and programs."""

from __future__ import annotations

import msgspec

from pilothouse.host.modes import harmless
from pilothouse.types.api import NewConversation
from pilothouse.types.authority import ChosenMode
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER, ClientApi, Models
from pilothouse.types.json import JsonObject

SCRIPTED = "scripted:"
# What needs no question in each mode, for a terminal.
MODES: dict[ChosenMode, str] = {
    "default": "what the settings say",
    "ask": "reading in the folder",
    "sandboxed": "files in the folder, and commands that the sandbox keeps off the network; both can be undone",
    "auto_edit": "files in the folder",
    "read_only": "reading in the folder; nothing that writes, runs or sends is done at all",
    "auto_approve": "everything but dangers, secrets and private data that leaves",
}


def model_name(given: str | None) -> str | None:
    """Return a model as any process understands it: a script's path does not depend on the folder we are in."""
    if given is None or not given.startswith(SCRIPTED):
        return given
    return SCRIPTED + str(at_home(given.removeprefix(SCRIPTED)).absolute())


def chosen(
    *,
    model: str | None = None,
    system: str | None = None,
    folder: str | None = None,
    mode: str | None = None,
    temperature: float | None = None,
    max_tokens: int | None = None,
) -> JsonObject:
    """Return the settings that were named, as a conversation has them; raise one sentence for a mode that is none."""
    if mode is not None and mode not in MODES:
        raise PilothouseError("bad_request", f"There is no mode “{mode}”.", fix=f"Take one of: {', '.join(MODES)}.")
    where = str(at_home(folder).absolute()) if folder is not None else None
    wanted = {
        "model_id": model_name(model),
        "system_prompt": system,
        "working_directory": where,
        "mode": mode,
        "temperature": temperature,
        "max_tokens": max_tokens,
    }
    return {name: value for name, value in wanted.items() if value is not None}


async def check_model(models: Models, model_id: str) -> None:
    """Raise one sentence for a model that does not exist; a script is looked at when it is used."""
    known = [one.id for one in (await models.list(LOCAL_OWNER)).models]
    if known and model_id not in known and not model_id.startswith(SCRIPTED):
        fix = f"There are: {', '.join(known)}."
        raise PilothouseError("unknown_model", f"There is no model “{model_id}”.", fix=fix)


def check_folder(given: str, *, here: bool = True) -> str:
    """Return a working directory's whole path; raise for what is no folder, if folders are on this machine."""
    folder = at_home(given)
    how = "Give the whole path of a folder."
    if not here:
        # Only a worker can say whether it is there.
        if not folder.is_absolute():
            raise PilothouseError("bad_request", f"{folder} is not the whole path of a folder.", fix=how)
        return str(folder)
    try:
        is_folder, is_file = (folder.is_absolute() and check() for check in (folder.is_dir, folder.is_file))
    except OSError as error:
        wrong = f"{folder} cannot be used: {error.strerror or 'its name cannot be one'}."
        raise PilothouseError("bad_request", wrong, fix=how) from None
    if not is_folder:
        missing = f"There is no folder {folder} on the server's machine."
        wrong = f"{folder} is a file, not a folder." if is_file else missing
        raise PilothouseError("bad_request", wrong, fix=how)
    return str(folder)


async def begin_conversation(
    api: ClientApi, settings: JsonObject | None = None, *, title: str | None = None
) -> Conversation:
    """Start a conversation; what is not `chosen` is as the active profile has it."""
    given = None
    if settings:
        given = msgspec.structs.replace(harmless(await api.settings.usual(LOCAL_OWNER)), **settings)
    return await api.conversations.create(LOCAL_OWNER, NewConversation(title=title, settings=given))
