"""`pilothouse retention`: what is removed by itself, and what that would be now."""

from __future__ import annotations

import time

from pilothouse.cli.backups import size
from pilothouse.cli.tables import counted, show_table
from pilothouse.cli.terminal import messages, output
from pilothouse.cli.wrapping import say
from pilothouse.types.retention import Retention, RetentionView

_SHOWN = 20


def retention(days: int | None, megabytes: int | None, *, off: bool, as_json: bool) -> int:
    """Change the setting where something is given, and show what it would remove now."""
    from pilothouse.wiring import retaining

    if off:
        retaining.change(Retention())
    elif days is not None or megabytes is not None:
        now = retaining.current()
        retaining.change(Retention(days=days or now.days, megabytes=megabytes or now.megabytes))
    view = retaining.look()
    if as_json:
        output().json(view)
    else:
        _show(view)
    return 0


def _show(view: RetentionView) -> None:
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
