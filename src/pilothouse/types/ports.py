"""What the parts ask of each other. Only `wiring` knows who answers."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, runtime_checkable

import msgspec

from pilothouse.types import limits
from pilothouse.types.access import Access, Effect, Shown
from pilothouse.types.authority import Approval, Decision, Mode, Seen
from pilothouse.types.events import Event
from pilothouse.types.items import Item, ItemKind, ItemStatus
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ModelRequest, ToolSpec
from pilothouse.types.models import FileProblem, ModelConfig
from pilothouse.types.selection import OnDemand, Selection
from pilothouse.types.stream import StreamEvent

if TYPE_CHECKING:
    from pilothouse.types.conversations import Conversation
    from pilothouse.types.todos import Reminder

__all__ = ["Effect"]


class Model(Protocol):
    """A model that can be asked. The stream never raises for a failure; it is closed by `aclose`."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Ask, and yield the answer as it arrives."""


class OpenModel(msgspec.Struct, frozen=True):
    """A model ready to be asked, with the configuration it was made from."""

    config: ModelConfig
    model: Model
    # The pictures and sounds that it takes in results: the most bytes of one, by media type.
    media: Mapping[str, int] = {}
    # Tells whether it was found to take no tools the usual way; and remembers that, once it is found out.
    refuses_tools: Callable[[], bool] | None = None
    learn_no_tools: Callable[[], Awaitable[None]] | None = None


class ModelOutline(msgspec.Struct, frozen=True):
    """What a request to a model depends on: nobody needs its key for that."""

    config: ModelConfig
    # As in an `OpenModel`.
    media: Mapping[str, int] = {}
    refuses_tools: bool = False


class ModelSource(Protocol):
    """Finds a configured model and makes it ready."""

    async def outline(self, model_id: str | None) -> ModelOutline:
        """Return what is known of the named model or the default without opening it; raise if there is none."""

    async def open(self, model_id: str | None) -> OpenModel:
        """Return the named model or the default; raise a PilothouseError that says what to do."""


class Choice(msgspec.Struct, frozen=True, rename="camel"):
    """One answer that a question offers."""

    id: str
    label: str


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a server, or with a plain question the agent, wants to know before it goes on with a call."""

    id: str
    kind: Literal["form", "url", "question", "sign_in"]
    message: str
    # What the answer must look like, for a form.
    schema: JsonObject = {}
    # Where the person is asked to go, for a URL.
    url: str = ""
    # For a question: what else the person should know, what they may choose, and what choosing to approve allows.
    context: str = ""
    choices: tuple[Choice, ...] = ()
    authorizes: str = ""
    duration: str = ""


class Resumed(msgspec.Struct, frozen=True):
    """The answers to what a paused call asked, each {action: accept | decline | cancel, content}, by the ask's id."""

    state: JsonObject
    answers: Mapping[str, JsonObject]


class CallContext(msgspec.Struct, frozen=True):
    """What a tool may know about the call it executes."""

    conversation_id: str
    run_id: str
    call_id: str
    working_directory: str | None
    # The names of the tools called before this one in the run, oldest first.
    earlier_calls: tuple[str, ...]
    unattended: bool
    # Set when the call goes on after it paused to ask something.
    resumed: Resumed | None = None
    # The branch of the conversation in which the run answers.
    branch: int = 0
    # What the person allowed beforehand for this run: `server.tool` or `server.*`.
    allow: tuple[str, ...] = ()
    owner: str = ""
    # The model's own id of the call, or one of ours where it gave none.
    model_call_id: str = ""
    # When the call was asked for, in seconds since 1970.
    at: float = 0.0
    # Whether it came through the API, from a program that nobody sits in front of.
    external: bool = False
    # Whether the person started exactly this themselves, by hand.
    user_initiated: bool = False
    # Whether the person was shown this very call and allowed it.
    asked: bool = False
    # The message that the run answers.
    user_text: str = ""
    # What the person wrote in the conversation so far, a text for each message.
    typed: tuple[str, ...] = ()
    mode: Mode = "ask"
    # How often the model may still be asked in this run.
    iterations_left: int = 0
    # How many of them the agent has added itself.
    iterations_added: int = 0
    # How many characters of one result the model gets at the most.
    result_room: int = limits.RESULT_CHARS
    # What was said about this very call when it was allowed; the tool holds itself to it.
    access: Access | None = None
    seen: Seen = Seen()
    # All that the run may call, for tools that speak about it; none of them is executed without a permit.
    tools: tuple[Tool, ...] = ()
    # How many characters of a result its model gets.
    room: int = limits.RESULT_CHARS


