"""The keys that a form gives by their ids, sorted into what is kept as a secret and what is read at each start."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set

import msgspec

from pilothouse.mcp.client.key_labels import AUTHORIZATION, spoken
from pilothouse.mcp.client.missing_keys import Lack
from pilothouse.mcp.servers.entries import key_refs, secret_origin
from pilothouse.mcp.servers.keys import ENV, HEADER, IN_TEXT, key_places, keys_of, line_of, same_id, split_id
from pilothouse.mcp.servers.values import bearer
from pilothouse.types.errors import BadField
from pilothouse.types.server_keys import KeyInput, KeyPlace
from pilothouse.types.servers import ServerEntry, ServerInput, Transport

_USUAL = {"http": (HEADER, IN_TEXT), "stdio": (ENV, IN_TEXT)}


def with_given_keys(
    body: ServerInput, before: ServerEntry | None, transport: Transport
) -> tuple[ServerInput, dict[str, KeyPlace]]:
    """Return a form with its pasted keys among its secrets, and the keys that are read at each start."""
    made = _Given(body)
    there = dict(key_places(before)) if before else {}
    for key_id, given in body.keys.items():
        kind, name = split_id(key_id)
        if kind not in _USUAL[transport]:
            raise BadField((), f"“{key_id}” is no key that this server can have.")
        if given is None:
            made.keep(key_id, there, before)
        elif (value := _checked(key_id, given).value) is not None:
            made.paste(kind, name, value)
        else:
            made.read_from(key_id, given)
    return made.body(), made.read


class _Given:
    """A form on its way: what was given by an id takes the place of what was given by a name."""

    def __init__(self, body: ServerInput) -> None:
        self._body = body
        self._env = dict(body.env)
        self._headers = dict(body.headers)
        self._secrets = dict(body.secrets)
        self.read: dict[str, KeyPlace] = {}

    def body(self) -> ServerInput:
        """Return the form as it would be if every key had been given by its name."""
        read = [split_id(each) for each in self.read]
        variables, headers = ({name for kind, name in read if kind == wanted} for wanted in (ENV, HEADER))
        return msgspec.structs.replace(
            self._body,
            env=self._env,
            headers=self._headers,
            secrets=self._secrets,
            plain_env={name: value for name, value in self._body.plain_env.items() if name not in variables},
            plain_headers={name: value for name, value in self._body.plain_headers.items() if name not in headers},
        )

    def paste(self, kind: str, name: str, value: str) -> None:
        """Keep a key as a secret."""
        if kind == ENV:
            self._env[name] = value
        elif kind == HEADER:
            self._drop_header(name)
            self._headers[name] = bearer(value) if name.lower() == AUTHORIZATION.lower() else value
        else:
            self._secrets[name] = value

    def read_from(self, key_id: str, given: KeyInput) -> None:
        """Read a key at each start; nothing of it is kept."""
        self._take_away(key_id)
        self.read[key_id] = KeyPlace(file=(given.file or "").strip(), environment=(given.environment or "").strip())

    def keep(self, key_id: str, there: dict[str, KeyPlace], before: ServerEntry | None) -> None:
        """Leave a key as it is, wherever it comes from; one that was never given stays so."""
        kind, name = split_id(key_id)
        known = next((each for each in there if same_id(each, key_id)), None)
        if known is not None and before is not None:
            place = there[known]
            # Whoever wrote it by hand meant the address of then.
            self._take_away(known)
            self.read[known] = msgspec.structs.replace(place, origin=place.origin or secret_origin(before))
        elif before is not None and kind == ENV and name in before.config.env:
            self._env.setdefault(name, None)
        elif before is not None and kind == HEADER and name in before.config.headers:
            self._headers.setdefault(name, None)

    def _take_away(self, key_id: str) -> None:
        kind, name = split_id(key_id)
        if kind == ENV:
            self._env.pop(name, None)
        elif kind == HEADER:
            self._drop_header(name)
        else:
            self._secrets.pop(name, None)

    def _drop_header(self, name: str) -> None:
        for each in [each for each in self._headers if each.lower() == name.lower()]:
            del self._headers[each]


def bound(entry: ServerEntry) -> ServerEntry:
    """Return an entry whose new keys belong to its address; those that belong to another stay there."""
    origin = secret_origin(entry)
    keys = {
        key_id: place if place.origin else msgspec.structs.replace(place, origin=origin)
        for key_id, place in entry.config.keys.items()
    }
    return msgspec.structs.replace(entry, config=msgspec.structs.replace(entry.config, keys=keys)) if keys else entry


def is_unread(entry: ServerEntry) -> bool:
    """Return whether an entry of the oldest form names a key file of which nobody knows yet what it is for."""
    return entry.auth_type == "keyfile" and bool(entry.keyfile_path) and not key_places(entry)


def _checked(key_id: str, given: KeyInput) -> KeyInput:
    """Return a key if it says in exactly one way what it is."""
    label = spoken(key_id)
    ways = [text for text in (given.value, given.file, given.environment) if text is not None]
    if len(ways) != 1:
        raise BadField((), f"The {label} is pasted, read from a file, or read from a variable: give one of these.")
    if not ways[0].strip():
        raise BadField((), f"The {label} is empty.")
    # A private key has many lines, and a variable takes them.
    if re.search(r"[\r\n\0]", ways[0].strip()) and not (given.value is not None and key_id.startswith(f"{ENV}:")):
        raise BadField((), f"The {label} must be one line.")
    return msgspec.structs.replace(given, value=given.value.strip()) if given.value is not None else given


def given_ids(body: ServerInput, secrets: Mapping[str, str], entry: ServerEntry) -> frozenset[str]:
    """Return the ids of the keys that a form gives anew, in whatever way."""
    named = [key_id for key_id, key in body.keys.items() if key is not None]
    return frozenset((*named, *(key_id for key_id, name in key_refs(entry).items() if name in secrets)))


def lines_changed(before: ServerEntry, now: ServerEntry, given: Set[str], lacks: Sequence[Lack]) -> frozenset[str]:
    """Return the lines of a consent about keys that a server asked for and now gets, or that were taken from it."""
    known, after = ({each.id for each in keys_of(one, lacks)} for one in (before, now))
    changed = known & given | known - after
    return frozenset(line_of(each, one.config.keys.get(each)) for each in changed for one in (before, now))
