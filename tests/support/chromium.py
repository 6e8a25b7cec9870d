"""Finds a Chromium for the browser tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

# Where scripts/test unpacks one, on machines that have none and where it may not install any.
UNPACKED = Path(__file__).resolve().parents[2] / ".cache" / "chromium"
VARIABLE = "PILOTHOUSE_CHROMIUM"
# The first is Chromium without its windows, which takes a third less of the processor for each page.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
# Where Playwright puts its own, by platform, and what the program in there is called.
PLAYWRIGHT_FOLDERS = ("~/.cache/ms-playwright", "~/Library/Caches/ms-playwright")
PLAYWRIGHT_PROGRAMS = ("chromium-*/chrome-linux*/chrome", "chromium-*/chrome-mac*/Chromium.app/Contents/MacOS/Chromium")
# A third of the processor's time of a test went into a page of Chromium's own, the list under the address bar, which
# each new window loads unseen; and some into a process that waits for a page that never comes.
NOT_WANTED = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")
# What Playwright switches off by the same argument. The last one counts, so it is said again.
NOT_WANTED_BY_PLAYWRIGHT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable",
    "LensOverlay",
    "MediaRouter",
    "PaintHolding",
    "ThirdPartyStoragePartitioning",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "OptimizationHints",
    "NetworkTimeServiceQuerying",
    "AimEnabled",
    "PreconnectToSearch",
)
# No sandbox: tests may run as root, and open only pages of our own. The rest keeps it quiet and on loopback.
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    f"--disable-features={','.join((*NOT_WANTED_BY_PLAYWRIGHT, *NOT_WANTED))}",
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