class CallFeedback(Protocol):
    """What a tool may tell while it works."""

    def progress(self, done: float | None, total: float | None, message: str) -> None:
        """Say how far it is, which is a sign of life too."""

    def sign(self) -> None:
        """Say that whoever does the work is still there."""

    def waits(self, why: str) -> None:
        """Say that the work cannot begin yet; the call's time does not run meanwhile."""

    def begins(self) -> None:
        """Say that the work begins now, with the whole of the call's time before it."""


class CallTimes(msgspec.Struct, frozen=True):
    """How long a call may take, in seconds, and after how long without a sign people are told so; None for never."""

    total: float
    quiet: float | None = None


class ToolError(msgspec.Struct, frozen=True, rename="camel"):
    """Why a call failed, for the model and the page."""

    code: str
    message: str
    retryable: bool = False


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of a result as the tool gave it, for people to look at."""

    kind: Literal["text", "json", "image", "audio", "link", "resource"]
    text: str = ""
    data: bytes = b""
    media_type: str = ""
    name: str = ""
    uri: str = ""


class ToolOutput(msgspec.Struct, frozen=True):
    """What a tool gives back; an error is a result too. `text` is for the model, `parts` are for the person."""

    text: str
    error: ToolError | None = None
    data: JsonObject = {}
    parts: tuple[Part, ...] = ()


class ToolPaused(msgspec.Struct, frozen=True):
    """The call cannot go on before the person answered; `state` comes back with the answers."""

    asks: tuple[Ask, ...]
    state: JsonObject


class Tool(Protocol):
    """A tool, built in or from a server."""

    @property
    def spec(self) -> ToolSpec:
        """Return the tool as the model sees it."""

    @property
    def qualified_name(self) -> str:
        """Return its name for people: `server.tool`, or a built-in tool's own."""

    @property
    def effects(self) -> frozenset[Effect]:
        """Return what it may touch."""

    @property
    def server(self) -> str:
        """Return the name of the server it belongs to; empty for a built-in tool."""

    @property
    def grant_key(self) -> str:
        """Return what a lasting permission is bound to: the name and, for a server's tool, its exact definition."""

    def limited(self, allowed: frozenset[Effect]) -> Tool | None:
        """Return the tool with only what touches nothing else; None when nothing remains of it."""

    async def access(self, arguments: JsonObject, context: CallContext) -> Access | ToolOutput:
        """Return what a call would touch, without touching it; or the error that it would end with at once."""

    def times_for(self, arguments: Mapping[str, object]) -> CallTimes:
        """Return how long a call with these arguments may take."""

    def shown(self, arguments: Mapping[str, object]) -> Shown:
        """Return a call with these arguments in words and with a picture; its summary is one friendly line."""

    async def execute(
        self, arguments: JsonObject, context: CallContext, feedback: CallFeedback
    ) -> ToolOutput | ToolPaused:
        """Do it. Cancellation is by asyncio's."""


@runtime_checkable
class MayBeWithdrawn(Protocol):
    """A tool that may be switched off, set aside or gone while a run that may call it goes on."""

    def withdrawn(self) -> str:
        """Return why it must not be called any more, or nothing."""


@runtime_checkable
class MayBeMissing(Protocol):
    """A tool that needs something which a person sets up, for all of it or for some of its operations."""

    def now(self) -> Tool | None:
        """Return the tool as it can be used now; None where it cannot."""


