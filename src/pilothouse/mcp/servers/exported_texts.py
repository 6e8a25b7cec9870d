"""Plain data as JSON, TOML and YAML that a person copies: nothing in it is invisible."""

from __future__ import annotations

import json
import re

from pilothouse.mcp.servers.consent_warnings import visible
from pilothouse.types.json import JsonObject

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def as_json(content: JsonObject) -> str:
    """Return data as indented JSON; what does not print is written by its number."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    return "".join(each if each == "\n" or visible(each) == each else json.dumps(each)[1:-1] for each in text)


def as_yaml(content: JsonObject) -> str:
    """Return data as YAML; what is no ASCII is written by its number."""
    # Imported here: it takes as long as everything else that an export needs.
    import yaml  # noqa: PLC0415

    return yaml.safe_dump(content, sort_keys=False, allow_unicode=False, width=10_000).rstrip()


def as_toml(content: JsonObject) -> str:
    """Return tables of tables as TOML; what is empty is left out."""
    lines: list[str] = []
    for place, tables in content.items():
        for name, table in tables.items():
            lines.append(f"[{_key(place)}.{_key(name)}]")
            lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items() if value not in ("", [], {})]
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: object) -> str:
    match value:
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case dict():
            return "{ " + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + " }"
        case _:
            return _text(str(value))


def _text(text: str) -> str:
    inner = "".join(
        f"\\{each}" if each in '"\\' else each if visible(each) == each else f"\\U{ord(each):08x}" for each in text
    )
    return f'"{inner}"'
