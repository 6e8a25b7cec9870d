"""What the person is shown when a call is asked about: what it does first, why it is asked, what they may answer."""

from __future__ import annotations

import hashlib
import os
from pathlib import PurePosixPath

from pilothouse.permissions.case import Case, Finding
from pilothouse.permissions.danger import danger_of
from pilothouse.permissions.fetches import host_of
from pilothouse.permissions.flows import Flow, sources_of
from pilothouse.permissions.matching import Subject
from pilothouse.types.authority import EDIT_TOOLS, EDITING, Mode, Pattern
from pilothouse.types.durations import words_of
from pilothouse.types.json import JsonObject, encode, plain
from pilothouse.types.patterns import in_words

ALLOW = {"id": "allow", "label": "Allow once"}
TASK = {"id": "task", "label": "For this task", "note": "until this answer ends"}
CONVERSATION = {"id": "conversation", "label": "In this conversation", "note": "until you withdraw it"}
ALWAYS = {"id": "always", "label": "Always for this pattern", "note": "a rule for all conversations"}
DENY = {"id": "deny", "label": "Deny"}
# In these modes a server's tools pass by themselves, and the person is asked about places.
_OF_PLACES: tuple[Mode, ...] = ("sandboxed", "auto_approve")
_WILD = frozenset("*?")
# A pattern with more paths than these is no rule that anyone reads.
_PATHS = 5
# Whatever lies in the working directory.
_INSIDE = "**"


def question(case: Case, finding: Finding) -> str:
    """Return the question in one line: the call, then why it is asked about."""
    what = case.tool.qualified_name if case.tool.server else case.tool.shown(case.arguments).summary
    return f"Allow {what}? {finding.why}"


def card(case: Case, finding: Finding, flow: Flow | None, minutes: int) -> JsonObject:
    """Return what the card shows and offers; what needs a word of its own is offered once only.

    `minutes` is how long a permission for a while lasts.
    """
    proposal = propose(case, flow) if finding.lasting else None
    return {
        "operation": case.access.operation,
        "dangerous": danger_of(case.access) or (finding.why if finding.rule == "protected" else ""),
        "group": _shape(case, proposal) if proposal is not None else "",
        "proposal": plain(proposal),
        "proposalText": in_words(proposal) if proposal is not None else "",
        "access": _touched(case),
        "preview": case.access.preview,
        "choices": [ALLOW, *([] if proposal is None else _lasting(case, flow, minutes)), DENY],
    }


def _lasting(case: Case, flow: Flow | None, minutes: int) -> list[JsonObject]:
    """Return what stands for more than the one call, from the narrowest on."""
    a_while = {"label": f"For {words_of(minutes * 60)}", "note": "in this conversation", "durations": [f"{minutes}m"]}
    # Of a command only these very words are allowed, wherever they take data, unless it asks one host.
    pair = flow if case.access.command is None or host_of(case.access) else None
    always = ALWAYS if pair is None else {**ALWAYS, "label": f"Always from {pair.in_words()}"}
    return [TASK, {"id": "while", **a_while}, CONVERSATION, always]


def _touched(case: Case) -> JsonObject:
    access = case.access
    return {
        "paths": [plain(use) for use in access.paths],
        "command": plain(access.command) if access.command else None,
        "destination": access.destination,
        "through": access.through,
        "payloadBytes": access.payload_bytes,
        "sentBefore": case.context.seen.sent.get(access.destination, 0),
        "effects": sorted(access.effects),
        "costs": access.costs,
    }


def _shape(case: Case, proposal: Pattern) -> str:
    """Return a key that calls share for which one permission would do."""
    return hashlib.sha256(encode([case.tool.grant_key, proposal, case.context.conversation_id])).hexdigest()[:16]


def propose(case: Case, flow: Flow | None) -> Pattern | None:
    """Return the pattern that a lasting permission would have; None where no narrow one is useful."""
    access, tool = case.access, case.tool
    # Where nothing can ever be sent no word is needed about whose data goes along.
    sources = tuple(sorted(sources_of(flow))) if access.command or access.destination or tool.server else None
    if flow is not None and tool.server and case.context.mode in _OF_PLACES:
        # There the person is asked about places: whatever tool of this very server takes it there.
        server, identity = tool.qualified_name.partition(".")[0], tool.grant_key.partition(":")[0]
        return Pattern(tool=f"{server}.*", definition=f"{identity}:", destination=access.destination, sources=sources)
    if tool.server:
        return Pattern(tool=tool.qualified_name, definition=tool.grant_key, sources=sources)
    folder = case.context.working_directory or ""
    if access.command is not None and (host := host_of(access)):
        return Pattern(tool=access.operation, destination=host, sources=sources, folder=folder)
    if access.command is not None:
        subject = Subject(access, tool.grant_key, folder)
        # Of a line that is no simple command only the very line is allowed.
        words = subject.words or subject.line
        # A last word that is a star would stand for more than itself.
        if not words or words[-1] == "*":
            return None
        to = access.destination
        return Pattern(tool=access.operation, command=words, destination=to, sources=sources, folder=folder)
    paths = paths_of(case)
    if paths is None:
        return None
    return Pattern(
        tool=EDIT_TOOLS if paths == (_INSIDE,) and access.operation in EDITING else access.operation,
        paths=paths,
        destination=access.destination,
        sources=sources,
        folder=folder if access.paths else "",
    )


def paths_of(case: Case) -> tuple[str, ...] | None:
    """Return which paths to propose, exactly those that lie outside; None where whole folders go along."""
    if any(use.whole for use in case.access.paths):
        return None
    outside, root = set(case.outside), os.path.realpath(case.context.working_directory or "/")
    exact = outside.union(use.path for use in case.access.paths if use.belongs)
    found = {use.path if use.path in exact else _around(use.path, root, case) for use in case.access.paths}
    if len(found) > _PATHS or any(set(path.removesuffix("/*")) & _WILD for path in found - {_INSIDE, "*"}):
        return None
    return tuple(sorted(found))


def _around(path: str, root: str, case: Case) -> str:
    """Return what is proposed for a path inside: the working directory; of what deletes, the files beside."""
    if path == root:
        return "."
    if not case.access.destructive or case.access.operation in EDITING:
        return _INSIDE
    relative = os.path.relpath(PurePosixPath(path).parent, root)
    return "*" if relative == "." else f"{relative}/*"
