"""What people may change beside conversations: the models and the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pilothouse.types.api import Catalogue, ConfigPatch, ConfigView, FoundModels, ModelInput
from pilothouse.types.authority import Example, Grant, Pattern, PolicyCheck, PolicyReplay, Rule, RuleUse
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.models import FileProblem, ModelList, ModelTest, ModelView
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.ports import ModelSource
from pilothouse.types.records import PastCall, Room
from pilothouse.types.servers import (
    AboutDecided,
    ConsentGiven,
    ImportQuestions,
    ImportReport,
    ImportRequest,
    ServerInput,
    ServerList,
    ServerLog,
    ServerPatch,
    ServersSwitch,
    ServerTest,
    ServerView,
    StatusReport,
    ToolConfirmed,
    ToolList,
    ToolTrial,
    ToolTry,
    TrafficPage,
    TrafficSwitch,
)


class Permissions(Protocol):
    """Keeps what the person allows beyond one call."""

    def vet(self, pattern: Pattern, *, lasting: bool) -> None:
        """Raise `bad_request` with why a permission for such calls, passing or lasting, cannot be kept."""
        ...

    async def add_grant(self, grant: Grant) -> None:
        """Keep a passing permission."""
        ...

    async def add_rule(self, rule: Rule) -> None:
        """Keep a lasting rule beside the others; raise `bad_request` with why it cannot be kept."""
        ...


class AuthorityAdmin(Permissions, Protocol):
    """The rules and the passing permissions, and changes to them."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules in force, or the last that could be read."""
        ...

    @property
    def problem(self) -> FileProblem | None:
        """Return what is wrong with the file of the rules."""
        ...

    async def replace_rules(self, rules: Sequence[Rule]) -> None:
        """Put these rules in the place of all others; raise `bad_request` that names the one which cannot be kept."""
        ...

    def replay(self, rules: Sequence[Rule], calls: Sequence[PastCall]) -> PolicyReplay:
        """Return what rules would have done about calls of the past."""
        ...

    def uses(self, calls: Sequence[PastCall]) -> tuple[RuleUse, ...]:
        """Return how often rules decided about these calls."""
        ...

    def check(self, example: Example) -> PolicyCheck:
        """Return what the rules in force say about a call."""
        ...

    async def grants(self, owner: str, conversation_id: str | None) -> Sequence[Grant]:
        """Return the passing permissions of a conversation or of all that stand now, newest first."""
        ...

    async def revoke_grant(self, owner: str, grant_id: str) -> None:
        """Withdraw a passing permission."""
        ...


class ModelAdmin(ModelSource, Protocol):
    """The configured models, and changes to them."""

    async def list(self) -> ModelList:
        """Return all models."""
        ...

    async def add(self, body: ModelInput) -> ModelView:
        """Add a model."""
        ...

    async def update(self, model_id: str, body: ModelInput) -> ModelView:
        """Replace a model's configuration."""
        ...

    async def delete(self, model_id: str) -> None:
        """Remove a model and its secret."""
        ...

    async def set_default(self, model_id: str) -> ModelList:
        """Make a model the default."""
        ...

    async def confirm_key(self, model_id: str) -> ModelView:
        """Bind a model's key to the origin its URL has now."""
        ...

    async def test(self, model_id: str) -> ModelTest:
        """Make a real, tiny request."""
        ...

    async def test_draft(self, body: ModelInput) -> ModelTest:
        """Make a real, tiny request to a model that is not saved."""
        ...


class ModelFinder(Protocol):
    """What could be added, and what the providers offer."""

    async def found(self, host: str = "") -> FoundModels:
        """Look for local servers and keys in the environment; or on a host that a person named, and only there."""
        ...

    async def catalogue(self) -> Catalogue:
        """Return the kept lists of the providers' models."""
        ...

    async def refresh(self) -> Catalogue:
        """Ask the configured providers what they offer."""
        ...


class ConfigAdmin(Protocol):
    """The settings that are not models."""

    def view(self) -> ConfigView:
        """Return the settings."""
        ...

    async def patch(self, patch: ConfigPatch, by: str) -> ConfigView:
        """Change settings; `by` is whose word it is."""
        ...

    def room(self) -> Room:
        """Return how many messages may wait for their answer."""
        ...

    def new_conversation_settings(self) -> ConversationSettings:
        """Return what the active profile sets for new conversations."""
        ...


class OwnTools(Protocol):
    """The tools of the host and of plugins, whether a conversation is offered them or not."""

    def operations(self) -> Mapping[str, Sequence[str] | None]:
        """Return the operations of each by its name; None for a tool that does not tell them."""
        ...


class ServerAdmin(Protocol):
    """The MCP servers, and changes to them."""

    async def list(self) -> ServerList:
        """Return all servers as they are now."""
        ...

    def names(self) -> Mapping[str, str]:
        """Return the name of each server by the short one that stands before its tools; nothing is looked at."""
        ...

    async def add(self, body: ServerInput) -> ServerView:
        """Add a server; a local command starts only after consent."""
        ...

    async def update(self, server_id: str, body: ServerInput) -> ServerView:
        """Replace a server's configuration; secrets that are not sent stay."""
        ...

    async def patch(self, server_id: str, body: ServerPatch) -> ServerView:
        """Switch it on or off, or single tools of it."""
        ...

    async def delete(self, server_id: str) -> None:
        """Stop a server, remove it and delete every secret kept for it."""
        ...

    async def consent(self, server_id: str, body: ConsentGiven) -> ServerView:
        """Agree to start exactly this command."""
        ...

    async def retry(self, server_id: str) -> ServerView:
        """Connect now, with fresh counters."""
        ...

    async def disconnect(self, server_id: str) -> ServerView:
        """Stop a server without switching it off; its next call starts it again."""
        ...

    async def test(self, server_id: str) -> ServerTest:
        """Connect if need be and ask for the tools."""
        ...

    async def tools(self, server_id: str | None, page: Page = FIRST) -> ToolList:
        """Return the tools of one server or of all, as last listed."""
        ...

    async def confirm_tool(self, server_id: str, body: ToolConfirmed) -> ToolList:
        """Accept a tool's changed definition."""
        ...

    async def decide_about(self, server_id: str, body: AboutDecided) -> ServerView:
        """Accept what a server says about itself now, or keep what it said before."""
        ...

    async def try_tool(self, body: ToolTry) -> ToolTrial:
        """Call a tool by hand."""
        ...

    async def log(self, server_id: str) -> ServerLog:
        """Return what a server wrote."""
        ...

    async def status(self) -> StatusReport:
        """Return latencies, errors and past states."""
        ...

    async def traffic(self, after: int, server_id: str | None) -> TrafficPage:
        """Return recorded messages after a number."""
        ...

    async def switch_traffic(self, body: TrafficSwitch) -> TrafficPage:
        """Start or stop recording messages."""
        ...

    async def switch(self, body: ServersSwitch) -> ServerList:
        """Switch several servers on or off, with one write."""
        ...

    async def import_questions(self, body: ImportRequest) -> ImportQuestions:
        """Return what the servers of another program's file leave open."""
        ...

    async def import_file(self, body: ImportRequest) -> ImportReport:
        """Add the servers of another program's file; none starts without consent."""
        ...

    async def release(self, call_ids: Sequence[str]) -> None:
        """Give up calls that were paused for an answer, because their run was cancelled."""
        ...
