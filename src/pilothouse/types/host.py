"""The services of a host: every verb that its interfaces can ask for, on behalf of an owner, declared once.

Every verb raises a PilothouseError for what the person can be told; what belongs to someone else is `not_found`,
exactly like what does not exist. The first sentence of each is what the OpenAPI document says of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from pilothouse.types import limits
from pilothouse.types.api import (
    Answer,
    Answers,
    AnswersTaken,
    Catalogue,
    CompactionWish,
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
    TodosFrame,
    TopicsFrame,
)
from pilothouse.types.authority import (
    AuditReport,
    CallInShort,
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
from pilothouse.types.exchange import Download, ExportFormat, Imported
from pilothouse.types.feed import FeedEvent
from pilothouse.types.late_services import LateService, MethodOf, late
from pilothouse.types.models import ModelList, ModelTest, ModelView
from pilothouse.types.paging import FIRST, Cursor, Limit, Page
from pilothouse.types.runs import Run
from pilothouse.types.todos import TodoInput, TodoList
from pilothouse.types.usage import ContextLedger, UsageFormat, UsageReport
from pilothouse.types.verbs import Options, Service, Verb, verb, verbs_of

if TYPE_CHECKING:
    from pilothouse.types.host_branches import Branches
    from pilothouse.types.host_documents import Documents
    from pilothouse.types.host_finding import Nearby, OtherPrograms, Packages, Proposals, Registries
    from pilothouse.types.host_meaning import MeaningVerbs
    from pilothouse.types.host_memories import Memories
    from pilothouse.types.host_operations import Operations
    from pilothouse.types.host_prompts import MiniPrompts, Prompts
    from pilothouse.types.host_servers import Servers
    from pilothouse.types.host_terminals import Indexes, Terminals
    from pilothouse.types.host_topics import Topics
    from pilothouse.types.host_web import Web

# The one person of an installation without accounts.
LOCAL_OWNER = "local"

# Everything that was at hand, in order; empty when nothing happened for FEED_PING seconds.
FeedBatch = Sequence[FeedEvent]
ListChange = ListFrame | ModelsFrame | ServersFrame | TopicsFrame | TodosFrame | NoticeFrame | InputFrame
Count = Annotated[int, Meta(ge=0)]
BranchNumber = Annotated[int, Meta(ge=0, le=limits.BRANCHES)]
# How many days back from today, which is the first of them.
Days = Annotated[int, Meta(ge=1, le=limits.USAGE_DAYS)]


class Conversations(Service):
    """Conversations and what is in them."""

    @verb("page_state", "GET", "/api/state")
    async def page_state(self, owner: str, conversation: str | None = None) -> PageState:
        """Everything the page draws after a reload."""

    @verb("search", "GET", "/api/search", Options(stops_with_client=True))
    async def search(
        self,
        owner: str,
        q: Annotated[str, Meta(max_length=limits.SEARCH_CHARS)],
        limit: Annotated[int, Meta(ge=1, le=limits.SEARCH_HITS)] = limits.SEARCH_HITS,
        by: Literal["words", "meaning"] = "meaning",
    ) -> SearchResult:
        """Find titles and messages by their words, and unless it is by words alone messages by what they mean."""

    @verb("list_conversations", "GET", "/api/conversations")
    async def list(
        self, owner: str, limit: Limit = 50, cursor: Cursor | None = None, topic: str | None = None
    ) -> ConversationPage:
        """Conversations, or those of a topic, most recently used first."""

    @verb("create_conversation", "POST", "/api/conversations", Options(status=201))
    async def create(self, owner: str, body: NewConversation) -> Conversation:
        """Start a conversation."""

    @verb("get_conversation", "GET", "/api/conversations/{id}")
    async def get(
        self,
        owner: str,
        conversation_id: str,
        limit: Limit = limits.SNAPSHOT_ITEMS,
        branch: BranchNumber | None = None,
    ) -> ConversationSnapshot:
        """A conversation with the newest items of a branch; of the one that was chosen last, if none is named."""

    @verb("update_conversation", "PATCH", "/api/conversations/{id}")
    async def update(self, owner: str, conversation_id: str, body: ConversationPatch) -> Conversation:
        """Rename a conversation or change its settings."""

    @verb("delete_conversation", "DELETE", "/api/conversations/{id}")
    async def delete(self, owner: str, conversation_id: str) -> None:
        """Delete a conversation; it can be restored for a while."""

    @verb("restore_conversation", "POST", "/api/conversations/{id}/restore")
    async def restore(self, owner: str, conversation_id: str) -> Conversation:
        """Bring a deleted conversation back."""

    @verb("list_items", "GET", "/api/conversations/{id}/items")
    async def items(
        self,
        owner: str,
        conversation_id: str,
        before: Count | None = None,
        limit: Limit = limits.SNAPSHOT_ITEMS,
        branch: BranchNumber | None = None,
    ) -> ItemPage:
        """Items before a position, or the newest: those on a branch's path, or of all branches."""

    @verb("get_context", "GET", "/api/conversations/{id}/context")
    async def context(self, owner: str, conversation_id: str) -> ContextLedger:
        """What fills a conversation's window, and what its answers took."""

    @verb("conversation_events", "GET", "/api/conversations/{id}/events")
    async def events(self, owner: str, conversation_id: str, after: Count = 0) -> AsyncGenerator[FeedBatch, None]:
        """Server-sent events after Last-Event-ID, then as they happen.

        Awaiting it checks the ownership, so that a stranger gets `not_found` and not an empty stream.
        Iterating raises Lagged when the reader is too slow, or knows more than is kept. It may be cancelled at any
        await.
        """


