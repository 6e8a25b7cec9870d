"""Asking a person for the keys that a server says it lacks, by what they call them, right where they are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.cli.consent import agreed
from pilothouse.cli.prompting import read_line, read_unseen, someone_is_there
from pilothouse.cli.server_input import ServerForm, changed_server
from pilothouse.cli.server_keys import Named, id_of, whole_path
from pilothouse.cli.servers import find, tell_test
from pilothouse.cli.terminal import Terminal, messages, one_line
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.server_keys import KeyInput, ServerKey
from pilothouse.types.servers import ServerView


async def try_with_keys(api: ClientApi, server: ServerView, later: Sequence[Named] = ()) -> int:
    """Say how reaching a server went; while it lacks keys, give those that were named or ask for them."""
    asked: set[str] = set()
    while True:
        result = await api.servers.test(LOCAL_OWNER, server.id)
        server = await find(api, server.id)
        missing = [key for key in server.keys if key.source == "missing" and key.id not in asked]
        if result.ok or result.needs_sign_in or not missing:
            break
        given = named_for(missing, later, is_remote=server.transport == "http")
        if not given and someone_is_there(messages()):
            messages().line(one_line(result.message), "yellow")
            given = await ask_for(missing, messages())
        if not given:
            break
        asked |= given.keys()
        body = changed_server(server, ServerForm())
        body = msgspec.structs.replace(body, keys={**body.keys, **given})
        server = await agreed(api, await api.servers.update(LOCAL_OWNER, server.id, body))
    return tell_test(server, result)


def named_for(missing: Sequence[ServerKey], later: Sequence[Named], *, is_remote: bool) -> dict[str, KeyInput]:
    """Return those of the missing keys that were given before anyone knew what they are for."""
    ids = {key.id for key in missing}
    found = ((id_of(one.label, missing, is_remote=is_remote), one.key) for one in later)
    return {key_id: key for key_id, key in found if key_id in ids}


async def ask_for(missing: Sequence[ServerKey], aside: Terminal) -> dict[str, KeyInput]:
    """Ask for keys, one after the other; those that the person leaves out stay missing."""
    given: dict[str, KeyInput] = {}
    said = ""
    for key in missing:
        if key.about not in ("", said):
            said = key.about
            aside.line(f"  It says: {one_line(said)}", "dim")
        typed = read_unseen(f"{one_line(key.label)} (what you type is not shown; Enter alone for a file): ")
        if typed is None:
            break
        if typed.strip():
            given[key.id] = KeyInput(value=typed.strip())
            continue
        path = await read_line(f"Path of the file with the {one_line(key.label)} (Enter alone to leave it): ", aside)
        if path is None:
            break
        if path.strip():
            given[key.id] = KeyInput(file=whole_path(path.strip()))
    return given
