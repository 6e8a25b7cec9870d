"""Lists of tools in the shapes that servers and gateways really send, brought into one."""

from __future__ import annotations

from pilothouse.types.json import JsonObject

_LISTS = ("tools", "items", "data")
_CURSORS = ("nextCursor", "next", "cursor", "next_cursor")
_SCHEMAS = ("inputSchema", "input_schema", "parameters")


def tools_of(result: JsonObject) -> list[object] | None:
    """Return the entries of a page of tools, or None when it has none of the known shapes."""
    return next((found for key in _LISTS if isinstance(found := result.get(key), list)), None)


def cursor_of(result: JsonObject) -> str | None:
    """Return where the next page begins; None at the end."""
    found = next((result[key] for key in _CURSORS if result.get(key)), None)
    return str(found) if isinstance(found, str | int) and not isinstance(found, bool) else None


def tool_of(entry: object) -> JsonObject:
    """Return one tool under the names of the specification; what is missing is empty."""
    if not isinstance(entry, dict):
        return {"name": "", "description": "", "inputSchema": {"type": "object"}, "unreadable": True}
    tool = {key: value for key, value in entry.items() if key not in _SCHEMAS}
    schema: object = next((entry[key] for key in _SCHEMAS if entry.get(key) is not None), {})
    tool["description"] = entry.get("description") or ""
    # A schema that is none is left as it is: whoever checks tools says what is wrong with it.
    tool["inputSchema"] = {"type": "object", **schema} if isinstance(schema, dict) else schema
    return tool


def server_names(result: JsonObject) -> list[str]:
    """Return the names in a gateway's list of servers."""
    listed = next((found for key in ("servers", "items", "data") if isinstance(found := result.get(key), list)), [])
    names = (entry.get("name") if isinstance(entry, dict) else entry for entry in listed)
    return [name for name in names if isinstance(name, str) and name]
