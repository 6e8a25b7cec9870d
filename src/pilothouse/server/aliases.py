"""Other names that clients send for a field; what is kept has one."""

from __future__ import annotations

import msgspec

from pilothouse.types.errors import PilothouseError

_ALIAS, _FIELD = "mcp_selection", "selection"
_MARK = f'"{_ALIAS}"'.encode()


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
