"""What goes in and out under `/api`; the OpenAPI document is made from these."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types.authority import Mode
from pilothouse.types.branches import Branch, WhenBusy
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import ErrorCode
from pilothouse.types.events import Event
from pilothouse.types.item_data import ResultPart
from pilothouse.types.items import Item
from pilothouse.types.json import Body, Frozen, JsonObject
from pilothouse.types.models import FileProblem, FoundModel, ModelList, ProviderView, ToolCalls
from pilothouse.types.plugin_views import PluginView
from pilothouse.types.prices import Prices
from pilothouse.types.runs import Run
from pilothouse.types.selection import NativeTools, Selection
from pilothouse.types.servers import ServerList
from pilothouse.types.setting import Setting, patch_of, shown
from pilothouse.types.settings import Settings
from pilothouse.types.terminals import SandboxView
from pilothouse.types.todos import TodoList
from pilothouse.types.tool_names import BuiltInTool
from pilothouse.types.topics import TopicList


class Health(Frozen, frozen=True):
    """Says only that the server is up; degraded means that something held everything up a short while ago."""

    status: Literal["up", "degraded"] = "up"


class Readiness(Frozen, frozen=True):
    """Says that a message would be kept right now; who cannot keep one answers 503 instead, and why."""

    status: Literal["ready"] = "ready"


class Problem(Frozen, frozen=True):
    """The body of every error answer."""

    code: ErrorCode
    message: str
    fix: str = ""


class SessionRequest(Body, frozen=True):
    """Exchanges the one-time code of a link for a session; with a key, the session outlives the server's process."""

    code: str
    # The public half of a key pair that never leaves the browser: a point of P-256, uncompressed, in base64url.
    key: str = ""


class SignedIn(Frozen, frozen=True):
    """What the page makes its half of the session with, which each of its requests sends along.

    With a key that is `start.key.signature`, the signature being over `pilothouse session start`; without one it is
    given here, and good for as long as this process runs.
    """

    start: str
    half: str = ""


class Link(Frozen, frozen=True):
    """An address that opens the page once, signed in; the code stands in the fragment, which is never sent."""

    url: str


class NewConversation(Body, frozen=True):
    """Starts a conversation; everything is optional."""

    title: str | None = None
    settings: ConversationSettings | None = None


class ConversationPatch(Body, frozen=True):
    """Changes a conversation; an absent field stays, `null` in `settings` means the default again."""

    title: str | None = None
    settings: ConversationSettings | None = None


class ConversationPage(Frozen, frozen=True):
    """Conversations, most recently used first; `next` is the cursor for the rest."""

    conversations: tuple[Conversation, ...]
    next: str | None = None


class ImageInput(Body, frozen=True):
    """An attached image: PNG, JPEG, GIF or WebP, base64 encoded."""

    media_type: Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
    data: str
    # What its file is called.
    name: str = ""


class NewMessage(Body, frozen=True):
    """A message to send. The same again with the same `idempotency_key` gives the first answer again."""

    text: str
    images: tuple[ImageInput, ...] = ()
    # The ids of documents that were uploaded before; the conversation sees them from then on.
    documents: tuple[str, ...] = ()
    idempotency_key: str | None = None
    model_id: str | None = None
    unattended: bool = False
    # Exactly these servers and tools for this message, instead of the conversation's.
    selection: Selection | None = None
    # Tools that need no question in this run: `server.tool` or `server.*`.
    allow: tuple[str, ...] = ()
    # Whether the model is asked to think first, or not to; None leaves it to the conversation, and then to the model.
    thinking: bool | None = None
    # How many characters, from the first on, the person wrote themselves; the rest came from a program or a file, and
    # is private like what is read from one. None for all of them.
    typed_chars: int | None = None
    temperature: float | None = None
    # The branch that it goes on with; the one that was chosen last unless it is said here.
    branch: int | None = None
    # The message that it takes the place of, or the run after which it goes on, in a new branch.
    instead_of: str | None = None
    after: str | None = None
    # Of an edited message: whether what was attached to it stays, and what of that does not: pictures by the index of
    # their part, documents by id.
    keep_attachments: bool = True
    drop_pictures: tuple[int, ...] = ()
    drop_documents: tuple[str, ...] = ()
    # Of a message that makes a branch: what becomes of answers at work that it leaves behind.
    when_busy: WhenBusy = "finish"


class CompactionWish(Body, frozen=True):
    """Asks for a summary of older turns; `keep` says what it must keep above all."""

    keep: str = ""
    # Whether nobody is there who could be asked at a budget.
    unattended: bool = False
    # The branch that it is about; None for the one that was chosen last.
    branch: int | None = None


class MessageAccepted(Frozen, frozen=True):
    """The message is safe; its answer is run `run_id`."""

    conversation_id: str
    item_id: str
    run_id: str
    # The branch in which it stands.
    branch: int = 0


class Comparison(Body, frozen=True):
    """One message for several models; each answers it in a branch of its own."""

    message: NewMessage
    model_ids: tuple[str, ...]


