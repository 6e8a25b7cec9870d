"""MCP servers kept in memory, for tests of what the server does with them."""

from __future__ import annotations

from pilothouse.types.errors import PilothouseError
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.servers import (
    AboutDecided,
    ConsentGiven,
    ImportQuestions,
    ImportReport,
    ImportRequest,
    ManualSource,
    Package,
    ServerInput,
    ServerList,
    ServerLog,
    ServerPatch,
    ServerSettings,
    ServersSwitch,
    ServerTest,
    ServerTool,
    ServerView,
    StatusReport,
    ToolConfirmed,
    ToolList,
    ToolTrial,
    ToolTry,
    TrafficPage,
    TrafficSwitch,
)


def server_view(name: str, *, server_id: str = "s_1") -> ServerView:
    """Return a server that is switched on and was never reached."""
    return ServerView(
        id=server_id,
        name=name,
        slug=name.lower(),
        enabled=True,
        state="idle",
        label="Idle",
        transport="stdio",
        wire="auto",
        package=Package(type="command", identifier="echo-server"),
        source=ManualSource(),
        auth_type="none",
        address="echo-server --stdio",
        settings=ServerSettings(),
        secret_names=(),
        tool_count=0,
    )


def server_tool(server: ServerView, name: str) -> ServerTool:
    """Return a tool that takes nothing."""
    return ServerTool(
        server_id=server.id,
        server=server.name,
        name=name,
        qualified_name=f"{server.slug}.{name}",
        wire_name=f"{server.slug}__{name}",
        title="",
        description="",
        input_schema={"type": "object"},
        output_schema=None,
        annotations={},
        fingerprint="0",
        state="offered",
    )


class MemoryServers:
    """The part of a core in memory that is about servers; `asked` has what reached it."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.kept: dict[str, ServerView] = {}
        self.asked: list[tuple[str, object]] = []

    def _server(self, server_id: str, body: object = None) -> ServerView:
        self.calls.append(server_id)
        self.asked.append((server_id, body))
        if server_id not in self.kept:
            raise PilothouseError("not_found", "There is no such MCP server.")
        return self.kept[server_id]

    async def servers(self, owner: str) -> ServerList:
        self.calls.append("servers")
        return ServerList(servers=tuple(self.kept.values()))

    async def add_server(self, owner: str, body: ServerInput) -> ServerView:
        self.calls.append("add_server")
        self.asked.append(("", body))
        return server_view(body.name)

    async def update_server(self, owner: str, server_id: str, body: ServerInput) -> ServerView:
        return self._server(server_id, body)

    async def patch_server(self, owner: str, server_id: str, body: ServerPatch) -> ServerView:
        return self._server(server_id, body)

    async def delete_server(self, owner: str, server_id: str) -> None:
        self._server(server_id)

    async def consent_server(self, owner: str, server_id: str, body: ConsentGiven) -> ServerView:
        return self._server(server_id, body)

    async def retry_server(self, owner: str, server_id: str) -> ServerView:
        return self._server(server_id)

    async def disconnect_server(self, owner: str, server_id: str) -> ServerView:
        return self._server(server_id)

    async def test_server(self, owner: str, server_id: str) -> ServerTest:
        self._server(server_id)
        return ServerTest(ok=True, message="Connected.")

    async def server_tools(self, owner: str, server_id: str | None, page: Page = FIRST) -> ToolList:
        self.calls.append("tools")
        servers = self.kept.values() if server_id is None else [self._server(server_id)]
        return ToolList(tools=tuple(server_tool(server, "echo") for server in servers))

    async def confirm_tool(self, owner: str, server_id: str, body: ToolConfirmed) -> ToolList:
        return ToolList(tools=(server_tool(self._server(server_id, body), body.name),))

    async def decide_about(self, owner: str, server_id: str, body: AboutDecided) -> ServerView:
        return self._server(server_id, body)

    async def try_tool(self, owner: str, body: ToolTry) -> ToolTrial:
        self._server(body.server_id, body)
        return ToolTrial(ok=True, text="done", content=(), structured=None, elapsed_ms=1)

    async def server_log(self, owner: str, server_id: str) -> ServerLog:
        self._server(server_id)
        return ServerLog(lines=())

    async def server_status(self, owner: str) -> StatusReport:
        self.calls.append("status")
        return StatusReport(servers=())

    async def traffic(self, owner: str, after: int, server_id: str | None) -> TrafficPage:
        self.calls.append("traffic")
        self.asked.append((server_id or "", after))
        return TrafficPage(messages=(), last_seq=after, recording=False)

    async def switch_traffic(self, owner: str, body: TrafficSwitch) -> TrafficPage:
        self.calls.append("traffic")
        return TrafficPage(messages=(), last_seq=0, recording=body.recording)

    async def switch_servers(self, owner: str, body: ServersSwitch) -> ServerList:
        self.calls.append("switch")
        return ServerList(servers=())

    async def import_questions(self, owner: str, body: ImportRequest) -> ImportQuestions:
        self.calls.append("questions")
        return ImportQuestions(questions=())

    async def import_servers(self, owner: str, body: ImportRequest) -> ImportReport:
        self.calls.append("import")
        return ImportReport(servers=())