class Runs(Service):
    """Messages, and the runs that answer them."""

    @verb("check_message", "POST", "/api/messages/check", Options(body_limit=limits.MESSAGE_BODY_BYTES))
    async def check_message(self, owner: str, body: NewMessage) -> None:
        """Would a message be taken? It is not sent; for what wants to know before it starts a conversation."""

    @verb(
        "post_message",
        "POST",
        "/api/conversations/{id}/messages",
        Options(status=202, body_limit=limits.MESSAGE_BODY_BYTES, repeatable=True),
    )
    async def post_message(self, owner: str, conversation_id: str, body: NewMessage) -> MessageAccepted:
        """Send a message; a resend with the same Idempotency-Key is harmless."""

    @verb("compact_conversation", "POST", "/api/conversations/{id}/compact", Options(status=202))
    async def compact(self, owner: str, conversation_id: str, body: CompactionWish) -> MessageAccepted:
        """Sum up what was said so far, in turn with the messages; the original stays, and can be read.

        Refused while a question waits, while it is being summed up, and where there is nothing to sum up.
        """

    @verb("get_run", "GET", "/api/runs/{id}")
    async def get(self, owner: str, run_id: str) -> Run:
        """A run."""

    @verb("cancel_run", "POST", "/api/runs/{id}/cancel")
    async def cancel(self, owner: str, run_id: str) -> Run:
        """Stop a run.

        One that has ended stays as it is.
        """

    @verb("resume_run", "POST", "/api/runs/{id}/resume")
    async def resume(self, owner: str, run_id: str) -> Run:
        """Go on with a run that was interrupted, failed or was cancelled."""

    @verb("cancel_call", "POST", "/api/calls/{id}/cancel")
    async def cancel_call(self, owner: str, item_id: str) -> None:
        """Stop one tool call, by its item's id; its run goes on."""

    @verb("keep_waiting", "POST", "/api/calls/{id}/keep-waiting")
    async def keep_waiting(self, owner: str, item_id: str) -> None:
        """Give a running tool call more time before it times out."""

    @verb("get_result", "GET", "/api/calls/{id}/result")
    async def result(self, owner: str, item_id: str) -> FullResult:
        """A tool call's whole result, as far as it was kept."""

    @verb("get_part", "GET", "/api/items/{id}/parts/{index}")
    async def part(self, owner: str, item_id: str, index: int) -> PartData:
        """The bytes of one part of a message or of a tool call's result, by its item's id."""


class Questions(Service):
    """What runs ask a person."""

    @verb("answer_question", "POST", "/api/questions/{id}/answer", Options(repeatable=True))
    async def answer(self, owner: str, item_id: str, body: Answer) -> Run:
        """Answer a question, by its item's id."""

    @verb("answer_many", "POST", "/api/answers")
    async def answer_many(self, owner: str, body: Answers) -> AnswersTaken:
        """Give several questions the same answer; what stands out must be answered by itself."""


class Todos(Service):
    """What the agent has to do in a conversation."""

    @verb("get_todos", "GET", "/api/conversations/{id}/todos")
    async def get(self, owner: str, conversation_id: str, branch: BranchNumber | None = None) -> TodoList:
        """What the agent has to do in a conversation's branch, or in the chosen one, and how far it is."""

    @verb("put_todos", "PUT", "/api/conversations/{id}/todos")
    async def put(self, owner: str, conversation_id: str, body: TodoInput) -> TodoList:
        """Replace the todos of a conversation, held to the same rules as the agent's own.

        The agent is told before it is asked the next time.
        """


