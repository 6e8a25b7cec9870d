"""Who may do what: rules, grants, and decisions, as data."""

import hashlib
import re
from typing import Literal

import msgspec

from pilothouse.types.json import Body, Frozen, JsonObject
from pilothouse.types.models import FileProblem

# How much a conversation may do unasked. "auto_approve" ends by itself and never covers settings, secrets,
# or private data on its way out.
# In "sandboxed" that is what the sandbox holds and undo covers.
Mode = Literal["ask", "sandboxed", "auto_edit", "read_only", "auto_approve"]
# What a conversation is set to: "default" until someone chose one.
ChosenMode = Literal["default", "ask", "sandboxed", "auto_edit", "read_only", "auto_approve"]
# What "default" stands for: "automatic" by what holds commands here. Nothing asks less than what can be undone.
DefaultMode = Literal["automatic", "ask", "sandboxed", "auto_edit", "read_only"]
Verdict = Literal["allow", "ask", "deny"]
# Whose word a decision rests on.
Authority = Literal["harmless", "rule", "grant", "mode", "person", "run", "default"]
# Answers to a question about a call that stand for more calls of its kind: until the run ends, for so many minutes, in
# this conversation until they are withdrawn, or as a rule for all conversations.
LASTING = frozenset({"task", "while", "conversation", "always"})
# Where data was read: on this machine, or told by a server, whose name follows, and a mark of where that server is.
HERE = "files"
# What a program or a file told together with a message.
PIPED = "piped"
SERVER = "server:"
# Or on a page, whose host follows.
PAGES = "web:"
_MARK = re.compile(r"@[0-9a-f]{12}$")
# What changes files without deleting any, as one name: whoever allows one of these means all of them.
EDIT_TOOLS = "file_operations.edits"
_EDITING = ("create_file", "insert_edit", "replace_string", "multi_replace_string", "apply_patch", "rename_file")
EDITING = frozenset(f"file_operations.{name}" for name in _EDITING)
# What runs a command: it is held to the working directory, and to no path that anyone could name.
_RUNNING = {
    "terminal_operations": ("*", "run_command", "create_session", "send_input"),
    "build_and_version_control": ("*", "run_task", "create_and_run_task"),
}
RUNNING = frozenset(f"{tool}.{name}" for tool, names in _RUNNING.items() for name in names)
# How a place is written, and how a message allows one, or any.
DESTINATION = re.compile(r"\*|(\*\.)?[^*/\s]+")
NET = "net:"
ANYWHERE = f"{NET}*"


def marked(name: str, place: str) -> str:
    """Return a server's name or id with a mark of where it is; `place` is a digest of its address or its command."""
    return f"{name}@{place[:12]}"


def unmarked(source: str) -> str:
    """Return a source as people write it, and as it was kept before there were marks: whichever server has the name."""
    return _MARK.sub("", source)


def source_name(source: str) -> str:
    """Return the name of the server that a source stands for."""
    return unmarked(source).removeprefix(SERVER)


def is_glob(path: str) -> bool:
    """Return whether a text is a pattern of paths: no `..` in it, and `**` alone between slashes."""
    parts = path.split("/")
    return bool(path) and not any(part == ".." or "\0" in part or ("**" in part and part != "**") for part in parts)


class Pattern(Frozen, frozen=True, forbid_unknown_fields=True):
    """Which calls a rule or a grant is about; every part that is given must match, whole components at a time."""

    # `file_operations.create_file`, `file_operations.edits`, `file_operations.*`, `github.read_file`, or `*`.
    tool: str = "*"
    # The exact definition of a server's tool; a changed one, or another server's of the same name, does not match. A
    # server's id and place with a colon behind them stand for any tool of that server.
    definition: str = ""
    # Globs of which every path of the call must match one: `src/**`, `/etc/hosts`; relative to the working directory.
    paths: tuple[str, ...] = ()
    # The words of a command; `*` as the last one stands for any further words that are not options.
    command: tuple[str, ...] = ()
    # A host or a server: exactly this one, or `*.example.com` for those under it.
    destination: str = ""
    # Whose data may go along: `files`, `server:github`, or with a mark of which server of that name. Left out in a
    # pattern that names its tool or its destination it is anyone's; an empty list is nobody's.
    sources: tuple[str, ...] | None = None
    # Only for calls of this working directory; empty for any.
    folder: str = ""


class Example(Frozen, frozen=True, forbid_unknown_fields=True):
    """A call in short, to try a rule on."""

    tool: str
    paths: tuple[str, ...] = ()
    command: str = ""
    destination: str = ""
    folder: str = "/"


class CallInShort(msgspec.Struct, frozen=True):
    """A call to try the rules in force on: its tool, and a path, a command or a destination.

    `folder` is its working directory.
    """

    tool: str
    path: str = ""
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
    """A passing word of the person in one conversation: until a time or its run ends, once or as often as needed."""

    id: str
    owner: str
    conversation_id: str
    pattern: Pattern
    created_at: float
    # None for one that no time ends.
    expires_at: float | None
    single_use: bool = True
    uses: int = 0
    last_used_at: float | None = None
    revoked_at: float | None = None
    # The question whose answer it is; empty when the person gave it otherwise.
    question_id: str = ""
    # The only run that it is for, and with which it ends; empty for any of the conversation's.
    run_id: str = ""


class Decision(Frozen, frozen=True):
    """What was decided about a call, on whose word, and why; kept with the call."""

    verdict: Verdict
    authority: Authority
    # The id of the rule or grant, or the name of a built-in rule: "outside", "protected", "leaving", "network", …
    rule: str
    # One sentence for people.
    why: str
    call_hash: str
    at: float
    # Who answered, when the person was asked.
    by: str = ""
    # How much a call could tell with the few words and numbers that nobody is asked about, in bits.
    bits: int = 0


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


class PolicyInput(Body, frozen=True):
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


class NewGrant(Body, frozen=True):
    """A grant that the person gives by hand; `duration` is like "5m", "1h 30m", "90s", or left out as long as usual."""

    conversation_id: str
    pattern: Pattern
    duration: str = ""
    single_use: bool = True


class PendingApproval(Frozen, frozen=True):
    """A question that waits for the person, in whichever conversation."""

    item_id: str
    conversation_id: str
    title: str
    text: str
    at: float
    data: JsonObject
    # What the call is given that it is about, without secrets; None of other questions.
    arguments: JsonObject | None = None
    # Whether there are secrets in them, which nobody can change then.
    masked: bool = False


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
    """What a conversation has seen so far: where private data and strangers' text came from, and what left."""

    private: frozenset[str] = frozenset()
    # Bytes that went to each destination so far in this run.
    sent: dict[str, int] = msgspec.field(default_factory=dict)
    # In how many calls.
    sends: dict[str, int] = msgspec.field(default_factory=dict)
    # Bits that each destination could be told so far, in the whole conversation, by calls that nobody was asked about.
    bits: dict[str, int] = msgspec.field(default_factory=dict)
    # Where text came from that strangers may have written.
    untrusted: frozenset[str] = frozenset()


def arguments_digest(arguments: JsonObject) -> str:
    """Return the digest of what a call is given, in whichever order it was written."""
    return hashlib.sha256(msgspec.json.encode(arguments, order="sorted")).hexdigest()


class Approval(msgspec.Struct, frozen=True):
    """What the person answered when asked about a call, and which call they were shown."""

    choice: str
    call_hash: str
    by: str = ""
    # Why not, in the person's words.
    reason: str = ""
    # Why they were asked, and the digest of the arguments where they changed those.
    why: str = ""
    changed: str = ""
