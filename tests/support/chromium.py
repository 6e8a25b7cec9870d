"""Finds a Chromium for the browser tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

# Where scripts/test unpacks one, on machines that have none and where it may not install any.
UNPACKED = Path(__file__).resolve().parents[2] / ".cache" / "chromium"
VARIABLE = "PILOTHOUSE_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# Where Playwright puts its own, by platform, and what the program in there is called.
PLAYWRIGHT_FOLDERS = ("~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")
PLAYWRIGHT_PROGRAMS = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium")
# No sandbox: tests may run as root, and open only pages of our own. The rest keeps it quiet and on loopback.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
)
MISSING = (
    "The browser tests need Chromium and none was found: install it (Debian: apt-get install chromium), "
    f"or name it: {VARIABLE}=/path/to/chromium"
)


class ChromiumUnavailable(Exception):
    """No Chromium can be had here, and what to do about it."""


def candidates() -> Iterator[str]:
    """Yield where a Chromium may be, the most deliberate choice first."""
    yield from (os.environ.get(VARIABLE, ""), *(shutil.which(name) or "" for name in NAMES), *APPLICATIONS)
    for folder in PLAYWRIGHT_FOLDERS:
        for pattern in PLAYWRIGHT_PROGRAMS:
            yield from map(str, sorted(Path(folder).expanduser().glob(pattern), reverse=True))
    yield str(UNPACKED / "chromium")


def find() -> str:
    """Return the path of a Chromium; raise with one plain sentence if there is none."""
    for path in candidates():
        if path and os.access(path, os.X_OK):
            return path
    raise ChromiumUnavailable(MISSING)
