"""Packages for tests, as an installer would leave them: a module and its metadata in a folder of their own."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from pilothouse.plugins.discovery import GROUP, installed
from pilothouse.plugins.enabling import Enabling
from pilothouse.secrets.sealing import Sealer
from pilothouse.secrets.store import SecretStore


def install(folder: Path, name: str, source: str, *, entry: str = "") -> Path:
    """Lay out a package with one plugin; return the folder for the search path."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(dedent(source), encoding="utf-8")
    metadata = folder / f"{name}-1.2.3.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2.3\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {entry or name}\n", encoding="utf-8")
    return folder


def enable(home: Path, *names: str) -> None:
    """Enable plugins on the search path as they are now, all or those named."""
    enabling = Enabling(home / "plugins" / "enabled.json", Sealer(SecretStore(home / "secrets", find=lambda: None)))
    for found in installed():
        if not names or found.name in names:
            enabling.enable(found, found.digest(), "test")
