"""Reading a body: within its limits of bytes, time and depth, with the fields that it may have and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import msgspec
from msgspec import inspect
from starlette.requests import ClientDisconnect, Request

from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError

# Another name that clients send for a field; what is kept has one.
_ALIAS, _FIELD = "mcp_selection", "selection"
_MARK = f'"{_ALIAS}"'.encode()
# A whole string, or a bracket outside of one. Written so that a long string costs one pass.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]|[\]}]', re.DOTALL)


async def read_body(request: Request) -> bytes:
    """Return the whole body; the guard's `receive` has already bounded its size and its time."""
    try:
        return await request.body()
    except ClientDisconnect:
        raise PilothouseError("bad_request", "The request ended before its body did.") from None


def check_depth(raw: bytes) -> None:
    """Refuse JSON that is nested deeper, or in more pieces, than any client of ours sends."""
    if raw.count(b"[") + raw.count(b"{") <= limits.JSON_DEPTH:
        return
    depth = pieces = 0
    for token in _TOKEN.finditer(raw):
        first = raw[token.start()]
        if first in b"[{":
            depth += 1
            pieces += 1
            if depth > limits.JSON_DEPTH or pieces > limits.JSON_PIECES:
                raise PilothouseError(
                    "bad_request", f"The request's JSON is nested deeper than {limits.JSON_DEPTH} levels or too fine."
                )
        elif first in b"]}":
            depth -= 1


def plain_names(raw: bytes) -> bytes:
    """Return a body whose `mcp_selection`, of a message or in a conversation's settings, is called `selection`."""
    if _MARK not in raw:
        return raw
    body = msgspec.json.decode(raw)
    if not isinstance(body, dict):
        return raw
    if isinstance(settings := body.get("settings"), dict):
        body["settings"] = _renamed(settings)
    return msgspec.json.encode(_renamed(body))


def _renamed(given: dict[str, object]) -> dict[str, object]:
    if _ALIAS not in given:
        return given
    rest = {name: value for name, value in given.items() if name != _ALIAS}
    if rest.get(_FIELD, given[_ALIAS]) != given[_ALIAS]:
        message = f"`{_FIELD}` and `{_ALIAS}` are two names for the same, and say different things."
        raise PilothouseError("bad_request", message, fix=f"Send `{_FIELD}` only.")
    return {**rest, _FIELD: given[_ALIAS]}


def check_fields(raw: bytes, kind: type[msgspec.Struct]) -> None:
    """Raise a BadField for a field that a valid body has and its type does not know, at any depth.

    Records that are also stored accept the fields of a newer version, so their types do not refuse them.
    """
    parts = _open_parts(kind)
    if not parts:
        return
    for name, value in msgspec.json.decode(raw, type=dict[str, msgspec.Raw]).items():
        if name in parts:
            _check_value(msgspec.json.decode(value), parts[name], (name,))


@lru_cache(maxsize=256)
def _open_parts(kind: type[msgspec.Struct]) -> dict[str, inspect.Type]:
    """Return the fields of a body below which a record accepts unknown fields."""
    return {name: info for name, info in _fields(inspect.type_info(kind)).items() if _is_open(info, set())}


def _fields(info: inspect.Type) -> dict[str, inspect.Type]:
    fields = info.fields if isinstance(info, inspect.StructType) else ()
    return {field.encode_name: field.type for field in fields}


def _is_open(info: inspect.Type, seen: set[type]) -> bool:
    if isinstance(info, inspect.StructType):
        if info.cls in seen:
            return False
        seen.add(info.cls)
        strict = info.cls.__struct_config__.forbid_unknown_fields
        return not strict or any(_is_open(each, seen) for each in _fields(info).values())
    return any(_is_open(part, seen) for part in _inner_types(info))


def _inner_types(info: inspect.Type) -> list[inspect.Type]:
    """Return the types of what a container holds, or of the choices of a union."""
    found = [getattr(info, name, None) for name in ("item_type", "value_type")]
    inner = [each for each in found if isinstance(each, inspect.Type)]
    return [*inner, *getattr(info, "item_types", ()), *getattr(info, "types", ())]


def _check_value(value: object, info: inspect.Type, path: tuple[str | int, ...]) -> None:
    if isinstance(info, inspect.UnionType):
        for choice in info.types:
            if _is_chosen(value, choice):
                _check_value(value, choice, path)
        return
    if isinstance(info, inspect.StructType) and isinstance(value, dict):
        unknown = value.keys() - _fields(info).keys() - {info.tag_field}
        if unknown:
            where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
            raise BadField(path, f"There is no field “{min(unknown)}” in “{where.removeprefix('.')}”.")
    for key, inner, kind in _parts(value, info):
        _check_value(inner, kind, (*path, key))


def _parts(value: object, info: inspect.Type) -> Iterator[tuple[str | int, object, inspect.Type]]:
    """Yield what an object or a list holds: its key, its value and its type."""
    if isinstance(value, dict):
        fields = _fields(info)
        for name, inner in value.items():
            kind = info.value_type if isinstance(info, inspect.DictType) else fields.get(name)
            if kind is not None:
                yield name, inner, kind
    elif isinstance(value, list):
        kinds = info.item_types if isinstance(info, inspect.TupleType) else _inner_types(info)[:1] * len(value)
        for index, (inner, kind) in enumerate(zip(value, kinds, strict=False)):
            yield index, inner, kind


def _is_chosen(value: object, choice: inspect.Type) -> bool:
    """Return whether a value that fits a union is of this choice; msgspec allows one choice for each kind of JSON."""
    if isinstance(choice, inspect.StructType) and choice.tag_field is not None:
        return isinstance(value, dict) and value.get(choice.tag_field) == choice.tag
    if isinstance(choice, inspect.StructType | inspect.DictType):
        return isinstance(value, dict)
    return isinstance(value, list) and bool(_inner_types(choice))
