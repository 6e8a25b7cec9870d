"""What is found about a call: each consideration by itself, in the order in which they count."""

from __future__ import annotations

from pilothouse.authz.case import EDITS, READS, Case, Finding
from pilothouse.authz.danger import danger_of
from pilothouse.authz.rulings import Ruling
from pilothouse.authz.taint import leaving, steered, tainted, too_much
from pilothouse.types.access import Effect
from pilothouse.types.ports import PathGuard

HARMLESS = Finding("allow", "harmless", "nothing", "It touches nothing.")
BY_HAND = Finding("allow", "person", "by_hand", "The person did it themselves.")
_DOING: dict[Effect, str] = {
    "reads": "reads data",
    "writes": "changes files",
    "runs": "runs a program",
    "sends": "sends data",
}
_READ_ONLY = Finding("deny", "mode", "read_only", "This conversation is read-only: nothing may write, run or send.")


def denied(case: Case, guard: PathGuard, ruling: Ruling | None) -> Finding | None:
    """Return why a call is refused whatever anyone allowed; or None."""
    if ruling is not None and ruling.verdict == "deny":
        return Finding("deny", "rule", ruling.rule, ruling.why)
    for use in case.access.paths:
        if why := guard.forbids(use.path, None):
            return Finding("deny", "default", "own", f"{use.path} may not be touched. {why}")
    return None if _fits_read_only(case) else _READ_ONLY


def _fits_read_only(case: Case) -> bool:
    if case.context.mode != "read_only" or (case.access.effects <= READS and not case.tool.server):
        return True
    # A server's tool is offered in a read-only conversation only where the person vouched for its server.
    return bool(case.tool.server) and case.tool.limited(READS) is case.tool


def insisted(case: Case, guard: PathGuard) -> Finding | None:
    """Return why only the person's word about this very call counts; or None."""
    for use in case.access.paths:
        # What the tool found when it looked at the file itself counts too.
        if why := guard.protects(use.path, None, use.effect) or use.protected:
            return Finding("ask", "default", "protected", f"It {_does(use.effect)} {use.path}. {why}")
    if why := danger_of(case.access):
        return Finding("ask", "default", "dangerous", why)
    if why := tainted(case.access, case.context.seen):
        return Finding("ask", "default", "tainted", why)
    if why := too_much(case.access, case.context.seen):
        return Finding("ask", "default", "volume", why)
    return None


def ruled(ruling: Ruling | None) -> Finding | None:
    """Return what a rule says, deny left out: that one counted before."""
    if ruling is None or ruling.verdict == "deny":
        return None
    return Finding(ruling.verdict, "rule", ruling.rule, ruling.why)


def allowed_for_run(case: Case) -> Finding | None:
    """Return leave that the person gave together with the message."""
    tool, operation = case.tool, case.access.operation
    names = {tool.qualified_name, tool.spec.name, operation, f"{operation.partition('.')[0]}.*"}
    if tool.server:
        names.add(f"{tool.server}.*")
    named = sorted(names.intersection(case.context.allow))
    why = "The person allowed it together with the message."
    return Finding("allow", "run", named[0], why) if named else None


def suspected(case: Case) -> Finding | None:
    """Return why what was allowed some other time does not count; what was allowed with this very message does."""
    why = steered(case.access, case.context.seen)
    return Finding("ask", "default", "tainted", why) if why else None


def by_default(case: Case) -> Finding:
    """Return what holds where nobody said anything: the conversation's mode, and asking."""
    access, mode = case.access, case.context.mode
    if case.stays_inside and access.effects <= READS:
        return Finding("allow", "default", "inside", "It reads in the working directory.")
    if mode == "auto_approve" and (why := leaving(access, case.context.seen)):
        return Finding("ask", "default", "private", why, lasting=True)
    if mode == "auto_approve":
        return Finding("allow", "mode", mode, "This conversation allows everything without asking.")
    if mode == "auto_edit" and case.stays_inside and access.effects <= EDITS:
        return Finding("allow", "mode", mode, "This conversation allows changes in the working directory.")
    rule, why = _reason(case)
    return Finding("ask", "default", rule, why, lasting=True)


def _reason(case: Case) -> tuple[str, str]:
    """Return the built-in rule by which a call is asked about, and why."""
    access = case.access
    if case.tool.server:
        return "server", f"It is a tool of the server {case.tool.server}."
    if outside := case.outside:
        more = f" and {len(outside) - 1} more are" if len(outside) > 1 else " is"
        return "outside", f"{outside[0]}{more} outside the working directory."
    if access.command is not None:
        network = " with the network" if access.command.network else ""
        return "network" if network else "command", f"It runs a command{network}."
    if access.destination:
        return "network", f"It sends data to {access.destination}."
    effects = sorted(access.effects or case.tool.effects)
    said = ", ".join(_DOING[effect] for effect in effects)
    return "-".join(effects) or "unknown", f"It {said}." if said else "What it touches is not known."


def _does(effect: str) -> str:
    return "changes" if effect == "writes" else "reads"
