"""Arguments, variables and headers as a registry's `server.json` describes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from pilothouse.mcp.proposals.blanks import Blanks, Kind, Wanted, is_secret
from pilothouse.types import limits
from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject, an_object, objects_in

_KINDS: dict[object, Kind] = {"number": "number", "boolean": "boolean", "filepath": "path"}
_VARIABLE = re.compile(r"\$?\{([A-Za-z_][\w.-]{0,79})\}")
# What says that a named argument has a value.
_VALUED = ("value", "valueHint", "default", "choices", "format", "placeholder", "isSecret", "isRepeated", "variables")
Put = Callable[[Wanted], str]


def wanted(raw: JsonObject, name: str, *, secret: bool | None = None) -> Wanted:
    """Return what an input of a registry asks for."""
    default = raw.get("default")
    choices = raw.get("choices")
    given = tuple(each for each in choices if isinstance(each, str)) if isinstance(choices, list) else ()
    return Wanted(
        name=name,
        about=str(raw.get("description") or ""),
        kind=_KINDS.get(raw.get("format"), "string"),
        required=raw.get("isRequired") is True,
        secret=is_secret(name, raw.get("isSecret")) if secret is None else secret,
        default=default if isinstance(default, str | int | float) else None,
        choices=given,
        example=str(raw.get("placeholder") or "")[: limits.PROPOSAL_ABOUT_CHARS],
        repeated=raw.get("isRepeated") is True,
    )


def templated(text: str, raw: JsonObject, blanks: Blanks) -> str:
    """Return a text with marks for its `{variables}`; one that nobody describes is to be filled in, too."""
    described = an_object(raw.get("variables"))

    def one(hit: re.Match[str]) -> str:
        known = an_object(described.get(hit[1]))
        if isinstance(known.get("value"), str) and not _VARIABLE.search(known["value"]):
            return str(known["value"])
        said = known.get("isSecret", True if raw.get("isSecret") is True else None)
        made = wanted(known, hit[1], secret=is_secret(hit[1], said))
        # Without it there is nothing to send or to start: only a default stands in for it.
        made = msgspec.structs.replace(made, required=made.required or raw.get("isRequired") is True or not known)
        return blanks.slot(made) if made.secret else blanks.value(made)

    return _VARIABLE.sub(one, text)


class Values(msgspec.Struct, frozen=True):
    """Variables or headers: those that are readable, with marks; those that are secrets are only among the fields."""

    plain: dict[str, str]
    names: tuple[str, ...]


def values(raw: object, kind: str, blanks: Blanks) -> Values:
    """Return the variables ("env") or headers ("header") of a package or an address."""
    plain: dict[str, str] = {}
    names: list[str] = []
    for each in objects_in(raw):
        name = str(each.get("name") or "").strip()
        if not name or re.search(r"[\s=\0:]", name) or len(name) > limits.PROPOSAL_ID_CHARS:
            raise BadField((), f"It names a {'variable' if kind == 'env' else 'header'} that cannot be one.")
        names.append(name)
        if isinstance(each.get("value"), str):
            plain[name] = templated(each["value"], each, blanks)
            continue
        made = wanted(each, name)
        if made.secret or (kind == "header" and name.lower() == "authorization"):
            blanks.key(f"{kind}:{name}", msgspec.structs.replace(made, secret=True))
        else:
            plain[name] = blanks.value(made)
    return Values(plain, tuple(names))


def words(raw: object, blanks: Blanks, *, of_runtime: bool = False) -> tuple[str, ...]:
    """Return the arguments with marks, each a word of its own."""
    made = tuple(word for each in objects_in(raw) for word in _words(each, blanks, of_runtime))
    if len(made) > limits.PROPOSAL_WORDS:
        raise BadField((), "Its command line is too long.")
    return made


def _words(raw: JsonObject, blanks: Blanks, of_runtime: bool) -> Iterator[str]:
    name = str(raw.get("name") or "") if raw.get("type") == "named" else ""
    if raw.get("type") == "named" and not name.startswith("-"):
        raise BadField((), "It names an option that does not begin with a dash.")
    if isinstance(raw.get("value"), str):
        yield from (name,) if name else ()
        if raw["value"] or not name:
            yield templated(raw["value"], raw, blanks)
        return
    if name and of_runtime and not any(key in raw for key in _VALUED):
        yield name
        return
    hint = str(raw.get("valueHint") or "")
    made = wanted(raw, name.lstrip("-") or hint or "argument")
    if name and made.kind == "boolean":
        yield from _switch(name, blanks.field_id(made), default=made.default)
        return
    mark = blanks.slot(made) if made.secret else blanks.value(made)
    if name:
        yield f"${{with:{_id_of(mark)}}}{name}"
    yield mark


def _switch(name: str, field_id: str, *, default: object) -> Iterator[str]:
    yield f"${{with:{field_id}}}{name}"
    if str(default).lower() == "true":
        yield f"${{without:{field_id}}}{name}=false"


def _id_of(mark: str) -> str:
    inside = mark[2:-1]
    return inside.removeprefix("field:") if inside.startswith("field:") else f"slot:{inside.removeprefix('secret:')}"