class Permissions(Service):
    """Who may do what, what waits for the person, and who did what."""

    @verb("get_policy", "GET", "/api/policy")
    async def policy(self, owner: str) -> PolicyView:
        """The rules in force, how often each decided lately, and what is wrong with their file."""

    @verb("set_policy", "PUT", "/api/policy")
    async def set_policy(self, owner: str, body: PolicyInput) -> PolicyView:
        """Replace all rules; each is tried on its own examples first."""

    @verb("replay_policy", "POST", "/api/policy/replay")
    async def replay_policy(self, owner: str, body: PolicyInput) -> PolicyReplay:
        """What these rules would have done about calls of the past; nothing is kept."""

    @verb("check_policy", "GET", "/api/policy/check")
    async def check_policy(self, owner: str, call: CallInShort) -> PolicyCheck:
        """What the rules in force say about a call."""

    @verb("list_grants", "GET", "/api/grants")
    async def grants(self, owner: str, conversation: str | None = None, page: Page = FIRST) -> GrantList:
        """The passing permissions that stand, of one conversation or of all, newest first."""

    @verb("give_grant", "POST", "/api/grants", Options(status=201))
    async def give_grant(self, owner: str, body: NewGrant) -> Grant:
        """Allow something for a while in one conversation."""

    @verb("revoke_grant", "DELETE", "/api/grants/{id}")
    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        """Withdraw a passing permission, at once."""

    @verb("list_approvals", "GET", "/api/approvals")
    async def approvals(self, owner: str, page: Page = FIRST) -> PendingApprovals:
        """Every question that waits for the person, in whichever conversation, oldest first."""

    @verb("get_audit", "GET", "/api/audit")
    async def audit(
        self,
        owner: str,
        conversation: str | None = None,
        until: Count | None = None,
        limit: Annotated[int, Meta(ge=1, le=limits.AUDIT_ENTRIES)] = limits.AUDIT_ENTRIES,
        cursor: Cursor | None = None,
    ) -> AuditReport:
        """Every call with who allowed it and why, and whether the record is as it was written.

        `until` leaves the events of a conversation after this number out; of the calls the newest are told, up to
        the limit; the cursor says which conversations are next.
        """


class Changes(Service):
    """What runs did to files."""

    @verb("run_changes", "GET", "/api/runs/{id}/changes")
    async def list(self, owner: str, run_id: str, page: Page = FIRST) -> ChangeList:
        """The files that a run changed and nobody put back, in order."""

    @verb("undo_run", "POST", "/api/runs/{id}/undo")
    async def undo_run(self, owner: str, run_id: str) -> UndoReport:
        """Put back what a run changed; files that someone touched since are listed and left alone."""

    @verb("undo_call", "POST", "/api/calls/{id}/undo")
    async def undo_call(self, owner: str, item_id: str) -> UndoReport:
        """Put back what one tool call changed, or what was set aside after one: by the id of the notice about that."""

    @verb("drop_aside", "POST", "/api/calls/{id}/drop")
    async def drop(self, owner: str, item_id: str) -> None:
        """Forget what was set aside, which starts by itself."""


class Exchange(Service):
    """Conversations as files."""

    @verb("export_conversation", "GET", "/api/conversations/{id}/export")
    async def export_conversation(
        self, owner: str, conversation_id: str, format_: ExportFormat = "json", all_branches: bool = False
    ) -> Download:
        """A conversation as a file: lines of JSON with everything in it, or Markdown with what was said.

        Markdown has the branch that was chosen last, or all of them.
        """

    @verb("import_conversations", "POST", "/api/import", Options(201, limits.CONVERSATIONS_FILE_BYTES))
    async def import_conversations(self, owner: str, body: AsyncIterator[bytes]) -> Imported:
        """Take over the conversations of an export, as lines of JSON, compressed or not.

        All or none; nothing in them is carried out.
        """


