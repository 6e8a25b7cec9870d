"""Makes a backup or restores one again and again, and is killed each time one step later, until it is not.

    python -m tests.faults.dying_copies backup|restore HOME FILE

HOME is the folder that each try begins with a copy of. It prints what was found after each death as a line of JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from pilothouse.store.portable import reading
from pilothouse.types.errors import PilothouseError
from pilothouse.wiring.backups import back_up, restore

# What changes the folder; each is counted before it happens.
STEPS = frozenset(
    {"open", "os.chmod", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate", "sqlite3.connect"}
)


def die_at(number: int, home: Path) -> None:
    """Be killed at a step in a folder."""
    left = number

    def hear(event: str, args: tuple[object, ...]) -> None:
        nonlocal left
        if event in STEPS and args and str(args[0]).startswith(str(home)):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)


def try_once(number: int, home: Path, act: Callable[[], object]) -> int:
    """Act in a process of its own, which dies at a step; return how it ended."""
    child = os.fork()
    if child == 0:
        die_at(number, home)
        act()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def titles(file: Path) -> list[str] | None:
    """Return the titles in a database that is whole, None when there is none."""
    if not file.exists():
        return None
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return sorted(row[0] for row in connection.execute("SELECT title FROM conversations"))


def is_whole(file: Path) -> bool:
    """Return whether a backup can be read to its end."""
    try:
        with reading(file) as lines:
            return sum(1 for _ in lines) > 0
    except PilothouseError:
        return False


def found(home: Path) -> dict[str, object]:
    """Return what a person would find now."""
    kept = [titles(file) for file in sorted(home.glob("backups/replaced-*/pilothouse.db"))]
    for name in ("config.json", "models.json"):
        json.loads((home / name).read_bytes())
    copies = [is_whole(file) for file in home.glob("backups/*.jsonl.gz")]
    return {"titles": titles(home / "pilothouse.db"), "aside": kept, "copies": copies}


def main() -> None:
    """Do it until it is done."""
    what, template, file = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    home = template.with_name("dying")
    os.environ["PILOTHOUSE_HOME"] = str(home)
    number, code = 0, -signal.SIGKILL
    while code != 0:
        number += 1
        shutil.copytree(template, home)
        code = try_once(
            number, home, lambda: restore(file, replace=True) if what == "restore" else back_up(None, replace=False)
        )
        assert code in (0, -signal.SIGKILL), code
        print(json.dumps({"died": code != 0, **found(home)}), flush=True)
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
