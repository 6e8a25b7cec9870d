"""`pilothouse backup`, `restore` and `retention`: what is kept, in one file or for how long."""

from __future__ import annotations

import time
from pathlib import Path

from pilothouse.cli.tables import counted, show_table
from pilothouse.cli.terminal import messages, output
from pilothouse.cli.wrapping import say
from pilothouse.types.retention import Retention, RetentionView

_LEFT_OUT = (
    "Not in it: keys and sign-ins, consents to servers' commands, signed-in browsers, terminal recordings, logs. "
    "They stay where they are."
)
_SHOWN = 20


def backup(file: Path | None, *, replace: bool, as_json: bool) -> int:
    """Write everything into one file and say what it holds."""
    from pilothouse.wiring.backups import back_up

    made = back_up(file, replace=replace)
    if as_json:
        output().json(made)
        return 0
    output().line(made.file)
    held = f"{counted(made.conversations, 'conversation')}, {counted(made.events, 'event')}"
    settings = f", {', '.join(made.settings)}" if made.settings else ""
    say(messages(), f"{held}{settings}; {size(made.bytes)}. Keep a copy on another disk.")
    say(messages(), _LEFT_OUT, "dim")
    say(messages(), f"To bring it back: pilothouse restore {made.file}")
    return 0


def restore(file: Path, *, replace: bool, as_json: bool) -> int:
    """Put a backup in place and say what came back."""
    from pilothouse.wiring.backups import restore as put_back

    done = put_back(file, replace=replace)
    if as_json:
        output().json(done)
        return 0
    settings = f" and {', '.join(done.settings)}" if done.settings else ""
    output().line(f"{counted(done.conversations, 'conversation')}{settings}: restored and verified.")
    if done.unsound:
        first = ", ".join(done.unsound[:5])
        said = f"{counted(len(done.unsound), 'conversation')} had been changed before the backup was made: {first}."
        say(messages(), said, "yellow")
    if done.kept_aside:
        say(messages(), f"What was there before is in {done.kept_aside}")
    say(messages(), "Keys and sign-ins are in no backup. On another machine, give them again.", "dim")
    return 0


def retention(days: int | None, megabytes: int | None, *, off: bool, as_json: bool) -> int:
    """Change the setting where something is given, and show what it would remove now."""
    from pilothouse.wiring import offline

    if off:
        offline.change_retention(Retention())
    elif days is not None or megabytes is not None:
        now = offline.retention_now()
        offline.change_retention(Retention(days=days or now.days, megabytes=megabytes or now.megabytes))
    view = offline.retained()
    if as_json:
        output().json(view)
    else:
        _show_retention(view)
    return 0


def _show_retention(view: RetentionView) -> None:
    out, wanted = output(), view.retention
    out.line(f"{counted(view.conversations, 'conversation')}, {size(view.bytes)}.")
    if wanted == Retention():
        say(out, "Everything is kept. To change that: pilothouse retention --days 365, or --megabytes 2000.")
        return
    rules = []
    if wanted.days is not None:
        rules.append(f"what nobody touched for {counted(wanted.days, 'day')}")
    if wanted.megabytes is not None:
        rules.append(f"the longest untouched above {wanted.megabytes:,} MB")
    say(out, f"A running server removes for good, once a day: {' and '.join(rules)}.")
    if not view.leaving:
        out.line("Now that is nothing.")
        return
    freed = sum(one.bytes for one in view.leaving)
    out.line(f"Now that is {counted(len(view.leaving), 'conversation')}, {size(freed)}:")
    rows = [(one.id, time.strftime("%Y-%m-%d", time.localtime(one.updated_at)), one.title) for one in view.leaving]
    show_table(out, ("id", "last used", "title"), rows[:_SHOWN])
    if len(rows) > _SHOWN:
        messages().line(f"and {len(rows) - _SHOWN:,} more", "dim")


def size(count: int) -> str:
    """Return a number of bytes in words."""
    amount = float(count)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
