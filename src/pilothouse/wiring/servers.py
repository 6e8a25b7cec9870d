"""The MCP servers as a host has them: loaded only when there is one, or when someone asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pilothouse.settings.servers_file import ServersFile
from pilothouse.types.admin import ServerAdmin
from pilothouse.types.enclosing import Encloser
from pilothouse.types.ports import Tool, ToolRequest, ToolSet
from pilothouse.wiring.foundation import Foundation

if TYPE_CHECKING:
    from pilothouse.mcp.supervisor import Supervisor
    from pilothouse.mcp.toolbox import Toolbox


class Servers:
    """The MCP servers and the tools of a run; what they need is loaded when there is a server or someone asks."""

    def __init__(
        self,
        base: Foundation,
        built_in: Callable[[ToolRequest], Sequence[Tool]],
        encloser: Encloser,
        *,
        learn: bool = True,
    ) -> None:
        self._base = base
        self._encloser = encloser
        self._file = ServersFile(base.config)
        self._supervisor: Supervisor | None = None
        self._toolbox: Toolbox | None = None
        self._built_in = built_in
        # Whether servers that nobody asks for are looked at, too.
        self._learn = learn
        # Set once there is someone to tell.
        self.changed: Callable[[], None] = lambda: None

    async def tools(self, wanted: ToolRequest) -> ToolSet:
        """Return the tools of a run."""
        selection = wanted.selection
        named = selection is not None and bool(selection.servers)
        if self._supervisor is None and not named and not self._file.entries():
            return ToolSet(tuple(self._built_in(wanted)))
        if self._toolbox is None:
            from pilothouse.mcp.toolbox import Toolbox

            self._toolbox = Toolbox(self._built_in, self.supervisor())
        return await self._toolbox.tools(wanted)

    def supervisor(self) -> Supervisor:
        """Return who runs the servers."""
        if self._supervisor is None:
            from pilothouse.mcp.assembly import Sharing, supervise

            sharing = Sharing(
                home=self._base.home.path,
                secrets=self._base.secrets,
                redact=self._base.redactor.redact,
                learn=self._base.redactor.learn,
                changed=self._changed,
                notice=self._base.feed.notice,
                encloser=self._encloser,
                most=self._base.config.local_servers,
            )
            self._supervisor = supervise(self._file, sharing)
            self._supervisor.begin(learn=self._learn)
        return self._supervisor

    def _changed(self) -> None:
        self.changed()

    def admin(self) -> ServerAdmin:
        """Return who changes them."""
        from pilothouse.mcp.admin import McpAdmin

        return McpAdmin(self.supervisor(), self._base.helper)

    def begin(self) -> None:
        """Start what must run, in the background; nothing at all when there are no servers."""
        if self._file.entries():
            self.supervisor()

    def reconcile(self) -> None:
        """Take up an edit of the file."""
        if self._supervisor is not None:
            self._supervisor.reconcile()
        else:
            self.begin()

    async def release(self, call_ids: Sequence[str]) -> None:
        """Give up calls that waited for an answer."""
        if self._supervisor is not None:
            await self.admin().release(call_ids)

    async def close(self) -> None:
        """Stop all servers."""
        if self._supervisor is not None:
            await self._supervisor.close()


class LateAdmin:
    """Stands for the servers' admin until someone asks it something."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._admin: ServerAdmin | None = None

    def __getattr__(self, name: str) -> Any:
        if self._admin is None:
            self._admin = self._servers.admin()
        return getattr(self._admin, name)
