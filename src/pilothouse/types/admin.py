"""What people may change beside conversations: the models and the settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pilothouse.types.api import Catalogue, ConfigPatch, ConfigView, FoundModels, ModelInput
from pilothouse.types.authority import Grant, Rule
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.models import ModelList, ModelTest, ModelView
from pilothouse.types.ports import ModelSource
from pilothouse.types.servers import (
    ConsentGiven,
    ImportReport,
    ImportRequest,
    ServerInput,
    ServerList,
    ServerLog,
    ServerPatch,
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

    async def add_grant(self, grant: Grant) -> None:
        """Keep a passing permission."""
        ...

    async def add_rule(self, rule: Rule) -> None:
        """Keep a lasting rule beside the others; raise `bad_request` with why it cannot be kept."""
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

    async def found(self) -> FoundModels:
        """Look for local servers and keys in the environment."""
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

    async def patch(self, patch: ConfigPatch) -> ConfigView:
        """Change settings."""
        ...

    def new_conversation_settings(self) -> ConversationSettings:
        """Return what the active profile sets for new conversations."""
        ...


class ServerAdmin(Protocol):
    """The MCP servers, and changes to them."""

    async def list(self) -> ServerList:
        """Return all servers as they are now."""
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

    async def test(self, server_id: str) -> ServerTest:
        """Connect if need be and ask for the tools."""
        ...

    async def tools(self, server_id: str | None) -> ToolList:
        """Return the tools of one server or of all, as last listed."""
        ...

    async def confirm_tool(self, server_id: str, body: ToolConfirmed) -> ToolList:
        """Accept a tool's changed definition."""
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

    async def import_file(self, body: ImportRequest) -> ImportReport:
        """Add the servers of another program's file; none starts without consent."""
        ...

    async def release(self, call_ids: Sequence[str]) -> None:
        """Give up calls that were paused for an answer, because their run was cancelled."""
        ...
