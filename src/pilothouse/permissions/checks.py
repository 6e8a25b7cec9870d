"""What is found about a call: each consideration by itself, in the order in which they count."""

from __future__ import annotations

from pilothouse.permissions.case import EDITS, READS, SENDS, Case, Finding, Ruling
from pilothouse.permissions.danger import danger_of
from pilothouse.permissions.fetches import host_of
from pilothouse.permissions.flows import Flow, too_much
from pilothouse.permissions.matching import Subject, covers_call, goes_to, host_matches
from pilothouse.types.access import Effect
from pilothouse.types.authority import ANYWHERE, EDIT_TOOLS, EDITING, NET, Pattern
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
    if why := case.access.dangerous or ("" if case.held else danger_of(case.access)):
        return Finding("ask", "default", "dangerous", why)
    if why := too_much(case.access, case.context.seen):
        return Finding("ask", "default", "volume", why)
    return None


def ruled(ruling: Ruling | None) -> Finding | None:
    """Return what a rule says, deny left out: that one counted before."""
    if ruling is None or ruling.verdict == "deny":
        return None
    return Finding(ruling.verdict, "rule", ruling.rule, ruling.why)


def allowed_for_run(case: Case, flow: Flow | None) -> Finding | None:
    """Return the permission that the person gave together with the message, for what it names and where it goes."""
    tool, access, given = case.tool, case.access, set(case.context.allow)
    names = {tool.qualified_name, tool.spec.name, access.operation, f"{access.operation.partition('.')[0]}.*"}
    if tool.server:
        names.add(f"{tool.server}.*")
    elif access.operation in EDITING:
        names.add(EDIT_TOOLS)
    # Without a path an operation is allowed in the folder.
    named = (set() if case.outside else names & given) or _named_with_paths(case, names)
    if access.command is not None and flow is not None:
        # Permission to run a command is none for the network, unless that is named, or the one host that it asks.
        hosts = (name.removeprefix(NET) for name in given if name.startswith(NET))
        named = named if ANYWHERE in given or any(host_matches(host, host_of(access)) for host in hosts) else set()
    elif access.destination:
        places = (name for name in given if name.startswith(NET))
        named |= {name for name in places if goes_to(access, name.removeprefix(NET))}
    why = "The person allowed it together with the message."
    return Finding("allow", "run", min(named), why) if named else None


def _named_with_paths(case: Case, names: set[str]) -> set[str]:
    """Return the permissions that name where an operation may be: together they must cover every path of the call."""
    split = ((entry, *entry.partition(":")[::2]) for entry in case.context.allow)
    given = {entry: path for entry, name, path in split if path and name in names}
    subject = Subject(case.access, case.tool.grant_key, case.context.working_directory)
    paths = Pattern(tool=case.access.operation, paths=tuple(given.values()))
    return set(given) if given and covers_call(paths, subject) else set()


def leaving(flow: Flow) -> Finding:
    """Return the question about data that leaves: from where to where."""
    small = " Numbers and choices have added up that could spell it." if flow.small else ""
    why = f"It can take what was read from {flow.in_words()}.{small}"
    return Finding("ask", "default", "leaving", why, lasting=True)


def by_default(case: Case) -> Finding:
    """Return what holds where nobody said anything: the conversation's mode, and asking."""
    access, mode = case.access, case.context.mode
    if case.stays_inside and access.effects <= READS:
        return Finding("allow", "default", "inside", "It reads in the working directory.")
    if mode == "auto_approve":
        return Finding("allow", "mode", mode, "This conversation allows everything without asking.")
    if mode == "auto_edit" and case.stays_inside and access.effects <= EDITS:
        return Finding("allow", "mode", mode, "This conversation allows changes in the working directory.")
    if mode == "sandboxed" and (why := _needs_no_word(case)):
        return Finding("allow", "mode", mode, why)
    rule, why = _reason(case)
    return Finding("ask", "default", rule, why, lasting=True)


def _needs_no_word(case: Case) -> str:
    """Return why a call does no harm in a sandboxed conversation that cannot be undone or seen; or nothing."""
    access = case.access
    if case.held:
        return "The sandbox holds it, and what it changes can be undone."
    if case.stays_inside and access.effects <= EDITS:
        return "It changes files in the working directory, which can be undone."
    if (case.tool.server or _only_asks(case)) and not access.destructive:
        return "It takes nothing private along."
    return ""


def _only_asks(case: Case) -> bool:
    """Return whether a tool of ours asks another machine for something, and does nothing else."""
    access = case.access
    is_all = not (access.command or access.paths or access.costs or access.dangerous)
    return bool(access.destination) and is_all and access.effects <= SENDS


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
        why = f"It runs a command{network}. {access.command.uncovered}".rstrip()
        return "network" if network else "command", why
    if access.destination:
        costs = ", and may cost money" if access.costs else ""
        return "network", f"It sends data to {access.destination}{costs}."
    effects = sorted(access.effects or case.tool.effects)
    said = ", ".join(_DOING[effect] for effect in effects)
    return "-".join(effects) or "unknown", f"It {said}." if said else "What it touches is not known."


def _does(effect: str) -> str:
    return "changes" if effect == "writes" else "reads"
