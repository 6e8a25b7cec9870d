"""How a setting is described, and what follows from that: its bounds, what changes it, and where it stands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, get_args, get_origin

import msgspec

from pilothouse.types.client_documents import document_problem
from pilothouse.types.errors import BadField
from pilothouse.types.json import Frozen
from pilothouse.types.spelling import bare, default_of


class Setting(Frozen, frozen=True, kw_only=True):
    """A setting as a form shows it; whether it is a switch, a choice or a number, its value says."""

    # The tab and the heading under which it stands.
    tab: Literal["general", "mcp", "permissions", "terminal", "usage"] = "general"
    part: str
    label: str
    note: str = ""
    # What stands in an empty field: what holds while nothing is set.
    usual: str = ""
    # The bounds of a number, and what it counts: what is beyond them is refused in these words,
    what: str = ""
    least: float | None = None
    most: float | None = None
    # What it is counted in, where that is written beside it.
    unit: Literal["", "dollars"] = ""
    # or in a sentence of its own.
    refusal: str = ""
    # What may be chosen, each with its words.
    choices: dict[str, str] = msgspec.field(default_factory=dict)
    # What is typed as text, where neither a choice nor a number is meant.
    text: Literal["", "document", "words"] = ""


class Field(msgspec.Struct, frozen=True):
    """One field of a group of settings."""

    name: str
    encode_name: str
    type: Any
    default: Any
    about: Setting | None
    # Its own settings, if it is a group of them.
    group: type[msgspec.Struct] | None


@cache
def fields_of(kind: type[msgspec.Struct]) -> tuple[Field, ...]:
    """Return the fields of a group of settings, each with what describes it."""
    return tuple(_field(info) for info in msgspec.structs.fields(kind))


def _field(info: msgspec.structs.FieldInfo) -> Field:
    kind = bare(info.type)
    notes = get_args(info.type) if kind is not info.type else ()
    about = next((note for note in notes if isinstance(note, Setting)), None)
    group = kind if isinstance(kind, type) and issubclass(kind, msgspec.Struct) else None
    return Field(info.name, info.encode_name, kind, default_of(info), about, group)


def described(kind: type[msgspec.Struct]) -> Iterator[tuple[tuple[Field, ...], Setting]]:
    """Yield every setting that is described, with the fields that lead to it."""
    for field in fields_of(kind):
        if field.group is not None:
            yield from (((field, *path), about) for path, about in described(field.group))
        elif field.about is not None:
            yield (field,), field.about


def shown(kind: type[msgspec.Struct]) -> dict[str, Setting]:
    """Return every setting that is described by its place in the API: `retention.days`."""
    return {".".join(field.encode_name for field in path): about for path, about in described(kind)}


def check_bounds(settings: msgspec.Struct) -> None:
    """Raise a BadField for the first number that is beyond its bounds, or text that is not to be chosen."""
    for path, about in described(type(settings)):
        value: Any = settings
        for field in path:
            value = getattr(value, field.name)
        if value is not None and (refusal := _refusal(about, value)):
            raise BadField(tuple(field.name for field in path), refusal)


def _refusal(about: Setting, value: Any) -> str:
    if about.text:
        return document_problem(value) if about.text == "document" else ""
    if about.choices and value not in about.choices:
        return f"{about.what or about.label} is one of: {', '.join(about.choices)}."
    if about.least is None or (about.least <= value <= (value if about.most is None else about.most)):
        return ""
    if about.refusal:
        return about.refusal
    upto = "on" if about.most is None else f"to {about.most:,.12g}"
    return f"{about.what} is a number from {about.least:,.12g} {upto}."


def patch_of(kind: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return what changes a group of settings: what is absent stays, and null gives the default again."""
    fields = [(field.name, _changed(field) | None | msgspec.UnsetType, msgspec.UNSET) for field in fields_of(kind)]
    return msgspec.defstruct(
        f"{kind.__name__}Patch",
        fields,
        namespace={"__doc__": "Changes; an absent field stays, and null gives the default again."},
        frozen=True,
        kw_only=True,
        rename="camel",
        forbid_unknown_fields=True,
    )


def _changed(field: Field) -> Any:
    if field.group is not None:
        return patch_of(field.group)
    if get_origin(field.type) is dict:
        # By name: others stay, and null takes one away.
        key, value = get_args(field.type)
        return dict[key, value | None]  # type: ignore[valid-type]
    return field.type
