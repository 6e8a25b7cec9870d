"""Tools by the names that models write: the server's and the tool's, or both in one."""

from __future__ import annotations

from pilothouse.types.messages import ModelRequest

# Stands between a server's prefix and the tool in the one name that providers take.
_JOINT = "__"


class ToolNames:
    """Finds the offered tool that a model means."""

    def __init__(self, request: ModelRequest) -> None:
        names = (*(spec.name for spec in request.tools), *request.on_demand)
        self._names = {name.lower(): name for name in names}

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
