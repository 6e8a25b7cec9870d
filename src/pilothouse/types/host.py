"""What the server and the command line ask of the core. Everything is asked on behalf of an owner.

Every method raises a PilothouseError for what the person can be told; what belongs to someone else
is `not_found`, exactly like what does not exist.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from pilothouse.types import limits
from pilothouse.types.api import (
    Answer,
    Answers,
    AnswersTaken,
    Catalogue,
    ConfigPatch,
    ConfigView,
    ConversationPage,
    ConversationPatch,
    ConversationSnapshot,
    FoundModels,
    FullResult,
    InputFrame,
    ItemPage,
    ListFrame,
    MessageAccepted,
    ModelInput,
    ModelsFrame,
    NewConversation,
    NewMessage,
    NoticeFrame,
    PageState,
    PartData,
    SearchResult,
    ServersFrame,
)
from pilothouse.types.authority import (
    AuditReport,
    Example,
    Grant,
    GrantList,
    NewGrant,
    PendingApprovals,
    PolicyCheck,
    PolicyInput,
    PolicyReplay,
    PolicyView,
)
from pilothouse.types.changes import ChangeList, UndoReport
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.exchange import Exporting, Importing
from pilothouse.types.feed import FeedEvent
from pilothouse.types.host_servers import Servers
from pilothouse.types.models import ModelList, ModelTest, ModelView
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.runs import Run
from pilothouse.types.searching import IndexView
from pilothouse.types.terminals import (
    ProcessOutput,
    ProcessView,
    TerminalList,
    TerminalSelection,
    TerminalSize,
    TerminalView,
)
from pilothouse.types.todos import TodoInput, TodoList

# The one person of an installation without accounts.
LOCAL_OWNER = "local"


# Everything that was at hand, in order; empty when nothing happened for FEED_PING seconds.
FeedBatch = Sequence[FeedEvent]
ListChange = ListFrame | ModelsFrame | ServersFrame | NoticeFrame | InputFrame


class Conversations(Protocol):
    """Conversations and what is in them."""

    async def page_state(self, owner: str, conversation_id: str | None) -> PageState:
        """Return all that the page draws after a reload."""
        ...

    async def conversations(self, owner: str, *, limit: int, cursor: str | None) -> ConversationPage:
        """Return conversations, most recently used first."""
        ...

    async def create_conversation(self, owner: str, body: NewConversation) -> Conversation:
        """Start a conversation."""
        ...

    async def snapshot(self, owner: str, conversation_id: str, *, limit: int) -> ConversationSnapshot:
        """Return a conversation with its newest items and the number of its last event."""
        ...

    async def items(self, owner: str, conversation_id: str, *, before: int | None, limit: int) -> ItemPage:
        """Return the items before a position, or the newest."""
        ...

    async def update_conversation(self, owner: str, conversation_id: str, body: ConversationPatch) -> Conversation:
        """Rename it or change its settings."""
        ...

    async def delete_conversation(self, owner: str, conversation_id: str) -> None:
        """Delete it; it can be restored for a while."""
        ...

    async def restore_conversation(self, owner: str, conversation_id: str) -> Conversation:
        """Bring a deleted conversation back."""
        ...

    async def search(self, owner: str, query: str, *, limit: int) -> SearchResult:
        """Find titles and items by their words."""
        ...

    async def events(self, owner: str, conversation_id: str, after: int) -> AsyncGenerator[FeedBatch, None]:
        """Open the feed after event `after`: what was missed, then what happens, until it is closed.

        Awaiting it checks the ownership, so that a stranger gets `not_found` and not an empty stream.
        Iterating raises Lagged when the reader is too slow, or knows more than is kept. It may be cancelled at any
        await.
        """
        ...


class Runs(Protocol):
    """Messages, and the runs that answer them."""

    async def check_message(self, owner: str, body: NewMessage) -> None:
        """Raise why a message would not be taken, whichever conversation it is for."""
        ...

    async def post_message(self, owner: str, conversation_id: str, body: NewMessage) -> MessageAccepted:
        """Keep a message and start its answer; the same idempotency key gives the same answer."""
        ...

    async def run(self, owner: str, run_id: str) -> Run:
        """Return a run."""
        ...

    async def cancel_run(self, owner: str, run_id: str) -> Run:
        """Ask a run to stop; a run that has ended stays as it is."""
        ...

    async def resume_run(self, owner: str, run_id: str) -> Run:
        """Go on with an interrupted, failed or cancelled run."""
        ...

    async def cancel_call(self, owner: str, item_id: str) -> None:
        """Stop one tool call; its run goes on."""
        ...

    async def keep_waiting(self, owner: str, item_id: str) -> None:
        """Give a running call more time before it times out."""
        ...

    async def result(self, owner: str, item_id: str) -> FullResult:
        """Return a call's whole result, masked, as far as it was kept."""
        ...

    async def part(self, owner: str, item_id: str, index: int) -> PartData:
        """Return the bytes of an image, a sound or a file in a message or a call's result."""
        ...

    async def answer(self, owner: str, item_id: str, body: Answer) -> Run:
        """Answer a question and let its run go on."""
        ...

    async def answer_many(self, owner: str, body: Answers) -> AnswersTaken:
        """Give several questions the same answer; each is taken or not by itself."""
        ...


