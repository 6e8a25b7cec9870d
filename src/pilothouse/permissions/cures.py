"""How a question could have been spared: what to allow with the message, and the modes that do not ask about it."""

from __future__ import annotations

from typing import get_args

import msgspec

from pilothouse.permissions import checks
from pilothouse.permissions.approval_cards import paths_of
from pilothouse.permissions.case import Case, Finding
from pilothouse.permissions.fetches import host_of
from pilothouse.permissions.flows import Flow
from pilothouse.types.authority import ANYWHERE, DESTINATION, NET, Mode
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import PathGuard

# Nobody is told to choose the mode that asks nothing.
_NEVER_NAMED: frozenset[Mode] = frozenset({"auto_approve", "read_only"})


def cure(case: Case, finding: Finding, flow: Flow | None, guard: PathGuard) -> JsonObject:
    """Return what would have spared a question; empty lists where it is asked about each time."""
    if finding.authority != "default":
        # The person's own rule asks.
        return {"allow": [], "modes": []}
    return {"allow": _allowed_with_message(case, flow) if finding.lasting else [], "modes": _modes(case, flow, guard)}


def _allowed_with_message(case: Case, flow: Flow | None) -> list[str]:
    """Return what `--allow` must name: the place where data leaves, the path outside, else the call itself."""
    name = case.tool.qualified_name if case.tool.server else case.access.operation
    if flow is None and case.outside:
        # For this path, not for any other outside the folder.
        words = [f"{name}:{path}" for path in paths_of(case) or ()]
    elif flow is None:
        words = [name]
    elif case.access.command is not None:
        words = [name, f"{NET}{host}" if (host := host_of(case.access)) else ANYWHERE]
    else:
        words = [f"{NET}{flow.destination}" if DESTINATION.fullmatch(flow.destination) else name]
    context = msgspec.structs.replace(case.context, allow=(*case.context.allow, *words))
    covered = checks.allowed_for_run(msgspec.structs.replace(case, context=context), flow)
    return words if covered is not None else []


def _modes(case: Case, flow: Flow | None, guard: PathGuard) -> list[Mode]:
    """Return the modes in which this call would not be asked about; where data leaves, none of them helps."""
    if flow is not None:
        return []
    modes = (mode for mode in get_args(Mode) if mode not in _NEVER_NAMED and mode != case.context.mode)
    return [mode for mode in modes if _passes(case, mode, guard)]


def _passes(case: Case, mode: Mode, guard: PathGuard) -> bool:
    there = msgspec.structs.replace(case, context=msgspec.structs.replace(case.context, mode=mode))
    return checks.insisted(there, guard) is None and checks.by_default(there).verdict == "allow"
