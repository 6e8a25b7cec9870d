"""`pilothouse settings --export` and `--import`: the settings of a PostgreSQL installation as files."""

from __future__ import annotations

from pathlib import Path

from pilothouse.cli.terminal import messages, output


def settings_files(export: Path | None, taken: Path | None) -> int:
    """Write the files, or take them over; both where both are wanted, in this order."""
    from pilothouse.wiring.settings_files import export_settings, import_settings

    if export is not None:
        for file in export_settings(export):
            output().line(str(file))
    if taken is not None:
        names = import_settings(taken)
        messages().line(f"Taken over for all: {', '.join(names)}.")
    return 0