class ToolSet(msgspec.Struct, frozen=True):
    """The tools of one run in their fixed order, and what the system prompt says about them."""

    tools: tuple[Tool, ...]
    guide: str = ""
    # How many tools of each server were left out, because there was no room for them.
    left_out: Mapping[str, int] = {}
    # One sentence for each server that was named and cannot be had now.
    missing: tuple[str, ...] = ()
    # What the model may call, too, once it has looked for it.
    on_demand: tuple[Tool, ...] = ()


class ToolRequest(msgspec.Struct, frozen=True):
    """What decides which tools a run has."""

    conversation_id: str
    selection: Selection | None = None
    working_directory: str | None = None
    mode: Mode = "ask"
    context_window: int = 0
    # How many tools the provider takes; None where it does not say.
    most: int | None = None
    # The tools that this conversation used, by the names that the model has for them.
    used: tuple[str, ...] = ()
    # Whether its provider takes no tools at all, and whether it is so small that it gets only what was asked for.
    refuses: bool = False
    tiny: bool = False
    # Whether tools of servers are found on demand.
    on_demand: OnDemand = "auto"
    # Whether servers that were named are waited for, and missed; else they have what is known of them.
    waits: bool = True


class ToolSource(Protocol):
    """Finds the tools that a run may use."""

    async def tools(self, wanted: ToolRequest) -> ToolSet:
        """Return the tools of a selection, or the default ones; raise `unknown_server` for what does not exist.

        Servers that a selection names are waited for until their tools are known; the default never waits.
        """


class Permit:
    """Permission to execute exactly one call, good for one use; recognised by the authorizer that made it."""

    __slots__ = ("_maker", "_used", "call_hash", "decision")

    def __init__(self, decision: Decision, maker: object) -> None:
        self.call_hash = decision.call_hash
        # On whose word it was given, and why.
        self.decision = decision
        self._maker = maker
        self._used = False

    def use(self, maker: object) -> bool:
        """Use it up; return whether this authorizer made it and nobody used it before."""
        good = self._maker is maker and not self._used
        self._used = True
        return good


class PermitNeeded(msgspec.Struct, frozen=True, kw_only=True):
    """The person must be asked first."""

    question: str
    decision: Decision
    # What the card shows and offers: dangerous, group, proposal, choices, destination, payload, …
    data: JsonObject = msgspec.field(default_factory=dict)


class PermitRefused(msgspec.Struct, frozen=True, kw_only=True):
    """The call is not allowed, and why, in the words that the model gets."""

    reason: str
    decision: Decision


class Authorizer(Protocol):
    """Decides about calls; never executes one."""

    async def decide(
        self, tool: Tool, arguments: JsonObject, context: CallContext, approval: Approval | None
    ) -> Permit | PermitNeeded | PermitRefused:
        """Return a permit, a question for the person, or a refusal; `context.access` says what it touches.

        `approval` is what the person chose when asked about this call; it counts only for the call they were shown.
        """

    async def redeem(self, permit: Permit, tool: Tool, arguments: JsonObject, context: CallContext) -> str:
        """Use a permit, right before its call is executed; return why it does not stand any more, or nothing."""


class PathGuard(Protocol):
    """Knows what needs a word of its own: settings, secrets, whatever starts by itself."""

    def protects(
        self, path: str, identity: tuple[int, int] | None, effect: Literal["reads", "writes"] = "writes"
    ) -> str:
        """Return why a path, or the file with this device and inode under whatever name, is protected; or nothing.

        Without an identity it is what is at the path. What starts by itself is protected only from being written.
        """

    def forbids(self, path: str, identity: tuple[int, int] | None) -> str:
        """Return why nobody's word lets a tool touch a path: it is this program's own; or nothing."""

    def git_takes(self, paths: Iterable[str]) -> Mapping[str, str]:
        """Return which files git runs or takes settings from because a repository around them says so now, and why."""


# Tells, for an allowed look at a working directory, which files the person's rules keep out of what it shows.
Withheld = Callable[[Access, str | None], Callable[[str], bool]]


