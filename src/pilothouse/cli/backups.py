"""`pilothouse backup` and `pilothouse restore`: one file for everything."""

from __future__ import annotations

from pathlib import Path

from pilothouse.cli.tables import counted
from pilothouse.cli.terminal import messages, output
from pilothouse.cli.wrapping import say

_LEFT_OUT = (
    "Not in it: keys and sign-ins, consents to servers' commands, signed-in browsers, terminal recordings, logs. "
    "They stay where they are."
)


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


def size(count: int) -> str:
    """Return a number of bytes in words."""
    amount = float(count)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