class Todos(Protocol):
    """What the agent has to do in a conversation."""

    async def todos(self, owner: str, conversation_id: str) -> TodoList:
        """Return a conversation's todos."""
        ...

    async def put_todos(self, owner: str, conversation_id: str, body: TodoInput) -> TodoList:
        """Replace a conversation's todos; the agent is told before it is asked the next time."""
        ...


class Changes(Protocol):
    """What runs did to files."""

    async def changes(self, owner: str, run_id: str, page: Page = FIRST) -> ChangeList:
        """Return what a run changed and nobody undid, in order."""
        ...

    async def undo_run(self, owner: str, run_id: str) -> UndoReport:
        """Put back what a run changed, as far as nobody touched it since."""
        ...

    async def undo_call(self, owner: str, item_id: str) -> UndoReport:
        """Put back what one call changed."""
        ...


class Indexes(Protocol):
    """The indexes of working directories."""

    async def index(self, owner: str, conversation_id: str) -> IndexView:
        """Return how the index of a conversation's working directory stands."""
        ...


class Terminals(Protocol):
    """The terminals and background commands of conversations."""

    async def terminals(self, owner: str, conversation_id: str) -> TerminalList:
        """Return what runs in a conversation, and what holds it."""
        ...

    async def open_terminal(self, owner: str, conversation_id: str, body: TerminalSize) -> TerminalView:
        """Return the conversation's session; started if there is none or the folder is another."""
        ...

    async def close_terminal(self, owner: str, conversation_id: str) -> None:
        """End the session and everything in it."""
        ...

    async def terminal_recording(self, owner: str, conversation_id: str) -> PartData:
        """Return the recording of the conversation's sessions as a file."""
        ...

    async def process_output(self, owner: str, conversation_id: str, process_id: str, start: int) -> ProcessOutput:
        """Return what a background command wrote, from an index on."""
        ...

    async def stop_process(self, owner: str, conversation_id: str, process_id: str) -> ProcessView:
        """End a background command and everything it started."""
        ...


