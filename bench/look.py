"""What undo costs a command: one look at a folder of many files, the first time and every further time."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.results import table, verdict
from bench.tree import grow
from pilothouse.tools.snapshots.mirror import Mirror

# No file of the folder is larger.
_LARGE = 128 * 1024


class Taken(NamedTuple):
    """What one look took: by the clock, and of the processor, in milliseconds."""

    clock: float
    processor: float


def walked(folder: Path) -> None:
    """Go through a folder and ask for the facts of each file: the least that tells what changed."""
    for at, _folders, files in os.walk(folder):
        for name in files:
            os.lstat(os.path.join(at, name))


def found(folder: Path) -> None:
    """Let `find` tell the same facts."""
    subprocess.run(
        ["find", folder, "-printf", "%s %T@ %C@ %i %p\\n"], stdout=subprocess.DEVNULL, check=True, timeout=60.0
    )


def read(folder: Path) -> None:
    """Open, ask, read and close each file, and do nothing with it: the least that keeping takes one process."""
    buffer = (bytearray(_LARGE),)
    for _at, _folders, files, descriptor in os.fwalk(folder):
        for name in files:
            file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=descriptor)
            os.fstat(file)
            os.readv(file, buffer)
            os.close(file)


def changed(folder: Path) -> None:
    """Change one file, as a command would."""
    file = folder / "part00" / "changed"
    file.write_text(f"{time.time_ns()}\n")


def measure(folder: Path, times: int) -> None:
    """Measure all in turns, and compare."""
    tree, cache = folder / "tree", folder / "cache"
    taken: dict[str, list[Taken]] = {}

    def timed(name: str, work: Callable[[], object]) -> None:
        began, used = time.perf_counter(), sum(os.times()[:4])
        work()
        taken.setdefault(name, []).append(
            Taken((time.perf_counter() - began) * 1_000, (sum(os.times()[:4]) - used) * 1_000)
        )

    for _ in range(times):
        timed("os.walk with stat", lambda: walked(tree))
        timed("find", lambda: found(tree))
        timed("open, fstat, read and close", lambda: read(tree))
        for watches, name in ((True, "told what changed"), (False, "gone through")):
            mirror = Mirror(str(tree), cache, watches=watches)
            timed("the first look, contents kept", mirror.look)
            changed(tree)
            timed(f"a further look, {name}", mirror.look)
            mirror.close()
    middle = {name: Taken(*map(statistics.median, zip(*each, strict=True))) for name, each in taken.items()}
    floor = middle["os.walk with stat"].clock
    bare = middle["open, fstat, read and close"].clock
    rows = [("", "ms", "processor", "of os.walk", "of reading")]
    rows += (
        (name, f"{ms:.0f}", f"{own:.0f}", f"{ms / floor:.2f}", f"{ms / bare:.2f}") for name, (ms, own) in middle.items()
    )
    table(f"One look, median of {times}", rows)
    first, told = (
        middle[name].clock for name in ("the first look, contents kept", "a further look, told what changed")
    )
    verdict("the first look", first, 400.0, " ms")
    verdict("the first look to os.walk", first / floor, 4.0)
    verdict("a look that is told what changed", told, 50.0, " ms")
    verdict("a look that is told what changed to os.walk", told / floor, 0.25)


def main() -> None:
    """Read the options and measure."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=50_000)
    options.add_argument("--times", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tree").mkdir()
        grow(Path(folder) / "tree", given.files)
        measure(Path(folder), given.times)


if __name__ == "__main__":
    main()
