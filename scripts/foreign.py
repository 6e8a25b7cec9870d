"""Installs what the tests talk to and did not write: the conformance suite, servers of others, and who judges wires.

Each is pinned in a folder of tests/ and installed once; `scripts/foreign.py` alone installs all of them.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import page_build  # noqa: E402
from tests.support import real_servers  # noqa: E402  the tests' own places

CONFORMANCE = ROOT / "tests" / "conformance"
WIRES = ROOT / "tests" / "wires"
ENVIRONMENTS = (
    ("servers in Python", real_servers.PYTHON, real_servers.FOLDER / "python.txt"),
    ("the makers' SDKs", ROOT / ".cache" / "sdks", WIRES / "sdks.txt"),
    ("a proxy for models", ROOT / ".cache" / "proxy", WIRES / "proxy.txt"),
)
# They wait for the registries and for the disk more than for a core.
AT_ONCE = 3
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")


def once(stamp: Path, *locks: Path) -> str:
    """Return what the stamp must say after installing, empty when it says so already."""
    wanted = hashlib.sha256(b"".join(path.read_bytes() for path in locks)).hexdigest()
    return "" if page_build.read(stamp) == wanted else wanted


def npm_folder(folder: Path) -> None:
    """Install the locked packages of a folder into it."""
    stamp = folder / "node_modules" / ".locked-by"
    if wanted := once(stamp, folder / "package-lock.json", folder / "package.json"):
        print(f"foreign: {folder.relative_to(ROOT)}", flush=True)
        page_build.npm("ci", *page_build.QUIETLY, cwd=folder)
        stamp.write_text(wanted)


def environment(what: str, folder: Path, lock: Path) -> None:
    """Install programs in Python into an environment of their own: they pin what we pin otherwise."""
    stamp = folder / ".locked-by"
    if wanted := once(stamp, lock):
        print(f"foreign: {what}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
        # Of all these packages few modules are used, and those are compiled when they are.
        install = ("install", "--quiet", "--no-compile", "--no-deps", "--require-hashes", "-r", lock)
        subprocess.run([sys.executable, *PIP, "--python", folder / "bin" / "python", *install], check=True)
        stamp.write_text(wanted)


def install() -> bool:
    """Install everything that is missing; return whether it is there."""
    try:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            work = [pool.submit(environment, *one) for one in ENVIRONMENTS]
            work += [pool.submit(npm_folder, folder) for folder in (CONFORMANCE, real_servers.FOLDER)]
        for one in work:
            one.result()
    except (page_build.PageBuildError, subprocess.CalledProcessError, OSError) as error:
        print(f"foreign: {error} The package registries must be reachable the first time.", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(0 if install() else 1)