def nothing_withheld(look: Access, folder: str | None) -> Callable[[str], bool]:
    """Return that every file may be shown."""
    return lambda _path: False


class Journal(Protocol):
    """A run's only way to write to the timeline, and its view of the conversation."""

    @property
    def items(self) -> Sequence[Item]:
        """Return the conversation's items as they are now, in order."""

    def item(self, item_id: str) -> Item:
        """Return one of them."""

    def new(
        self, kind: ItemKind, *, status: ItemStatus = "streaming", text: str = "", data: JsonObject | None = None
    ) -> Item:
        """Make an item of this run; it exists once it is written."""

    async def write(self, *events: Event, promised: bool = True) -> None:
        """Append events, and the text that their items hold back; a promise is on disk then, the rest soon."""

    def soon(self, item: Item) -> None:
        """Create an item together with the next write, or by itself in a moment."""

    def later(self, *events: Event, promised: bool = False) -> bool:
        """Count new items and ends as written, which the next write does, or one in a moment; False: it must be now."""

    def delta(self, item_id: str, text: str) -> None:
        """Add text to a streaming item; readers see it within a blink, the disk a little later."""

    def note(self, item_id: str, data: JsonObject) -> None:
        """Tell readers something about an item that need not outlive this process."""

    async def attach(self, item_id: str, index: int, part: Part) -> None:
        """Keep a part of an item beside the timeline, in this place and without any after it."""


class Redactor(Protocol):
    """Replaces every secret value it knows by a mark."""

    @property
    def reach(self) -> int:
        """Return the length of the longest text it replaces."""

    def redact(self, text: str) -> str:
        """Return the text without secrets."""


class Cover(Protocol):
    """Covers the secrets it knows in a stream of bytes, in which everything stays where it is."""

    @property
    def reach(self) -> int:
        """Return the length of the longest text it covers."""

    def cover(self, data: bytes) -> bytes:
        """Return the bytes, as many, with an asterisk for each byte of a secret."""

    def undecided(self, data: bytes) -> int:
        """Return how many bytes at the end are the beginning of a secret, if more come."""


class Secrets(Protocol):
    """Keeps secrets; each is bound to the origin it was given for."""

    def put(self, name: str, value: str, origin: str) -> None:
        """Store or replace a secret."""

    def get(self, name: str, origin: str) -> str | None:
        """Return the secret if it exists and belongs to this origin; raise `key_moved` if to another."""

    def delete(self, name: str) -> None:
        """Forget a secret; unknown names are fine."""

    def origin_of(self, name: str) -> str | None:
        """Return the origin a secret is bound to, None when there is no such secret; never asks a keyring."""

    def confirm(self, name: str, origin: str) -> None:
        """Bind a secret to another origin, because the person said so."""

    def settle(self, name: str, value: str, origin: str) -> str:
        """Return the secret of this name; the value given becomes it if there is none, for every process alike."""


Content_co = TypeVar("Content_co", covariant=True)


class JsonStore(Protocol[Content_co]):
    """A JSON file that people edit too: its last good content, and what is wrong with it now."""

    @property
    def value(self) -> Content_co:
        """Return the content; an edit made since the last look is taken up."""

    @property
    def problem(self) -> FileProblem | None:
        """Return what is wrong with the file as it is now."""

    def look(self) -> tuple[Content_co, FileProblem | None]:
        """Return both by one look at the file."""

    def refresh(self) -> bool:
        """Look at the file; return whether the content or the problem changed."""

    def update(self, change: Callable[[JsonObject], None]) -> Content_co:
        """Change the content on disk, whatever others wrote meanwhile kept; return the new content."""


class Recall(Protocol):
    """Says what may matter to a message, before anyone asks."""

    async def offered(self, conversation: Conversation, message: str) -> Reminder | None:
        """Return what is remembered about what a message is about, within a moment."""


class NoRecall:
    """Remembers nothing; implements the port `Recall`."""

    async def offered(self, conversation: Conversation, message: str) -> Reminder | None:
        return None
