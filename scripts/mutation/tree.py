"""A throw-away copy of the repository, where one file at a time is changed and tests are run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scripts import page_build
from scripts.mutation import page_tests
from scripts.mutation.data import ROOT, Mutant

# What is not copied: made again at need, or linked to where it stands.
LEFT_OUT = (".git", ".venv", ".cache", ".*_cache", "node_modules", "dist")
LINKED = (".cache", "page/node_modules")
BUILT = Path("src/pilothouse/web/page")
# With a change, a test that still runs after this long is ended: it was to notice, not to hang.
PATIENCE = 90.0
# A test that fails by one of these did not notice anything: the change broke the program.
FALLS = {"SyntaxError", "ImportError", "NameError", "AttributeError", "TypeError", "ReferenceError"}


@dataclass(frozen=True)
class Ended:
    """How the test ended in the copy."""

    # Of each failure when it came ("collect", "setup", "call", "teardown") and the names of what was raised.
    failures: list[tuple[str, list[str]]] = field(default_factory=list)
    passed: int = 0
    seconds: float = 0.0
    late: bool = False
    words: str = ""

    @property
    def noticed(self) -> bool:
        """Return whether the test itself failed, and not because the program fell over."""
        return any(when == "call" and not FALLS.intersection(names) for when, names in self.failures)

    @property
    def good(self) -> bool:
        """Return whether it ran and passed."""
        return not self.failures and not self.late and self.passed > 0

    @property
    def verdict(self) -> str:
        """Return in words why the change counts as not noticed; nothing if it was."""
        if self.noticed:
            return ""
        if self.late:
            return f"its test did not end within {PATIENCE:.0f} seconds"
        if self.failures:
            when, names = self.failures[0]
            return f"its test broke instead of noticing ({when}: {names[0]}): the change is a bad one"
        return "its test passes all the same" if self.passed else "its test was not found"


class NotBuilt(Exception):
    """The page cannot be built with the change; what the build said."""


class Copy:
    """The copy, with a process in it that runs tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "tree"
        self._temporary = folder / "t"
        self._changes = 0
        shutil.copytree(ROOT, self.folder, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        for name in (*LINKED, *([".git"] if (ROOT / ".git").is_dir() else [])):
            if (ROOT / name).exists():
                (self.folder / name).symlink_to(ROOT / name)
        if (ROOT / ".git").is_file():
            shutil.copy2(ROOT / ".git", self.folder)
        self.python = self._environment()
        pipe = subprocess.PIPE
        command = [str(self.python), "-m", "scripts.mutation.worker"]
        # Bytecode is kept for those after it, also where the environment forbids Python to write any.
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
        self._worker = subprocess.Popen(command, cwd=self.folder, env=environment, stdin=pipe, stdout=pipe, text=True)

    def _environment(self) -> Path:
        """Make an environment with the same packages, whose product is the one in the copy."""
        real, own = ROOT / ".venv", self.folder / ".venv"
        installed = Path(*Path(next(path for path in sys.path if path.endswith("site-packages"))).parts[-3:])
        (own / "bin").mkdir(parents=True)
        (own / installed).mkdir(parents=True)
        for path in [*(real / "bin").iterdir(), *(real / installed).iterdir(), real / "pyvenv.cfg"]:
            target = own / path.relative_to(real)
            target.symlink_to(path.readlink() if path.is_symlink() and path.name.startswith("python") else path)
        [link] = (own / installed).glob("_editable_impl_pilothouse.pth")
        link.unlink()
        link.write_text(str(self.folder / "src"), encoding="utf-8")
        self.packages = own / installed
        return own / "bin" / "python"

    @contextlib.contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """Change the file, and the built page with it, until it is left."""
        path = self.folder / mutant.file
        text, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(mutant.applied(text), encoding="utf-8")
        # A time of its own for each change: bytecode is told apart by whole seconds.
        self._changes += 1
        os.utime(path, (times.st_atime, times.st_mtime + self._changes))
        try:
            with self._built() if mutant.page else contextlib.nullcontext():
                yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, (times.st_atime, times.st_mtime))

    @contextlib.contextmanager
    def _built(self) -> Iterator[None]:
        """Serve a page that is built from the changed source until it is left; its types are not checked."""
        # In the copy, npm would install into what it is linked to, and leave nothing there.
        page_build.install()
        page, usual = self.folder / BUILT, self.folder / "page-without-a-change"
        page.rename(usual)
        try:
            command = [str(self.python), "scripts/page_build.py", "exec", "--", "vite", "build", "--logLevel", "error"]
            done = subprocess.run(command, cwd=self.folder, check=False, capture_output=True, text=True)
            if done.returncode:
                raise NotBuilt(done.stderr)
            yield
        finally:
            shutil.rmtree(page, ignore_errors=True)
            usual.rename(page)

    def run(self, test: str) -> Ended:
        """Run one test in a process of its own and return how it ended."""
        if test.startswith("page/"):
            # In the copy, npm would install into what it is linked to, and leave nothing there.
            page_build.install()
            return Ended(**page_tests.run(self.folder, test, PATIENCE))
        assert self._worker.stdin is not None
        assert self._worker.stdout is not None
        order = {"test": test, "temporary": str(self._temporary), "patience": PATIENCE}
        self._worker.stdin.write(json.dumps(order) + "\n")
        self._worker.stdin.flush()
        told: dict[str, Any] = json.loads(self._worker.stdout.readline())
        return Ended(**told)

    def close(self) -> None:
        """End the process; the folder is deleted by whoever made it."""
        self._worker.communicate()


@contextlib.contextmanager
def copied() -> Iterator[Copy]:
    """Make a copy for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="pilothouse-mutants-", ignore_cleanup_errors=True) as folder:
        copy = Copy(Path(folder))
        try:
            yield copy
        finally:
            copy.close()


def tried(copy: Copy, mutant: Mutant) -> Ended:
    """Run a change's test with the change."""
    try:
        with copy.changed(mutant):
            return copy.run(mutant.test)
    except NotBuilt as error:
        return Ended([("build", [type(error).__name__])], words=str(error))
