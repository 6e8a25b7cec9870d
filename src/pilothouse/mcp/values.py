"""The values behind an entry's texts, variables and headers: secrets are filled in here, for their own server only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

import msgspec

from pilothouse.mcp.entries import AUTHORIZATION, SECRET, SLOT, secret_origin, slot_name, slots_of
from pilothouse.mcp.recognising import keys_in
from pilothouse.mcp.troubles import Hopeless, ValueOption, missing_value, moved_value
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import Secrets
from pilothouse.types.servers import ServerEntry

# What may stand in an address as it is.
_IN_ADDRESS = "/?:@!$&'()*+,;=%~-._"


class Values(msgspec.Struct, frozen=True):
    """Everything a start or a connection carries that an entry does not show."""

    env: Mapping[str, str]
    headers: Mapping[str, str]
    # By the name under which it stands in the entry's texts.
    slots: Mapping[str, str]

    def filled(self, text: str) -> str:
        """Return a text of the entry with its secrets in it."""
        return SLOT.sub(lambda slot: self.slots.get(slot[1], slot[0]), text)

    def address(self, url: str) -> str:
        """Return an address of the entry with its secrets in it."""
        return SLOT.sub(lambda slot: quote(self.slots.get(slot[1], slot[0]), safe=_IN_ADDRESS), url)

    def hidden(self, url: str) -> str:
        """Return an address without the secrets in it, fit to be kept."""
        for name, value in self.slots.items():
            if value:
                url = url.replace(quote(value, safe=_IN_ADDRESS), f"${{secret:{name}}}")
        return url


def values_of(entry: ServerEntry, secrets: Secrets, learn: Callable[[str], None]) -> Values:
    """Return the values of an entry; raise a ChannelError that names what is missing."""
    slots = {slot: _kept(entry, ("--secret", slot), slot_name(entry.id, slot), secrets) for slot in slots_of(entry)}
    # What stands in the file in plain text has a slot in what was agreed to.
    slots |= keys_in(entry)
    bare = Values({}, {}, slots)

    def filled(named: Mapping[str, str], option: ValueOption) -> dict[str, str]:
        return {
            name: _kept(entry, (option, name), value[len(SECRET) :], secrets)
            if value.startswith(SECRET)
            else bare.filled(value)
            for name, value in named.items()
        }

    env, headers = filled(entry.config.env, "--secret-env"), filled(entry.config.headers, "--secret-header")
    if entry.auth_type == "keyfile" and entry.keyfile_path and AUTHORIZATION not in headers:
        headers[AUTHORIZATION] = f"Bearer {_key(entry, entry.keyfile_path)}"
    for name, value in headers.items():
        if name.lower() == AUTHORIZATION.lower():
            # It may stand in the file in plain text, unknown to the store of secrets.
            learn(value)
            learn(value.partition(" ")[2])
    for value in slots.values():
        learn(value)
    return Values(env, headers, slots)


def _kept(entry: ServerEntry, named: tuple[ValueOption, str], reference: str, secrets: Secrets) -> str:
    try:
        kept = secrets.get(reference, secret_origin(entry))
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
