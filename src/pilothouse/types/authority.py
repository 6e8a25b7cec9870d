"""Who may do what: rules, grants, and decisions, as data."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types.json import Frozen, JsonObject
from pilothouse.types.models import FileProblem

# How much a conversation may do unasked. "auto_approve" ends by itself and never covers settings, secrets,
# or private data on its way out.
Mode = Literal["ask", "auto_edit", "read_only", "auto_approve"]
Verdict = Literal["allow", "ask", "deny"]
# Whose word a decision rests on.
Authority = Literal["harmless", "rule", "grant", "mode", "person", "run", "default"]


class Pattern(Frozen, frozen=True, forbid_unknown_fields=True):
    """Which calls a rule or a grant is about; every part that is given must match, whole components at a time."""

    # `file_operations.create_file`, `file_operations.*`, `github.read_file`, `github.*`, or `*`.
    tool: str = "*"
    # The exact definition of a server's tool; a changed one, or another server's of the same name, does not match.
    definition: str = ""
    # Globs of which every path of the call must match one: `src/**`, `/etc/hosts`; relative to the working directory.
    paths: tuple[str, ...] = ()
    # The words of a command; `*` as the last one stands for any further words that are not options.
    command: tuple[str, ...] = ()
    # A host or a server: exactly this one, or `*.example.com` for those under it.
    destination: str = ""
    # Only for calls of this working directory; empty for any.
    folder: str = ""


class Example(Frozen, frozen=True, forbid_unknown_fields=True):
    """A call in short, to try a rule on."""

    tool: str
    paths: tuple[str, ...] = ()
    command: str = ""
    destination: str = ""
    folder: str = "/"


class Rule(Frozen, frozen=True, forbid_unknown_fields=True):
    """A lasting word of the person about calls, with examples that are tried before it is kept."""

    id: str
    verdict: Verdict
    pattern: Pattern
    note: str = ""
    match: tuple[Example, ...] = ()
    not_match: tuple[Example, ...] = ()
    created_at: float = 0.0


class Grant(Frozen, frozen=True):
    """A passing word of the person: for one conversation, until a time, once or as often as needed."""

    id: str
    owner: str
    conversation_id: str
    pattern: Pattern
    created_at: float
    expires_at: float
    single_use: bool = True
    uses: int = 0
    last_used_at: float | None = None
    revoked_at: float | None = None
    # The question whose answer it is; empty when the person gave it otherwise.
    question_id: str = ""


class Decision(Frozen, frozen=True):
    """What was decided about a call, on whose word, and why; kept with the call."""

    verdict: Verdict
    authority: Authority
    # The id of the rule or grant, or the name of a built-in rule: "outside", "protected", "tainted", "network", …
    rule: str
    # One sentence for people.
    why: str
    call_hash: str
    at: float
    # Who answered, when the person was asked.
    by: str = ""


class RuleUse(Frozen, frozen=True):
    """How often a rule decided, and when last."""

    rule_id: str
    uses: int
    last_used_at: float | None = None


class PolicyView(Frozen, frozen=True):
    """The rules as they are in force, how often each was used, and what is wrong with the file."""

    rules: tuple[Rule, ...]
    uses: tuple[RuleUse, ...] = ()
    # While there is a problem nothing is allowed by rule: what is not denied is asked about.
    problem: FileProblem | None = None


class PolicyInput(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """All rules as they shall be."""

    rules: tuple[Rule, ...]


class PolicyCheck(Frozen, frozen=True):
    """What the rules in force say about a call; no verdict when none of them speaks about it."""

    verdict: Verdict | None = None
    rule: str = ""
    why: str = ""


class ReplayedCall(Frozen, frozen=True):
    """What a policy would have done about a call of the past."""

    item_id: str
    conversation_id: str
    at: float
    operation: str
    summary: str
    before: Verdict
    after: Verdict
    rule: str


class PolicyReplay(Frozen, frozen=True):
    """What would be different: the calls looked at, and those that a policy would have decided otherwise."""

    looked_at: int
    allowed: int
    asked: int
    denied: int
    changed: tuple[ReplayedCall, ...]


class GrantList(Frozen, frozen=True):
    """The grants that stand, newest first; `next` is the cursor for the rest."""

    grants: tuple[Grant, ...]
    next: str | None = None


class NewGrant(msgspec.Struct, frozen=True, rename="camel", kw_only=True, forbid_unknown_fields=True):
    """A grant that the person gives by hand; `duration` is like "5m", "1h 30m", "90s"."""

    conversation_id: str
    pattern: Pattern
    duration: str = "5m"
    single_use: bool = True


class PendingApproval(Frozen, frozen=True):
    """A question that waits for the person, in whichever conversation."""

    item_id: str
    conversation_id: str
    title: str
    text: str
    at: float
    data: JsonObject


class PendingApprovals(Frozen, frozen=True):
    """What waits for the person, oldest first; `next` is the cursor for the rest, of runs that began later."""

    pending: tuple[PendingApproval, ...]
    next: str | None = None


class AuditEntry(Frozen, frozen=True):
    """One action and its authority: who, what, why, and how it ended."""

    conversation_id: str
    run_id: str
    item_id: str
    at: float
    tool: str
    operation: str
    arguments: JsonObject
    status: str
    decision: Decision | None
    error: str = ""


class AuditCheck(Frozen, frozen=True):
    """Whether a conversation's events are as they were written; `first_bad` is the number of the first that is not."""

    conversation_id: str
    events: int
    sound: bool
    head: str
    first_bad: int | None = None


class AuditReport(Frozen, frozen=True):
    """The decisions of one conversation or of all, and whether they can be believed."""

    entries: tuple[AuditEntry, ...]
    checks: tuple[AuditCheck, ...]
    # Whether there are more calls than one report holds; ask for single conversations then.
    more: bool = False
    # The cursor for the conversations that this report does not go through.
    next: str | None = None


class Seen(msgspec.Struct, frozen=True):
    """What a conversation has seen so far: where private data came from, where strangers' text came from."""

    private: frozenset[str] = frozenset()
    untrusted: frozenset[str] = frozenset()
    # Bytes that went to each destination so far in this run.
    sent: dict[str, int] = msgspec.field(default_factory=dict)
    # In how many calls.
    sends: dict[str, int] = msgspec.field(default_factory=dict)
    # The servers whose words about themselves and their tools the model reads, called or not.
    heard: frozenset[str] = frozenset()


class Approval(msgspec.Struct, frozen=True):
    """What the person answered when asked about a call, and which call they were shown."""

    choice: str
    call_hash: str
    by: str = ""
    # Why not, in the person's words.
    reason: str = ""
