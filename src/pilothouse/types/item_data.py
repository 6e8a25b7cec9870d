"""What each kind of item carries in its `data`: one struct a kind, and for questions one for each way of asking.

The names and the JSON are those on disk and on the wire. Every field has a default: an item begins with little and is
told the rest by patches, and an older one lacks what was not kept then.
"""

from typing import Literal

import msgspec

from pilothouse.types.access import Access, CommandUse, Effect, PathUse, Shown, Taint
from pilothouse.types.attached import AttachedDocument
from pilothouse.types.authority import Decision, Grant, Mode, Pattern
from pilothouse.types.branches import Fork
from pilothouse.types.json import Frozen, JsonObject
from pilothouse.types.remembered import MemoryUse
from pilothouse.types.sources import Source
from pilothouse.types.summed_up import Facts, SeenData
from pilothouse.types.todos import TodoList
from pilothouse.types.usage import Spent, TokenUsage

Level = Literal["info", "warning", "error"]


class ItemData(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """Base of what items carry; of an item whose kind is not known here, all that can be said."""


class ResultPart(Frozen, frozen=True):
    """One part of a message or of a result; what has `bytes` and no `text` is fetched by its index."""

    index: int
    kind: Literal["text", "json", "image", "audio", "link", "resource"]
    text: str = ""
    media_type: str = ""
    name: str = ""
    uri: str = ""
    bytes: int = 0
    # SHA-256 of what is kept beside the timeline, in hexadecimal; empty where the timeline itself has it.
    digest: str = ""
    # Of a picture, in pixels, as it says itself; 0 where it does not.
    width: int = 0
    height: int = 0
    # Of a picture in an answer: how many characters of the answer's text stand before it.
    at: int = 0


# --- what a person and a model say -----------------------------------------------------------------


class Slot(Frozen, frozen=True):
    """How many conversations are answered before the run that waits for its turn."""

    run_id: str = ""
    before: int = 0


class MessageData(ItemData, frozen=True):
    """What was attached to a message."""

    content: tuple[ResultPart, ...] = ()
    documents: tuple[AttachedDocument, ...] = ()
    # How many characters of it the person wrote themselves; None for all.
    typed_chars: int | None = None
    # Of a message whose run waits for its turn; told live, never kept.
    slot: Slot | None = None
    # What it tells the host itself to do, which no model reads: `compact`, or nothing.
    command: str = ""
    # Where a branch begins: of the first message of one.
    fork: Fork | None = None
    # The person hid it: models are not sent it.
    hidden: bool = False


class TurnData(ItemData, frozen=True):
    """What everything has that a model brought forth in one turn."""

    # The number of the turn and of the attempt at it, as in "2.1".
    turn: str = ""
    # The attempt broke off: this is for people to see, and the next attempt says it anew.
    cut_off: bool = False
    # The person hid the answer that it belongs to: models are not sent it.
    hidden: bool = False


class ResponseError(Frozen, frozen=True):
    """Why an answer failed."""

    code: str
    message: str


class ResponseData(TurnData, frozen=True):
    """What is known of an answer beside its text."""

    # The id of the answer that this one goes on from: both are one for whoever reads them.
    continues: str | None = None
    model: str = ""
    duration_ms: int | None = None
    first_token_ms: int | None = None
    usage: TokenUsage | None = None
    # In dollars, where a price is known.
    cost: float | None = None
    # Where it says something.
    tokens_per_second: float | None = None
    stop: str = ""
    # The provider's own blocks.
    native: tuple[JsonObject, ...] = ()
    # How the turn's pieces stood, where its items alone do not say it; `agent/answer_order.py` describes it.
    order: list[int | str | JsonObject] | None = None
    sources: tuple[Source, ...] = ()
    # Pictures that the model made.
    content: tuple[ResultPart, ...] = ()
    # It was cut and is to go on.
    go_on: bool = False
    error: ResponseError | None = None


class ThinkingData(TurnData, frozen=True):
    """What is known of a stretch of thinking beside its text."""

    duration_ms: int | None = None
    opaque: tuple[JsonObject, ...] = ()


# --- calls -----------------------------------------------------------------------------------------


class CallError(Frozen, frozen=True):
    """Why a call failed."""

    code: str
    message: str
    retryable: bool = False


class ShownCall(Shown, frozen=True):
    """A call in words and with a picture, and the phase it is in."""

    status: str = ""


class Brought(Frozen, frozen=True):
    """What a call brought into the conversation, and from where."""

    private: bool = False
    untrusted: bool = False
    source: str = ""


class Paused(Frozen, frozen=True):
    """What a call needs to go on once its questions are answered: their items by what each is called."""

    state: JsonObject
    questions: dict[str, str]


class Progress(Frozen, frozen=True):
    """How far a call is."""

    done: float | None = None
    total: float | None = None
    message: str = ""


class ShownChange(ItemData, frozen=True):
    """A file that a call changed, or would change."""

    path: str = ""
    kind: str = ""
    from_: str = msgspec.field(default="", name="from")
    diff: str = ""
    added: int = 0
    removed: int = 0
    change_id: str = ""


class Touched(ItemData, frozen=True):
    """What a call touches."""

    paths: tuple[PathUse, ...] = ()
    command: CommandUse | None = None
    destination: str = ""
    through: str = ""
    payload_bytes: int = 0
    effects: tuple[Effect, ...] = ()


class CallAccess(Touched, frozen=True):
    """What a call touches, as it stands on record; `types/access.Access` says what each means."""

    operation: str = ""
    brings: tuple[Taint, ...] = ()
    source: str = ""
    lane: str = ""
    content: str = ""
    dangerous: str = ""
    destructive: bool = False
    costs: bool = False

    def as_access(self) -> Access:
        """Return it as what a decision is made from."""
        fields = msgspec.structs.asdict(self)
        return Access(**fields | {"effects": frozenset(self.effects), "brings": frozenset(self.brings)})


class ToolFound(ItemData, frozen=True):
    """A tool that a search found."""

    # As people see it, `server.tool`.
    name: str = ""
    server: str = ""
    # The first line of what it says about itself.
    about: str = ""


class CallData(TurnData, frozen=True):
    """A call from the model's wish to its end; its text is the result."""

    call_id: str = ""
    tool: str = ""
    server: str = ""
    server_tool: str = ""
    definition: str = ""
    # What the model wrote as its name, where it called it by name, and whether it had to look for it.
    by_name: str = ""
    on_demand: bool = False
    arguments: JsonObject | None = None
    # What the model asked for, where the person changed that before they allowed it.
    asked_arguments: JsonObject | None = None
    argument_bytes: int = 0
    # What the model wrote where it should have written arguments.
    raw_arguments: str = ""
    # The real arguments where secrets in them are masked.
    sealed: str | None = None
    masked: bool = False
    display: str = ""
    shown: ShownCall | None = None
    phase: str = ""
    # When each phase began.
    phases: dict[str, float] = {}
    opaque: JsonObject | None = None
    # A limit cut its arguments.
    cut_short: bool = False
    cancel_requested: bool = False
    cancellation: str | None = None
    keep_waiting_at: float | None = None
    decision: Decision | None = None
    access: CallAccess | None = None
    brings: Brought | None = None
    paused: Paused | None = None
    timeout_seconds: float | None = None
    deadline_at: float | None = None
    quiet_since: float | None = None
    progress: Progress | None = None
    elapsed_ms: int | None = None
    is_error: bool = False
    error: CallError | None = None
    attempts: int = 1
    server_fault: str = ""
    content: tuple[ResultPart, ...] = ()
    # More was left out than is kept.
    cut: bool = False
    # What the model reads the rest by, where it got less than is kept.
    kept_as: str = ""
    # While a summary of the result is made: what enters if there comes none.
    excerpt: str | None = None
    # How many were taken out for the model.
    hidden_characters: int = 0
    changes: tuple[ShownChange, ...] = ()
    more_changes: int = 0
    # The ids of changes that the person took back.
    undone: tuple[str, ...] = ()
    # The list after a call about todos.
    todos: TodoList | None = None
    # The memory that a call kept, changed or forgot; and whose private data those were made from that it recalled.
    memory: MemoryUse | None = None
    recalled: tuple[str, ...] = ()
    process_id: str = ""
    exit_code: int | None = None
    # How many rounds the agent was given.
    iterations: int = 0
    # The tools that a search found and gave to the model, best first, and how many there are in all.
    found: tuple[ToolFound, ...] = ()
    found_in_all: int = 0
    # In a replay: the id of the recorded call whose result it has.
    recorded: str = ""


class SummaryData(ItemData, frozen=True):
    """A summary of a large result; its text is the summary."""

    # The call, and what it called.
    call_item_id: str = ""
    server: str = ""
    tool: str = ""
    server_tool: str = ""
    model: str = ""
    duration_ms: int | None = None
    usage: TokenUsage | None = None
    # In dollars, where a price is known.
    cost: float | None = None
    cancel_requested: bool = False
    # Why it came to nothing, as half a sentence.
    why: str = ""


# --- questions -------------------------------------------------------------------------------------


class ChoiceShown(ItemData, frozen=True):
    """One of the answers that a question offers."""

    id: str = ""
    label: str = ""
    # How far it reaches, in a few words.
    note: str = ""
    # For how long it may hold, like "5m", the usual first; empty where that is not chosen.
    durations: tuple[str, ...] = ()


class AnswerData(ItemData, frozen=True):
    """What the person answered."""

    by: str = ""
    at: float = 0.0
    choice: str | None = None
    text: str | None = None
    content: JsonObject | None = None
    # Whether a lasting answer reaches otherwise than was proposed.
    edited: bool | None = None
    # The digest of the arguments that the person put in place of the model's.
    changed: str | None = None


class QuestionData(ItemData, frozen=True):
    """What every question has; its text is the question."""

    kind: str = ""
    # The call that it is about, and what the model calls that.
    call_item_id: str = ""
    tool_call_id: str | None = None
    choices: tuple[ChoiceShown, ...] = ()
    answer: AnswerData | None = None


class AskedAccess(Touched, frozen=True):
    """What a call would touch, as the person is shown it."""

    # How much the run has sent there before.
    sent_before: int = 0
    # Whether it may cost money.
    costs: bool = False


class Cure(ItemData, frozen=True):
    """What would have spared a question."""

    # What `--allow` must name with the message, all of it.
    allow: tuple[str, ...] = ()
    # The modes that do not ask about such a call.
    modes: tuple[Mode, ...] = ()


class ApprovalData(QuestionData, frozen=True):
    """Whether a call may be carried out; its arguments are shown from the call."""

    kind: Literal["approval"] = "approval"
    operation: str = ""
    # Why it is dangerous; empty where it is not.
    dangerous: str | None = None
    # What calls share for which one permission would do.
    group: str = ""
    proposal: Pattern | None = None
    proposal_text: str | None = None
    access: AskedAccess | None = None
    preview: JsonObject | None = None
    cure: Cure | None = None
    rule: str = ""
    why: str | None = None
    call_hash: str = ""
    tool: str = ""
    server_tool: str = ""
    server: str = ""
    description: str | None = None
    # What the model wrote in the turn in which it asked for the call.
    model_says: str | None = None
    # What the tool takes, for whoever changes the arguments; None where that is too long.
    parameters: JsonObject | None = None


class ElicitationData(QuestionData, frozen=True):
    """What a server asks in the middle of a call: a form to fill in, or an address to visit."""

    kind: Literal["elicitation"] = "elicitation"
    ask_id: str = ""
    mode: str = ""
    schema: JsonObject | None = None
    url: str = ""
    server: str = ""
    server_tool: str = ""


class CollaborationData(QuestionData, frozen=True):
    """What the agent itself asks."""

    kind: Literal["collaboration"] = "collaboration"
    ask_id: str = ""
    context: str = ""
    # The operation that it asks permission for, and for how long.
    authorizes: str = ""
    duration: str = ""


def takes_own_words(question: QuestionData) -> bool:
    """Return whether words are an answer beside the choices: the agent hears them, but permission takes a choice."""
    return isinstance(question, CollaborationData) and not question.authorizes


class LimitData(QuestionData, frozen=True):
    """Whether a run that reached a limit goes on."""

    kind: Literal["limit"] = "limit"
    reason: str = ""
    # Of a budget: what it is when the person goes on, in dollars or tokens.
    raised: float = 0.0


# --- what is told beside ------------------------------------------------------------------------------


class NoticeData(ItemData, frozen=True):
    """What is told to the person; its text is the sentence."""

    level: Level = "info"
    code: str = ""
    # Of what was set aside: what, the ids of what was put back, and whether the rest was dropped.
    changes: tuple[ShownChange, ...] = ()
    more_changes: int = 0
    undone: tuple[str, ...] = ()
    dropped: bool = False
    # Of an answer that was cut: its id, why, and what to do.
    response: str | None = None
    reason: str = ""
    fix: str = ""
    # The list after the person changed it.
    todos: TodoList | None = None
    # Of tools that have no room: how many of each server.
    servers: dict[str, int] = {}
    # Of a request that is made again: which one, and until when it is waited.
    attempt: int = 0
    until: float | None = None
    wait_seconds: float | None = None
    # A permission that the person gave or withdrew by hand.
    grant: Grant | None = None
    by: str = ""
    # Of a conversation that began as a branch of another: that one, and the run up to which it has everything.
    conversation: str = ""
    run: str = ""


class ReminderData(ItemData, frozen=True):
    """Of what the model is told; without a name it says that an answer goes on after later ones."""

    name: str = ""
    # The id of the message that it stands before.
    before: str = ""
    # Whose private data it told.
    private: tuple[str, ...] = ()


class CompactionData(ItemData, frozen=True):
    """What a summary stands for: all before a position; its text is the summary."""

    keep_from: int = 0
    # The same of messages, of which one may have come in the middle of what was said before it; 0 where it is the same.
    messages_from: int = 0
    by: str = ""
    seen: SeenData | None = None
    spent: Spent | None = None
    # The tools of servers that were used before, the newest last.
    tools: tuple[str, ...] = ()
    # Whether the model is told beside it that it can look back; those of earlier versions stay as they were sent.
    tells: bool = False
    # Who wrote it, and what that took.
    model: str = ""
    usage: TokenUsage | None = None
    cost: float | None = None
    # What the person asked for, and what it is to keep above all; None where the window was full.
    keep: str | None = None
    # How many messages and calls it stands for, with those of earlier summaries.
    messages: int = 0
    calls: int = 0
    # The id of the first of them that no earlier summary stands for.
    begins: str = ""
    # What the host itself knows of them: as the model is told it, and as the next summary goes on from it.
    noted: str = ""
    facts: Facts | None = None