class TerminalLine(Protocol):
    """A terminal as someone sits at it; only the process that runs it can offer that."""

    async def terminal_output(
        self, owner: str, conversation_id: str, start: int
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        """Open the output from an index on, until the session ends; awaiting it checks the ownership."""
        ...

    async def type_in_terminal(self, owner: str, conversation_id: str, data: bytes) -> None:
        """Give input to the session."""
        ...

    async def resize_terminal(self, owner: str, conversation_id: str, body: TerminalSize) -> None:
        """Tell the session how large its window is."""
        ...

    async def select_in_terminal(self, owner: str, conversation_id: str, body: TerminalSelection) -> None:
        """Let the agent see what the person selected."""
        ...


class Models(Protocol):
    """The configured models."""

    async def models(self, owner: str) -> ModelList:
        """Return all models."""
        ...

    async def add_model(self, owner: str, body: ModelInput) -> ModelView:
        """Add a model."""
        ...

    async def update_model(self, owner: str, model_id: str, body: ModelInput) -> ModelView:
        """Replace a model's configuration; without `api_key` its key stays."""
        ...

    async def delete_model(self, owner: str, model_id: str) -> None:
        """Remove a model and the secret that was kept for it."""
        ...

    async def set_default_model(self, owner: str, model_id: str) -> ModelList:
        """Make a model the default."""
        ...

    async def test_model(self, owner: str, model_id: str) -> ModelTest:
        """Make a real, tiny request to a model."""
        ...

    async def test_draft(self, owner: str, body: ModelInput) -> ModelTest:
        """Make a real, tiny request to a model that is not saved."""
        ...

    async def confirm_key(self, owner: str, model_id: str) -> ModelView:
        """Bind a model's key to the origin that its URL has now."""
        ...

    async def found_models(self, owner: str, host: str = "") -> FoundModels:
        """Look for local model servers and for keys in the environment; or on a host that a person named."""
        ...

    async def catalogue(self, owner: str) -> Catalogue:
        """Return the kept lists of what the providers offer."""
        ...

    async def refresh_catalogue(self, owner: str) -> Catalogue:
        """Ask the configured providers what they offer."""
        ...


class Settings(Protocol):
    """The settings that are not models."""

    async def config(self, owner: str) -> ConfigView:
        """Return the settings, and what was found out about this machine."""
        ...

    async def usual_settings(self, owner: str) -> ConversationSettings:
        """Return what the active profile sets for new conversations; nothing is found out for that."""
        ...

    async def update_config(self, owner: str, body: ConfigPatch) -> ConfigView:
        """Change settings."""
        ...


class Sessions(Protocol):
    """Browser sessions; only hashes of their tokens are kept."""

    async def create_session(self, owner: str, holder: str = "") -> str:
        """Begin a session and return its token, this once; what it is asked for by is the token and then the holder."""
        ...

    async def session_owner(self, token: str) -> str | None:
        """Return whose session it is, or None when it ended or never was."""
        ...

    async def end_session(self, token: str) -> None:
        """End a session; an unknown one is fine."""
        ...


class Watching(Protocol):
    """What happens outside a single conversation."""

    async def ready(self) -> None:
        """Return if something could be kept right now; raise why not."""
        ...

    def list_changes(self, owner: str) -> AsyncGenerator[ListChange, None]:
        """Yield changes of the list of conversations, of the models, and notices about the server.

        Whoever owns nothing (an empty name) gets what concerns everyone.
        """
        ...


class Authority(Protocol):
    """Who may do what, what waits for the person, and who did what."""

    async def policy(self, owner: str) -> PolicyView:
        """Return the rules, how often each was used, and what is wrong with their file."""
        ...

    async def set_policy(self, owner: str, body: PolicyInput) -> PolicyView:
        """Put these rules in the place of all others."""
        ...

    async def replay_policy(self, owner: str, body: PolicyInput) -> PolicyReplay:
        """Return what rules would have done about calls of the past; nothing is kept."""
        ...

    async def check_policy(self, owner: str, example: Example) -> PolicyCheck:
        """Return what the rules in force say about a call."""
        ...

    async def grants(self, owner: str, conversation_id: str | None, page: Page = FIRST) -> GrantList:
        """Return the passing permissions of a conversation or of all that stand."""
        ...

    async def give_grant(self, owner: str, body: NewGrant) -> Grant:
        """Allow something for a while, in one conversation."""
        ...

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        """Withdraw a passing permission, at once."""
        ...

    async def approvals(self, owner: str, page: Page = FIRST) -> PendingApprovals:
        """Return what waits for the person."""
        ...

    async def audit(
        self,
        owner: str,
        conversation_id: str | None,
        until: int | None = None,
        limit: int = limits.AUDIT_ENTRIES,
        cursor: str | None = None,
    ) -> AuditReport:
        """Return the calls of a conversation or of all with who allowed them, and whether the record is whole.

        `until` leaves the events of a conversation after this number out; of the calls the newest `limit` are told.
        """
        ...


class ClientApi(
    Conversations, Runs, Authority, Todos, Changes, Terminals, Indexes, Models, Servers, Settings, Importing, Protocol
):
    """What commands and programs ask for, of a core of their own or of a running server."""


class HostApi(ClientApi, Exporting, Watching, TerminalLine, Sessions, Protocol):
    """The whole core, as the server sees it."""