class ComparisonAccepted(Frozen, frozen=True):
    """The message is safe for each model, in the order in which they were named."""

    accepted: tuple[MessageAccepted, ...]


class ConversationSnapshot(Frozen, frozen=True):
    """A conversation as of event `last_seq`: its newest items, and its runs that matter still."""

    conversation: Conversation
    items: tuple[Item, ...]
    runs: tuple[Run, ...]
    last_seq: int
    # Whether there are items before the first one here.
    has_earlier: bool
    todos: TodoList = TodoList()
    # The branch whose path this is; and of all branches beside the first those that leave it or lead to it here: what
    # stands in the place of one of these messages. The tree has all of them, and the conversation their number.
    branch: int = 0
    branches: tuple[Branch, ...] = ()


class ItemPage(Frozen, frozen=True):
    """Items in order of position."""

    items: tuple[Item, ...]
    has_earlier: bool
    # The branches that leave the path here or lead to it, where one path was asked for.
    branches: tuple[Branch, ...] = ()


class FullResult(Frozen, frozen=True):
    """A call's result as it was kept; `cut` says that even this is not all of it."""

    item_id: str
    parts: tuple[ResultPart, ...]
    cut: bool = False


class PartData(msgspec.Struct, frozen=True):
    """The bytes of one part of a message or a result; it leaves the server as a file, not as JSON."""

    media_type: str
    name: str
    data: bytes


class Answer(Body, frozen=True):
    """The answer to a question: one of its choices, text where it takes text, or a form's content."""

    choice: str | None = None
    text: str | None = None
    # A form's fields with "accept"; {duration, pattern} with "while" and "conversation"; {pattern} with
    # "task" and "always".
    content: JsonObject | None = None
    # With "allow": what the call is given instead, all of it. It is judged anew, recorded and carried out.
    arguments: JsonObject | None = None


class Answers(Body, frozen=True):
    """The same answer to several questions; what stands out must be answered by itself."""

    item_ids: tuple[str, ...]
    answer: Answer


class AnswerTaken(Frozen, frozen=True):
    """Whether one of several answers was taken, and why not."""

    item_id: str
    taken: bool
    message: str = ""


class AnswersTaken(Frozen, frozen=True):
    """What became of each answer, in the order in which the questions were named."""

    answers: tuple[AnswerTaken, ...]


class Range(Frozen, frozen=True):
    """Where a hit stands in a snippet, in characters (code points)."""

    start: int
    end: int


# What a hit is in: the conversation's title, or an item of this kind.
FoundKind = Literal["title", "user_message", "response", "compaction", "tool_call"]


class SearchHit(Frozen, frozen=True):
    """One found item (or a title, when `item_id` is None) with its words around the hit, as plain text."""

    conversation_id: str
    title: str
    item_id: str | None
    snippet: str
    ranges: tuple[Range, ...]
    at: float
    kind: FoundKind = "response"
    # How much was found in its conversation, this and what is not shown included.
    found_here: int = 1
    # Whether it was found by what it means; else it has the words.
    similar: bool = False
    # The branch in which it stands, and whether that is off the path that was chosen last: to see it, choose it.
    branch: int = 0
    off_path: bool = False
    # Where it stands in the log: who shows another path than the chosen one finds by it whether it is on that.
    position: int = 0
    # Whether the person hid it from models.
    hidden: bool = False


class SearchResult(Frozen, frozen=True):
    """What a search found: the best of each conversation, those of one together, best first; then what is similar."""

    query: str
    hits: tuple[SearchHit, ...]


class ModelInput(Body, frozen=True):
    """A model as a form sends it; `api_key` is kept as a secret bound to the URL's origin."""

    name: str
    provider: str
    id: str | None = None
    model: str = ""
    base_url: str = ""
    api_key_source: str | None = None
    api_key: str | None = None
    # None keeps what is set; "known" takes it back, so that it is filled in.
    context_window: int | Literal["known"] | None = None
    # What is not said of these two is filled in with what is known.
    supports_thinking: bool | None = None
    supports_images: bool | None = None
    max_tokens: int | None = None
    # None keeps what is set.
    tool_calls: ToolCalls | None = None
    native_tools: NativeTools | None = None
    # What its tokens cost, in dollars for a million; None keeps what is set, and "known" takes it back.
    prices: Prices | Literal["known"] | None = None


class FoundModels(Frozen, frozen=True):
    """What could be added with one click."""

    found: tuple[FoundModel, ...]
    # One sentence about a host that was asked and has nothing to add; else empty.
    note: str = ""


class CatalogueEntry(Frozen, frozen=True):
    """A model that a configured provider offers."""

    provider: str
    base_url: str
    model: str


class Catalogue(Frozen, frozen=True):
    """The cached lists of what the configured providers offer, and who did not answer."""

    refreshed_at: float | None
    entries: tuple[CatalogueEntry, ...]
    problems: tuple[str, ...] = ()


