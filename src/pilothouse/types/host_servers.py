"""The verbs about MCP servers and their tools: a part of `types/host`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from pilothouse.types import limits
from pilothouse.types.paging import FIRST, Page
from pilothouse.types.server_checks import ServerCheck, ServerChecked
from pilothouse.types.server_traffic import TrafficPage, TrafficSwitch
from pilothouse.types.servers import (
    AboutDecided,
    ConsentGiven,
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
)
from pilothouse.types.sign_ins import ProgramSignIn, SignInAnswer, SignInStart, SignInStarted
from pilothouse.types.verbs import Options, Service, verb


class Servers(Service):
    """The MCP servers and their tools; the fixed paths come before `{id}`, as the first match wins."""

    @verb("list_servers", "GET", "/api/servers")
    async def list(self, owner: str) -> ServerList:
        """All MCP servers."""

    @verb("add_server", "POST", "/api/servers", Options(status=201))
    async def add(self, owner: str, body: ServerInput) -> ServerView:
        """Add an MCP server; a local command starts only after consent."""

    @verb("switch_servers", "PATCH", "/api/servers")
    async def switch(self, owner: str, body: ServersSwitch) -> ServerList:
        """Switch several MCP servers on or off at once."""

    @verb("server_status", "GET", "/api/servers/status")
    async def status(self, owner: str) -> StatusReport:
        """Latencies, errors and past states of all MCP servers."""

    @verb("check_server", "POST", "/api/servers/check", Options(stops_with_client=True))
    async def check(self, owner: str, body: ServerCheck) -> ServerChecked:
        """Start or reach an MCP server once with what was typed, list its tools, and keep nothing."""

    @verb("finish_sign_in", "POST", "/api/servers/sign-in")
    async def finish_sign_in(self, owner: str, body: SignInAnswer) -> ServerView:
        """Finish a sign-in with the address that the browser was sent back to."""

    @verb("all_tools", "GET", "/api/tools")
    async def all_tools(self, owner: str, page: Page = FIRST) -> ToolList:
        """The tools of all MCP servers, page by page."""

    @verb("try_tool", "POST", "/api/tools/try", Options(longer=limits.CALL_TIME_MOST))
    async def try_tool(self, owner: str, body: ToolTry) -> ToolTrial:
        """Call a tool by hand."""

    @verb("get_traffic", "GET", "/api/traffic")
    async def traffic(
        self, owner: str, after: Annotated[int, Meta(ge=0)] = 0, server: str | None = None
    ) -> TrafficPage:
        """Recorded JSON-RPC messages after a number, secrets masked."""

    @verb("switch_traffic", "PUT", "/api/traffic")
    async def switch_traffic(self, owner: str, body: TrafficSwitch) -> TrafficPage:
        """Record JSON-RPC messages, or stop and forget them."""

    @verb("update_server", "PUT", "/api/servers/{id}")
    async def update(self, owner: str, server_id: str, body: ServerInput) -> ServerView:
        """Replace an MCP server's configuration; secrets that are not sent stay."""

    @verb("patch_server", "PATCH", "/api/servers/{id}")
    async def patch(self, owner: str, server_id: str, body: ServerPatch) -> ServerView:
        """Switch an MCP server or some of its tools on or off."""

    @verb("delete_server", "DELETE", "/api/servers/{id}")
    async def delete(self, owner: str, server_id: str) -> None:
        """Stop and remove an MCP server with every secret kept for it."""

    @verb("consent_server", "POST", "/api/servers/{id}/consent")
    async def consent(self, owner: str, server_id: str, body: ConsentGiven) -> ServerView:
        """Agree to start exactly the command that a fingerprint stands for."""

    @verb("begin_sign_in", "POST", "/api/servers/{id}/sign-in")
    async def begin_sign_in(self, owner: str, server_id: str, body: SignInStart) -> SignInStarted:
        """Begin to sign in to an MCP server: return where to."""

    @verb("sign_in_program", "POST", "/api/servers/{id}/sign-in/program")
    async def sign_in_program(self, owner: str, server_id: str, body: ProgramSignIn) -> ServerView:
        """Sign in to an MCP server as a program, with a client id and secret and without a person."""

    @verb("sign_out", "POST", "/api/servers/{id}/sign-out")
    async def sign_out(self, owner: str, server_id: str) -> ServerView:
        """Sign out of an MCP server: its tokens are revoked where that is offered, and deleted."""

    @verb("retry_server", "POST", "/api/servers/{id}/retry")
    async def retry(self, owner: str, server_id: str) -> ServerView:
        """Connect to an MCP server now.

        Its failures are counted anew.
        """

    @verb("disconnect_server", "POST", "/api/servers/{id}/disconnect")
    async def disconnect(self, owner: str, server_id: str) -> ServerView:
        """Stop an MCP server without switching it off; its next call starts it again."""

    @verb("test_server", "POST", "/api/servers/{id}/test")
    async def test(self, owner: str, server_id: str) -> ServerTest:
        """Connect to an MCP server if need be and ask for its tools."""

    @verb("server_tools", "GET", "/api/servers/{id}/tools")
    async def tools(self, owner: str, server_id: str, page: Page = FIRST) -> ToolList:
        """An MCP server's tools, as last listed."""

    @verb("confirm_tool", "POST", "/api/servers/{id}/tools/confirm")
    async def confirm_tool(self, owner: str, server_id: str, body: ToolConfirmed) -> ToolList:
        """Accept a tool's changed definition."""

    @verb("decide_about", "POST", "/api/servers/{id}/about")
    async def decide_about(self, owner: str, server_id: str, body: AboutDecided) -> ServerView:
        """Accept what an MCP server says about itself now, or keep what it said before."""

    @verb("server_log", "GET", "/api/servers/{id}/log")
    async def log(self, owner: str, server_id: str) -> ServerLog:
        """The newest lines that an MCP server wrote."""
