"""A form that a server asks for, filled in field by field."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pilothouse.cli.terminal import Terminal, one_line
from pilothouse.types.json import JsonObject

Read = Callable[[str], Awaitable[str | None]]
_NOTHING = object()
# Fields that hold no words.
_CLOSED = ("boolean", "integer", "number")


async def fill(schema: JsonObject, read: Read, aside: Terminal) -> JsonObject | None:
    """Ask for each field of a flat object; None when the person leaves."""
    content: JsonObject = {}
    required = set(schema.get("required") or ())
    properties = schema.get("properties")
    for name, field in (properties if isinstance(properties, dict) else {}).items():
        value = await _ask(name, field if isinstance(field, dict) else {}, name in required, read, aside)
        if value is None:
            return None
        if value is not _NOTHING:
            content[name] = value
    return content


def has_free_text(schema: JsonObject) -> bool:
    """Return whether a form has a field that anything can be typed into."""
    properties = schema.get("properties")
    fields = properties.values() if isinstance(properties, dict) else ()
    return any(isinstance(one, dict) and one.get("type") not in _CLOSED and not _options(one) for one in fields)


def never_a_secret(server: str) -> str:
    """Return the warning on every form of a server: in which language it asks for what, nobody can tell."""
    return f"Never give a password or key here: {server or 'the server'} sees what you type."


async def _ask(name: str, field: JsonObject, required: bool, read: Read, aside: Terminal) -> object | None:
    aside.line(one_line(f"{field.get('title') or name}{'' if required else ' (may stay empty)'}"), "bold")
    if field.get("description"):
        aside.line(f"  {one_line(str(field['description']))}", "dim")
    options = _options(field)
    for number, (_value, label) in enumerate(options, 1):
        aside.line(f"  {number}  {one_line(label)}")
    hint = f" [{one_line(str(field['default']))}]" if "default" in field else ""
    default: object = field.get("default", _NOTHING)
    while True:
        line = await read(f"{_kind(field)}{hint} › ")
        if line is None:
            return None
        if not line.strip() and (default is not _NOTHING or not required):
            return default
        value = parse(line.strip(), field)
        if value is not None:
            return value
        aside.line(f"That is not {_kind(field)}.", "yellow")


def parse(text: str, field: JsonObject) -> object | None:
    """Return a field's value as its type wants it, None when the text is not one."""
    options = _options(field)
    if field.get("type") == "array":
        chosen = [_chosen(part.strip(), options) for part in text.split(",") if part.strip()]
        return None if any(one is None for one in chosen) else chosen
    if options:
        return _chosen(text, options)
    return _plain(text, str(field.get("type")))


def _plain(text: str, kind: str) -> object | None:
    if kind == "boolean":
        return {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}.get(text.lower())
    if kind in ("integer", "number"):
        try:
            return int(text) if kind == "integer" else float(text)
        except ValueError:
            return None
    return text or None


def _options(field: JsonObject) -> list[tuple[object, str]]:
    """Return what may be chosen: each value with its words."""
    items = field.get("items")
    source = items if field.get("type") == "array" and isinstance(items, dict) else field
    if isinstance(source.get("enum"), list):
        names = source["enumNames"] if isinstance(source.get("enumNames"), list) else source["enum"]
        return [(value, str(label)) for value, label in zip(source["enum"], names, strict=False)]
    titled = source.get("oneOf") or source.get("anyOf")
    listed = [one for one in titled if isinstance(one, dict)] if isinstance(titled, list) else []
    return [(one["const"], str(one.get("title", one["const"]))) for one in listed if "const" in one]


def _chosen(text: str, options: list[tuple[object, str]]) -> object | None:
    """Return the value that a number or the words stand for."""
    if text.isdigit() and 1 <= int(text) <= len(options):
        return options[int(text) - 1][0]
    return next((value for value, label in options if text in (str(value), label)), None)


def _kind(field: JsonObject) -> str:
    if field.get("type") == "array":
        return "some of them, with commas between"
    if _options(field):
        return "one of them"
    kind = str(field.get("format") or field.get("type") or "text")
    words = {"boolean": "yes or no", "integer": "a whole number", "number": "a number", "string": "text"}
    words |= {"email": "an email address", "uri": "a URL", "date": "a date (2026-01-31)"}
    return words.get(kind, kind if kind != "date-time" else "a date and time (2026-01-31T12:00:00Z)")
