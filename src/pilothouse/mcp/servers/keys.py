"""The keys of an entry: which it has, where each comes from, and which its server said it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pilothouse.mcp.client.key_labels import AUTHORIZATION, label_of
from pilothouse.mcp.client.missing_keys import Lack
from pilothouse.mcp.servers.entries import SECRET, SLOT, slots_of
from pilothouse.mcp.servers.secret_detection import strength
from pilothouse.types.server_keys import KeyPlace, ServerKey
from pilothouse.types.servers import ServerEntry

ENV, HEADER, IN_TEXT = "env", "header", "slot"
_KINDS = (ENV, HEADER, IN_TEXT)


def split_id(key_id: str) -> tuple[str, str]:
    """Return the kind of a key and the name of what gets it; two empty texts for what is no id."""
    kind, sign, name = key_id.partition(":")
    return (kind, name) if sign and name.strip() and kind in _KINDS else ("", "")


def same_id(one: str, other: str) -> bool:
    """Return whether two ids are of the same key: the names of headers may be written in any size."""
    return one == other or (one.startswith(f"{HEADER}:") and one.lower() == other.lower())


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable's or header's value is a key: kept elsewhere, or a token in plain text."""
    return value.startswith(SECRET) or (name.lower() == AUTHORIZATION.lower() and not SLOT.search(value))


def key_places(entry: ServerEntry, lacks: Sequence[Lack] = ()) -> Mapping[str, KeyPlace]:
    """Return the keys that are read at each start, the one of the oldest form among them."""
    path = entry.keyfile_path if entry.auth_type == "keyfile" else None
    named = _legacy_id(entry, lacks) if path else ""
    if not path or not named or any(same_id(named, each) for each in entry.config.keys):
        return entry.config.keys
    return {**entry.config.keys, named: KeyPlace(file=path)}


def _legacy_id(entry: ServerEntry, lacks: Sequence[Lack]) -> str:
    """Return what the key file of an entry is for: the token of a remote server, the one key that a local one lacks."""
    if entry.transport == "http":
        given = any(name.lower() == AUTHORIZATION.lower() for name in entry.config.headers)
        return "" if given else f"{HEADER}:{AUTHORIZATION}"
    wanted = [each.id for each in lacks if strength(each.id) and split_id(each.id)[1] not in entry.config.env]
    return wanted[0] if len(wanted) == 1 else ""


def keys_of(entry: ServerEntry, lacks: Sequence[Lack] = ()) -> tuple[ServerKey, ...]:
    """Return the keys of an entry as people see them, those it lacks at the end."""
    places, said = key_places(entry, lacks), {each.id: each for each in lacks}
    config = entry.config
    pasted = [f"{ENV}:{name}" for name, value in config.env.items() if is_secret("", value)]
    pasted += [f"{HEADER}:{name}" for name, value in config.headers.items() if is_secret(name, value)]
    pasted += [f"{IN_TEXT}:{slot}" for slot in slots_of(entry)]
    have = [_elsewhere(key_id, place) for key_id, place in places.items()]
    have += [
        ServerKey(
            id=key_id,
            label=label_of(key_id),
            source="missing" if key_id in said else "pasted",
            about=said[key_id].about if key_id in said else "",
        )
        for key_id in pasted
        if key_id not in places
    ]
    known = [*places, *pasted, *(f"{ENV}:{name}" for name in config.env)]
    known += [f"{HEADER}:{name}" for name in config.headers]
    lacked = [
        ServerKey(id=each.id, label=label_of(each.id), source="missing", about=each.about)
        for each in lacks
        if not any(same_id(each.id, other) for other in known)
    ]
    return (*have, *lacked)


def _elsewhere(key_id: str, place: KeyPlace) -> ServerKey:
    return ServerKey(
        id=key_id,
        label=label_of(key_id),
        source="environment" if place.environment else "file",
        path=place.file,
        variable=place.environment,
    )


def key_lines(entry: ServerEntry) -> tuple[str, ...]:
    """Return what a person agrees to about the keys that are read at each start: what gets each, and where it lies."""
    return tuple(_line(key_id, place) for key_id, place in sorted(entry.config.keys.items()))


def line_of(key_id: str, place: KeyPlace | None) -> str:
    """Return the line of a consent about one key: of a pasted one the name of what gets it."""
    return _line(key_id, place) if place is not None else split_id(key_id)[1]


def _line(key_id: str, place: KeyPlace) -> str:
    kind, name = split_id(key_id)
    gets = f"${{secret:{name}}}" if kind == IN_TEXT else name
    return f"{gets}, read from {f'the variable {place.environment}' if place.environment else place.file}"
