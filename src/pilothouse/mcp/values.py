"""The values behind an entry's variables and headers: secrets are filled in here, for their own server only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from pilothouse.mcp.entries import AUTHORIZATION, SECRET, secret_origin
from pilothouse.mcp.troubles import Hopeless, ValueOption, missing_value, moved_value
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import Secrets
from pilothouse.types.servers import ServerEntry


class Values(msgspec.Struct, frozen=True):
    """Everything a start or a connection carries that an entry does not show."""

    env: Mapping[str, str]
    headers: Mapping[str, str]


def values_of(entry: ServerEntry, secrets: Secrets, learn: Callable[[str], None]) -> Values:
    """Return the values of an entry; raise a ChannelError that names what is missing."""

    def filled(named: Mapping[str, str], option: ValueOption) -> dict[str, str]:
        return {name: _value(entry, (option, name), value, secrets) for name, value in named.items()}

    env, headers = filled(entry.config.env, "--secret-env"), filled(entry.config.headers, "--secret-header")
    if entry.auth_type == "keyfile" and entry.keyfile_path and AUTHORIZATION not in headers:
        headers[AUTHORIZATION] = f"Bearer {_key(entry, entry.keyfile_path)}"
    for name, value in headers.items():
        if name.lower() == AUTHORIZATION.lower():
            # It may stand in the file in plain text, unknown to the store of secrets.
            learn(value)
            learn(value.partition(" ")[2])
    return Values(env, headers)


def _value(entry: ServerEntry, named: tuple[ValueOption, str], value: str, secrets: Secrets) -> str:
    if not value.startswith(SECRET):
        return value
    try:
        kept = secrets.get(value[len(SECRET) :], secret_origin(entry))
    except PilothouseError as error:
        if error.code == "key_moved":
            raise moved_value(entry.name, *named) from None
        raise Hopeless(error.message, fix="Enter it again in Settings, MCP.", sent=False) from None
    if kept is None:
        raise missing_value(entry.name, *named)
    return kept


def _key(entry: ServerEntry, path: str) -> str:
    try:
        key = Path(path).expanduser().read_text().strip()
    except (OSError, RuntimeError, UnicodeDecodeError):
        key = ""
    if not key:
        raise Hopeless(f"The key file of “{entry.name}” cannot be read: {path}.", fix="Check the path.", sent=False)
    return key
