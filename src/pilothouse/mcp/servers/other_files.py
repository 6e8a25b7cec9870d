"""Where other programs keep their MCP servers, on each system."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from pilothouse.types import limits
from pilothouse.types.server_sharing import OtherProgram

LABELS: dict[OtherProgram, str] = {
    "claude-desktop": "Claude Desktop",
    "claude-code": "Claude Code",
    "vscode": "VS Code",
    "cursor": "Cursor",
    "windsurf": "Windsurf",
    "zed": "Zed",
    "goose": "goose",
    "codex": "Codex",
    "gemini-cli": "Gemini CLI",
    "lm-studio": "LM Studio",
    "cherry-studio": "Cherry Studio",
}
_CLINE = "settings/cline_mcp_settings.json"
_ROO = "settings/mcp_settings.json"
# Editors that keep their settings as VS Code does.
_EDITORS = (("VS Code", "Code"), ("VS Code Insiders", "Code - Insiders"), ("VSCodium", "VSCodium"))


class Folders(msgspec.Struct, frozen=True):
    """The folders from which other programs' files are named."""

    home: Path
    # Where programs keep their settings on this system.
    settings: Path
    # The same for those that do as Linux does everywhere but on Windows.
    dotted: Path
    environ: Mapping[str, str]
    windows: bool = False

    def named(self, variable: str, usual: Path) -> Path:
        """Return the folder that a variable names instead of the usual one."""
        return Path(self.environ[variable]) if self.environ.get(variable) else usual


def folders(platform: str = sys.platform, environ: Mapping[str, str] = os.environ) -> Folders:
    """Return the folders of this system."""
    home = Path.home()
    dotted = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    if platform == "win32":
        roaming = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
        return Folders(home, roaming, roaming, environ, windows=True)
    if platform == "darwin":
        return Folders(home, home / "Library" / "Application Support", dotted, environ)
    return Folders(home, dotted, dotted, environ)


def candidates(project: Path, where: Folders | None = None) -> list[tuple[str, Path]]:
    """Return where the servers of other programs may be, the person's first, then those of a project."""
    found: dict[Path, str] = {}
    for program, path in (*_of_person(where or folders()), *_of_project(project)):
        # A project may be the home folder: each file is named once.
        found.setdefault(path, program)
    return [(program, path) for path, program in found.items()]


def user_path(program: OtherProgram, where: Folders | None = None) -> Path | None:
    """Return the file in which a program keeps a person's servers; None where it has none."""
    return next((path for label, path in _of_person(where or folders()) if label == LABELS[program]), None)


def cherry_studio(where: Folders | None = None) -> Path | None:
    """Return the folder of Cherry Studio, if it was used here: its servers are in a browser's database in there."""
    return next((each for each in [(where or folders()).settings / "CherryStudio"] if os.path.isdir(each)), None)


def _of_person(where: Folders) -> Iterator[tuple[str, Path]]:
    home, settings = where.home, where.settings
    yield "Claude Desktop", settings / "Claude" / "claude_desktop_config.json"
    yield "Claude Code", where.named("CLAUDE_CONFIG_DIR", home) / ".claude.json"
    for label, name in _EDITORS:
        user = settings / name / "User"
        yield label, user / "mcp.json"
        yield from ((label, profile / "mcp.json") for profile in _profiles(user))
        # Until the middle of 2025 they stood among all other settings.
        yield label, user / "settings.json"
    yield "Cursor", home / ".cursor" / "mcp.json"
    yield "Windsurf", home / ".codeium" / "windsurf" / "mcp_config.json"
    yield "Zed", where.dotted / ("Zed" if where.windows else "zed") / "settings.json"
    goose = settings / "Block" / "goose" / "config" if where.windows else where.dotted / "goose"
    yield "goose", goose / "config.yaml"
    yield "Codex", where.named("CODEX_HOME", home / ".codex") / "config.toml"
    yield "Gemini CLI", home / ".gemini" / "settings.json"
    yield "LM Studio", home / ".lmstudio" / "mcp.json"
    for name in ("opencode.json", "opencode.jsonc"):
        yield "OpenCode", (home / ".config" if where.windows else where.dotted) / "opencode" / name
    for editor in ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"):
        kept = settings / editor / "User" / "globalStorage"
        yield "Cline", kept / "saoudrizwan.claude-dev" / _CLINE
        yield "Roo Code", kept / "rooveterinaryinc.roo-cline" / _ROO


def _of_project(folder: Path) -> Iterator[tuple[str, Path]]:
    yield "Claude Code", folder / ".mcp.json"
    yield "VS Code", folder / ".vscode" / "mcp.json"
    yield "Cursor", folder / ".cursor" / "mcp.json"
    yield "Roo Code", folder / ".roo" / "mcp.json"
    yield "Gemini CLI", folder / ".gemini" / "settings.json"
    yield "Codex", folder / ".codex" / "config.toml"
    yield "Zed", folder / ".zed" / "settings.json"
    yield "OpenCode", folder / "opencode.json"


def _profiles(user: Path) -> list[Path]:
    try:
        return sorted((user / "profiles").iterdir())[: limits.PROFILES_MOST]
    except OSError:
        return []


def project_of(file: Path, where: Folders | None = None) -> Path | None:
    """Return the folder of the project that a file belongs to: the one that holds `.vscode` and its like.

    None for a file that is a person's and no project's.
    """
    known, folder = where or folders(), file.absolute().parent
    of_person = {path for _, path in _of_person(known)}
    if file.absolute() in of_person or folder == known.home or folder.is_relative_to(known.settings):
        return None
    return folder.parent if folder.name.startswith(".") and folder.parent != known.home else folder
