"""Where other programs keep their MCP servers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pilothouse.types.home_paths import at_home

_CLINE = "settings/cline_mcp_settings.json"
_CLAUDE_DESKTOP = "claude_desktop_config.json"


def known_files() -> list[tuple[str, Path]]:
    """Return the files of other programs that are on this machine, with the program of each."""
    return [(program, path) for program, path in _candidates() if path.is_file()]


def origin_of(file: Path) -> str:
    """Return which program a file is of, or its name."""
    whole = at_home(file).absolute()
    program = next((program for program, path in _candidates() if path.absolute() == whole), None)
    return program or ("standard input" if str(file) == "-" else file.name)


def folder_of(file: Path) -> Path:
    """Return the folder of the project that a file belongs to: the one that holds `.vscode` and its like, else this."""
    folder = at_home(file).absolute().parent
    if str(file) == "-" or folder.is_relative_to(_settings_folder()) or folder == Path.home():
        return Path.cwd()
    return folder.parent if folder.name.startswith(".") and folder.parent != Path.home() else folder


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
        ("Windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"),
        ("Zed", settings / "zed" / "settings.json"),
        ("Cline", settings / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev" / _CLINE),
        ("Roo Code", here / ".roo" / "mcp.json"),
        ("Gemini CLI", home / ".gemini" / "settings.json"),
        ("Gemini CLI", here / ".gemini" / "settings.json"),
        ("LM Studio", home / ".lmstudio" / "mcp.json"),
        ("OpenCode", settings / "opencode" / "opencode.json"),
    ]


def _settings_folder() -> Path:
    """Return where programs keep their settings on this system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
