"""Restores a backup into PostgreSQL again and again, and is killed each time some steps later, until it is not.

    python -m tests.faults.dying_restore FILE

A step is a statement, a commit, or a change in the data folder. It prints what was found after each death as a line of
JSON. The folder and the database are those of the environment.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa

from pilothouse.store.database import Database
from pilothouse.wiring.backups import restore
from tests.faults.dying_copies import STEPS, is_whole

# Between two deaths: each is a process and a few connections.
STRIDE = 13


def die_at(number: int, home: str) -> None:
    """Be killed at a step."""
    left = number

    def step(*_about: object) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def hear(event: str, args: tuple[object, ...]) -> None:
        if event in STEPS and args and str(args[0]).startswith(home):
            step()

    sa.event.listen(sa.Engine, "before_cursor_execute", step)
    sa.event.listen(sa.Engine, "commit", step)
    sys.addaudithook(hear)


def titles(url: str) -> list[str]:
    """Return the titles of the conversations that are there now."""
    with closing(Database(url)) as database:
        query = sa.text("SELECT title FROM conversations ORDER BY title")
        return database.read_now(lambda connection: list(connection.execute(query).scalars()))


def settings(url: str) -> str:
    """Return the settings as they are in the database now."""
    with closing(Database(url)) as database:
        query = sa.text("SELECT body FROM shared_settings WHERE name = 'config.json'")
        return database.read_now(lambda connection: str(connection.execute(query).scalar_one()))


def main() -> None:
    """Do it until it is done."""
    file, home, url = Path(sys.argv[1]), os.environ["PILOTHOUSE_HOME"], os.environ["PILOTHOUSE_DATABASE_URL"]
    number, code = 1, -signal.SIGKILL
    while code != 0:
        child = os.fork()
        if child == 0:
            die_at(number, home)
            restore(file, replace=True)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, -signal.SIGKILL), code
        json.loads(settings(url))
        aside = [is_whole(kept) for kept in Path(home).glob("backups/replaced-*/*.jsonl.gz")]
        print(json.dumps({"died": code != 0, "titles": titles(url), "aside": aside}), flush=True)
        number += STRIDE


if __name__ == "__main__":
    main()