class Models(Service):
    """The configured models; the fixed paths come before `{id}`, as the first match wins."""

    @verb("list_models", "GET", "/api/models")
    async def list(self, owner: str) -> ModelList:
        """All models."""

    @verb("add_model", "POST", "/api/models", Options(status=201))
    async def add(self, owner: str, body: ModelInput) -> ModelView:
        """Add a model."""

    @verb("test_draft", "POST", "/api/models/test")
    async def test_draft(self, owner: str, body: ModelInput) -> ModelTest:
        """Make a real, tiny request to a model that is not saved yet."""

    @verb("about_model", "POST", "/api/models/about")
    async def about(self, owner: str, body: ModelInput) -> ModelView:
        """What is known about a model that is not saved yet, and told by its own server if that is near."""

    @verb("found_models", "GET", "/api/models/found")
    async def found(self, owner: str, host: Annotated[str, Meta(max_length=limits.HOST_CHARS)] = "") -> FoundModels:
        """Model servers on this machine and keys in the environment that could be added; or those of one host."""

    @verb("get_catalogue", "GET", "/api/models/catalogue")
    async def catalogue(self, owner: str) -> Catalogue:
        """What the configured providers offer, as last asked."""

    @verb("refresh_catalogue", "POST", "/api/models/refresh")
    async def refresh(self, owner: str) -> Catalogue:
        """Ask the configured providers what they offer."""

    @verb("update_model", "PUT", "/api/models/{id}")
    async def update(self, owner: str, model_id: str, body: ModelInput) -> ModelView:
        """Replace a model's configuration; without apiKey its key stays."""

    @verb("delete_model", "DELETE", "/api/models/{id}")
    async def delete(self, owner: str, model_id: str) -> None:
        """Remove a model.

        The secret that was kept for it goes, too.
        """

    @verb("set_default_model", "POST", "/api/models/{id}/default")
    async def set_default(self, owner: str, model_id: str) -> ModelList:
        """Make a model the default."""

    @verb("test_model", "POST", "/api/models/{id}/test")
    async def test(self, owner: str, model_id: str) -> ModelTest:
        """Make a real, tiny request to a model."""

    @verb("confirm_key", "POST", "/api/models/{id}/confirm-key")
    async def confirm_key(self, owner: str, model_id: str) -> ModelView:
        """Let a model's key go to the origin that its URL has now."""

    @verb("forget_learned", "POST", "/api/models/{id}/forget")
    async def forget(self, owner: str, model_id: str) -> ModelView:
        """Forget what was learned about a model from what its provider refused."""


class Usage(Service):
    """What models were asked for, by day; it outlives the conversations."""

    @verb("get_usage", "GET", "/api/usage")
    async def report(self, owner: str, days: Days = limits.USAGE_DAYS_SHOWN) -> UsageReport:
        """What was used lately, by day and model, newest day first."""

    @verb("export_usage", "GET", "/api/usage/export")
    async def export(self, owner: str, days: Days = limits.USAGE_DAYS_SHOWN, format_: UsageFormat = "csv") -> Download:
        """What was used lately as a file: a table, or JSON."""


class Settings(Service):
    """The settings that are not models."""

    @verb("get_config", "GET", "/api/config")
    async def get(self, owner: str) -> ConfigView:
        """The settings.

        With what was found out about this machine.
        """

    @verb("update_config", "PATCH", "/api/config")
    async def update(self, owner: str, body: ConfigPatch) -> ConfigView:
        """Change settings."""

    async def usual(self, owner: str) -> ConversationSettings:
        """Return what the active profile sets for new conversations."""
        config = await self.get(owner)
        found = [profile.settings for profile in config.profiles if profile.id == config.active_profile]
        return found[0] if found else ConversationSettings()


class ClientApi:
    """What commands and programs ask for, of a host of their own or of a running server: a service for each noun."""

    conversations: Conversations = late("host", "Conversations")
    runs: Runs = late("host", "Runs")
    branches: Branches = late("host_branches", "Branches")
    questions: Questions = late("host", "Questions")
    todos: Todos = late("host", "Todos")
    memories: Memories = late("host_memories", "Memories")
    topics: Topics = late("host_topics", "Topics")
    prompts: Prompts = late("host_prompts", "Prompts")
    mini_prompts: MiniPrompts = late("host_prompts", "MiniPrompts")
    permissions: Permissions = late("host", "Permissions")
    changes: Changes = late("host", "Changes")
    terminals: Terminals = late("host_terminals", "Terminals")
    indexes: Indexes = late("host_terminals", "Indexes")
    exchange: Exchange = late("host", "Exchange")
    models: Models = late("host", "Models")
    usage: Usage = late("host", "Usage")
    settings: Settings = late("host", "Settings")
    servers: Servers = late("host_servers", "Servers")
    registries: Registries = late("host_finding", "Registries")
    proposals: Proposals = late("host_finding", "Proposals")
    other_programs: OtherPrograms = late("host_finding", "OtherPrograms")
    nearby: Nearby = late("host_finding", "Nearby")
    packages: Packages = late("host_finding", "Packages")
    meaning: MeaningVerbs = late("host_meaning", "MeaningVerbs")
    documents: Documents = late("host_documents", "Documents")
    web: Web = late("host_web", "Web")
    operations: Operations = late("host_operations", "Operations")

    def method_of(self, noun: str) -> MethodOf:
        """Return what makes the methods of a noun's service, where that is made when someone asks about the noun."""
        raise NotImplementedError


@cache
def services() -> dict[str, type[Service]]:
    """Return the service of each noun."""
    found = {noun: getattr(ClientApi, noun) for noun in ClientApi.__annotations__}
    return {noun: each.declaration() for noun, each in found.items() if isinstance(each, LateService)}


@cache
def all_verbs() -> tuple[tuple[str, Verb], ...]:
    """Return every verb, each with its noun."""
    return tuple((noun, each) for noun, service in services().items() for each in verbs_of(service))
