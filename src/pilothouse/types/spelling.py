"""One record, two spellings: names with underscores in the files that people edit, with humps in the API."""

from __future__ import annotations

from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec

from pilothouse.types.json import JsonObject, convert

_T = TypeVar("_T", bound=msgspec.Struct)
# The records that are read from files, by what reads them.
_RECORDS: dict[type, type[msgspec.Struct]] = {}


def from_file(raw: JsonObject, kind: type[_T], at: tuple[str | int, ...] = ()) -> _T:
    """Return a record as a file has it; raise a BadField that says where, in the file's own words."""
    read: _T = _record(convert(raw, _in_file(kind), at))
    return read


def to_file(record: msgspec.Struct) -> JsonObject:
    """Return a record as a file has it; what is as usual is left out where the record says so."""
    config = record.__struct_config__
    made: JsonObject = {config.tag_field: config.tag} if config.tag_field else {}
    for info in msgspec.structs.fields(record):
        value = getattr(record, info.name)
        # As the encoder does: what is equal and was said all the same stays said.
        is_usual = value is info.default or (info.default_factory is type(value) and not value)
        if not (config.omit_defaults and is_usual):
            made[info.name] = _plain(value)
    return made


def default_of(info: msgspec.structs.FieldInfo) -> Any:
    """Return what a field is when nothing is said."""
    return info.default if info.default_factory is msgspec.NODEFAULT else info.default_factory()


def bare(kind: Any) -> Any:
    """Return a type without what was noted about it."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return to_file(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return msgspec.to_builtins(value)


@cache
def _in_file(kind: Any) -> Any:
    """Return the type with the file's names, however deep; the members of lists are spelled as in the API."""
    if get_origin(kind) in (Union, UnionType):
        return reduce(or_, map(_in_file, get_args(kind)))
    if get_origin(kind) is dict:
        key, value = get_args(kind)
        return dict[key, _in_file(value)]  # type: ignore[misc, valid-type]
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return kind
    fields = [(info.name, _in_file(bare(info.type)), *_default(info)) for info in msgspec.structs.fields(kind)]
    config = kind.__struct_config__
    read = msgspec.defstruct(
        kind.__name__, fields, tag_field=config.tag_field, tag=config.tag, frozen=True, kw_only=True
    )
    _RECORDS[read] = kind
    return read


def _default(info: msgspec.structs.FieldInfo) -> tuple[Any, ...]:
    return () if info.required else (default_of(info),)


def _record(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _record(each) for name, each in value.items()}
    if (kind := _RECORDS.get(type(value))) is None:
        return value
    return kind(**{name: _record(getattr(value, name)) for name in value.__struct_fields__})
