"""The values behind an entry's texts, variables and headers: keys are filled in here, for their own server only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote

import msgspec

from pilothouse.mcp.client.key_labels import AUTHORIZATION
from pilothouse.mcp.client.missing_keys import Lack
from pilothouse.mcp.client.start_errors import NeedsPerson, missing_keys, moved_key
from pilothouse.mcp.servers.entries import SECRET, SLOT, key_refs, secret_origin
from pilothouse.mcp.servers.key_places import KeyReader
from pilothouse.mcp.servers.keys import ENV, HEADER, key_places, same_id, split_id
from pilothouse.mcp.servers.secret_detection import keys_in
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


class KeySources(msgspec.Struct, frozen=True):
    """Where keys come from, and who is told each before it is used, so that it is masked wherever it turns up."""

    secrets: Secrets
    reader: KeyReader
    learn: Callable[[str], None]


def values_of(entry: ServerEntry, sources: KeySources, lacks: Sequence[Lack] = ()) -> Values:
    """Return the values of an entry; raise a ChannelError that names what is missing, all of it at once."""
    keys = _keys(entry, sources, lacks)
    # What stands in the file in plain text has a slot in what was agreed to.
    slots = {split_id(each)[1]: value for each, value in keys.items() if each.startswith("slot:")} | keys_in(entry)
    bare = Values({}, {}, slots)

    def filled(named: Mapping[str, str], kind: str) -> dict[str, str]:
        plain = {name: bare.filled(value) for name, value in named.items() if not value.startswith(SECRET)}
        return plain | {split_id(each)[1]: value for each, value in keys.items() if each.startswith(f"{kind}:")}

    env, headers = filled(entry.config.env, ENV), filled(entry.config.headers, HEADER)
    for name, value in headers.items():
        if name.lower() == AUTHORIZATION.lower():
            # It may stand in the file in plain text, unknown to the store of secrets.
            sources.learn(value)
            sources.learn(value.partition(" ")[2])
    for value in slots.values():
        sources.learn(value)
    return Values(env, headers, slots)


def bearer(value: str) -> str:
    """Return a token as the header of that name has it; one that says how it is meant stays as it is."""
    value = value.strip()
    return value if " " in value else f"Bearer {value}"


def _keys(entry: ServerEntry, sources: KeySources, lacks: Sequence[Lack]) -> dict[str, str]:
    """Return the keys of an entry by their ids."""
    keys: dict[str, str] = {}
    missing: list[Lack] = []
    said = {each.id: each for each in lacks}
    places = key_places(entry, lacks)
    for key_id, reference in key_refs(entry).items():
        if any(same_id(key_id, each) for each in places):
            continue
        kept = _kept(entry, key_id, reference, sources.secrets)
        if kept is None:
            missing.append(said.get(key_id, Lack(key_id)))
        else:
            keys[key_id] = kept
    if missing:
        raise missing_keys(entry.name, missing)
    for key_id, place in places.items():
        value = sources.reader.read(entry, key_id, place)
        sources.learn(value)
        keys[key_id] = bearer(value) if key_id.lower() == f"{HEADER}:{AUTHORIZATION}".lower() else value
    return keys


def _kept(entry: ServerEntry, key_id: str, reference: str, secrets: Secrets) -> str | None:
    try:
        return secrets.get(reference, secret_origin(entry))
    except PilothouseError as error:
        if error.code == "key_moved":
            raise moved_key(entry.name, key_id) from None
        raise NeedsPerson(error.message, fix="Give it again in Settings, MCP.") from None