class ConfigView(Settings, frozen=True, kw_only=True):
    """The settings that are not models: what `config.json` holds, how each is shown, and facts about this server."""

    version: str
    data_folder: str
    database: Literal["sqlite", "postgresql"]
    # By a setting's place in this answer: `retention.days`.
    about: dict[str, Setting] = msgspec.field(default_factory=lambda: shown(Settings))
    # What is wrong with `config.json`, while its last good content is in force.
    problem: FileProblem | None = None
    # What is wrong with the file of rules; meanwhile nothing is allowed by rule.
    rules_problem: FileProblem | None = None
    # The installed plugins: which of them may run, and which do not work.
    plugins: tuple[PluginView, ...] = ()
    # How many local MCP servers the machine has room for.
    usual_local_servers: int = 0
    # What holds commands on this machine.
    sandbox: SandboxView = SandboxView(kind="none")
    # What the default mode comes to here: in a conversation with a folder, and in one without.
    mode_in_folder: Mode = "ask"
    mode_elsewhere: Mode = "ask"

    def mode_of(self, settings: ConversationSettings) -> Mode:
        """Return the mode that a conversation's settings come to."""
        if settings.mode != "default":
            return settings.mode
        return self.mode_in_folder if settings.working_directory else self.mode_elsewhere


class ConfigPatch(patch_of(Settings)):  # type: ignore[misc]
    """Changes to the settings; an absent field stays, and null gives the default again."""

    # Plugins by name: the digest of what is enabled, or null to disable it.
    plugins: dict[str, str | None] | None = None


class PageState(Frozen, frozen=True):
    """Everything the page needs to draw itself after a reload, in one answer."""

    conversations: ConversationPage
    models: ModelList
    config: ConfigView
    servers: ServerList = ServerList(servers=())
    snapshot: ConversationSnapshot | None = None
    # What can be chosen: the providers by name, and the built-in tools in the order in which models get them.
    providers: tuple[ProviderView, ...] = ()
    built_in_tools: tuple[BuiltInTool, ...] = ()
    topics: TopicList = TopicList(topics=())


# --- the page's WebSocket ------------------------------------------------------------------------


class Subscribe(Body, frozen=True, tag_field="op", tag="subscribe"):
    """Send me this conversation's events after this number, and keep sending."""

    conversation_id: str
    after: int


class Unsubscribe(Body, frozen=True, tag_field="op", tag="unsubscribe"):
    """Stop sending this conversation's events."""

    conversation_id: str


SocketCommand = Subscribe | Unsubscribe


class EventsFrame(msgspec.Struct, frozen=True, tag_field="op", tag="events", rename="camel"):
    """Events of one conversation, in order."""

    conversation_id: str
    events: tuple[Event, ...]


class ListFrame(msgspec.Struct, frozen=True, tag_field="op", tag="conversation", rename="camel"):
    """A conversation in the list changed (title, activity, deleted) or is new."""

    conversation: Conversation


class ModelsFrame(msgspec.Struct, frozen=True, tag_field="op", tag="models", rename="camel"):
    """The models changed, here or by an edited file."""

    models: ModelList


class ServersFrame(msgspec.Struct, frozen=True, tag_field="op", tag="servers", rename="camel"):
    """The MCP servers, or the state of one, changed."""

    servers: ServerList


class NoticeFrame(msgspec.Struct, frozen=True, tag_field="op", tag="notice", rename="camel"):
    """Something about the whole server: the disk is full, the database is away, or all is well again."""

    level: Literal["info", "warning", "error"]
    code: str
    message: str


class InputFrame(msgspec.Struct, frozen=True, tag_field="op", tag="input", rename="camel"):
    """Somewhere the person is asked something, or was and has answered (`open` is false); the same may come twice."""

    conversation_id: str
    item_id: str
    tool_call_id: str = ""
    prompt: str = ""
    context: str = ""
    open: bool = True


class TopicsFrame(msgspec.Struct, frozen=True, tag_field="op", tag="topics", rename="camel"):
    """The topics changed."""

    topics: TopicList


class TodosFrame(msgspec.Struct, frozen=True, tag_field="op", tag="todos", rename="camel"):
    """The todos that the conversations of a topic share changed in one of them."""

    topic_id: str
    todos: TodoList


class LaggedFrame(msgspec.Struct, frozen=True, tag_field="op", tag="lagged", rename="camel"):
    """The reader fell too far behind; it must take a new snapshot."""

    conversation_id: str


class ProblemFrame(msgspec.Struct, frozen=True, tag_field="op", tag="problem", rename="camel"):
    """A conversation's events cannot be sent, and why: it is gone, or the command was not understood."""

    conversation_id: str | None
    code: ErrorCode
    message: str


SocketFrame = (
    EventsFrame
    | ListFrame
    | ModelsFrame
    | ServersFrame
    | TopicsFrame
    | TodosFrame
    | NoticeFrame
    | InputFrame
    | LaggedFrame
    | ProblemFrame
)
