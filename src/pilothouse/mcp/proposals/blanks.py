"""What a person fills in, collected while a proposal is made: each thing once, with its label, its schema and its mark.

Marks stand in the texts of a proposal's server. `${field:ID}` is the value; `${secret:NAME}` the key "slot:NAME". A
word of the arguments that begins with `${with:ID}` is there when something was given, or a switch is on; one that
begins with `${without:ID}` when a switch is off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from pilothouse.mcp.client.key_labels import label_of
from pilothouse.mcp.proposals.key_pages import key_page
from pilothouse.mcp.proposals.texts import link_in, plain_id, shown
from pilothouse.mcp.servers.secret_detection import names_secret
from pilothouse.types import limits
from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject
from pilothouse.types.proposals import ProposalField
from pilothouse.types.servers import AuthType

Kind = Literal["string", "number", "integer", "boolean", "path", "folder", "file"]
FIELD = re.compile(r"\$\{field:([^{}]+)\}")
WITH = re.compile(r"\$\{(with|without):([^{}]+)\}")
_TOKENS = ("TOKEN", "PAT", "API_KEY", "APIKEY")
_PATHS = ("path", "folder", "file")


class Wanted(msgspec.Struct, frozen=True):
    """Something to fill in, as whoever describes it describes it."""

    name: str
    title: str = ""
    about: str = ""
    kind: Kind = "string"
    required: bool = False
    secret: bool = False
    default: object = None
    choices: tuple[str, ...] = ()
    # An example of a value.
    example: str = ""
    repeated: bool = False


class Blanks:
    """The fields of one proposal."""

    def __init__(self) -> None:
        self._fields: dict[str, ProposalField] = {}

    @property
    def fields(self) -> tuple[ProposalField, ...]:
        """The fields in the order in which they were met, those that must be filled in first."""
        return tuple(sorted(self._fields.values(), key=lambda each: not each.required))

    @property
    def auth_type(self) -> AuthType:
        return auth_type_of(self._fields.values())

    def value(self, wanted: Wanted) -> str:
        """Return the mark of a value that is no secret."""
        return f"${{field:{self.field_id(wanted)}}}"

    def field_id(self, wanted: Wanted) -> str:
        """Return the id of a value that is no secret."""
        field_id = f"value:{plain_id(wanted.name)}"
        label = shown(wanted.title, limits.KEY_LABEL_CHARS) or label_of(f"slot:{_spaced(wanted.name)}")
        self._add(_described(ProposalField(id=field_id, label=label, schema=schema_of(wanted)), wanted))
        return field_id

    def slot(self, wanted: Wanted) -> str:
        """Return the mark of a secret inside a text."""
        slot = plain_id(wanted.name)
        self.key(f"slot:{slot}", wanted)
        return f"${{secret:{slot}}}"

    def key(self, key_id: str, wanted: Wanted) -> None:
        """Note a secret that is a whole variable or header, or stands in a slot."""
        label = shown(wanted.title, limits.KEY_LABEL_CHARS) or label_of(key_id)
        self._add(_described(ProposalField(id=key_id, label=label, schema=_KEY, secret=True), wanted))

    def _add(self, field: ProposalField) -> None:
        before = self._fields.get(field.id)
        if before is None and len(self._fields) >= limits.PROPOSAL_FIELDS:
            raise BadField((), f"It wants more than {limits.PROPOSAL_FIELDS} things filled in.")
        self._fields[field.id] = (
            field if before is None else msgspec.structs.replace(before, required=before.required or field.required)
        )


_KEY: JsonObject = {"type": "string"}


def _described(field: ProposalField, wanted: Wanted) -> ProposalField:
    # Of a service that is known by its name the page is known, too, whatever a stranger's text says.
    page = key_page(wanted.name) if field.secret else ""
    return msgspec.structs.replace(
        field,
        required=wanted.required,
        about=shown(wanted.about, limits.PROPOSAL_ABOUT_CHARS),
        link=page or link_in(wanted.about),
    )


def _spaced(name: str) -> str:
    return re.sub(r"^-+", "", name)


def schema_of(wanted: Wanted) -> JsonObject:
    """Return the JSON Schema of a value."""
    one: JsonObject = {"type": "string" if wanted.kind in _PATHS else wanted.kind}
    if wanted.kind in _PATHS:
        one["format"] = "path"
    if wanted.choices:
        one["enum"] = list(wanted.choices)
    if wanted.example:
        one["examples"] = [wanted.example]
    made: JsonObject = {"type": "array", "items": one} if wanted.repeated else one
    default = _default(wanted)
    return made if default is None else {**made, "default": default}


def _default(wanted: Wanted) -> object:
    """Return what it is when nothing is filled in, if that is of its own kind."""
    given = wanted.default
    if wanted.repeated:
        many = given if isinstance(given, list) else [given]
        texts = [_text(each) for each in many if isinstance(each, str | int | float)]
        return texts or None
    match wanted.kind:
        case "boolean":
            return {"true": True, "false": False}.get(str(given).lower())
        case "number" | "integer":
            return _number(given)
        case _:
            text = _text(given) if isinstance(given, str | int | float) else ""
            return text if text and (not wanted.choices or text in wanted.choices) else None


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)[: limits.PROPOSAL_VALUE_CHARS]


def _number(given: object) -> int | float | None:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        return None
    try:
        made = float(given)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(made):
        return None
    return int(made) if made.is_integer() else made


def auth_type_of(fields: Iterable[ProposalField]) -> AuthType:
    """Return how a server wants to know who one is, as far as its description says; unsure is a key."""
    named: Sequence[tuple[str, bool]] = [(_bare(each.id), each.secret) for each in fields]
    if _pair(named, "CLIENT_ID", "CLIENT_SECRET"):
        return "oauth"
    if any(secret and name.endswith(_TOKENS) for name, secret in named):
        return "api_key"
    # What is kept as a secret under another name is a key all the same, as far as anyone can tell.
    return "api_key" if any(secret for _, secret in named) else "none"


def _pair(named: Sequence[tuple[str, bool]], one: str, other: str) -> bool:
    names = {name for name, _ in named}
    return any(name.endswith(one) and f"{name.removesuffix(one)}{other}" in names for name in names)


def _bare(field_id: str) -> str:
    name = field_id.partition(":")[2]
    return re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper())


def is_secret(name: str, said: object) -> bool:
    """Return whether something is a secret: because its description says so, or its name does and nobody denies it."""
    return said is True or (said is not False and names_secret(name))
