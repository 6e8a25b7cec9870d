"""Where other programs keep their MCP servers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CLAUDE_DESKTOP = "claude_desktop_config.json"


def known_files() -> list[tuple[str, Path]]:
    """Return the files of other programs that are on this machine, with the program of each."""
    return [(program, path) for program, path in _candidates() if path.is_file()]


def origin_of(file: Path) -> str:
    """Return which program a file is of, or its name."""
    whole = file.expanduser().absolute()
    program = next((program for program, path in _candidates() if path.absolute() == whole), None)
    return program or ("standard input" if str(file) == "-" else file.name)


def _candidates() -> list[tuple[str, Path]]:
    home, here, settings = Path.home(), Path.cwd(), _settings_folder()
    return [
        ("Claude Desktop", settings / "Claude" / _CLAUDE_DESKTOP),
        ("Claude Code", home / ".claude.json"),
        ("Claude Code", here / ".mcp.json"),
        ("VS Code", settings / "Code" / "User" / "mcp.json"),
        ("VS Code", here / ".vscode" / "mcp.json"),
        ("Cursor", home / ".cursor" / "mcp.json"),
        ("Cursor", here / ".cursor" / "mcp.json"),
    ]


def _settings_folder() -> Path:
    """Return where programs keep their settings on this system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
