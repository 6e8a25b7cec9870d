"""Tools by the names that models write: the server's and the tool's, or both in one."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.types.messages import ToolSpec

# Stands between a server's prefix and the tool in the one name that providers take.
_JOINT = "__"


class ToolNames:
    """Finds the offered tool that a model means."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._names = {spec.name.lower(): spec.name for spec in tools}

    def __bool__(self) -> bool:
        return bool(self._names)

    def resolve(self, server: str, name: str) -> str | None:
        """Return the offered tool of this name, None when there is none or several."""
        server, name = server.strip().lower(), name.strip().lower()
        for written in (f"{server}{_JOINT}{name}", name, name.replace(".", _JOINT, 1)):
            if written in self._names:
                return self._names[written]
        ends = [full for short, full in self._names.items() if split(short)[1] == name]
        return ends[0] if len(ends) == 1 else None


def split(name: str) -> tuple[str, str]:
    """Return a tool's server and its name there; the server is empty for a built-in tool."""
    server, joint, tool = name.partition(_JOINT)
    return (server, tool) if joint and server and tool else ("", name)


def joined(server: str, name: str) -> str:
    """Return the one name of a server's tool."""
    return f"{server}{_JOINT}{name}" if server else name
