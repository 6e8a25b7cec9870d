"""The rows of the route table that are about MCP servers and their tools."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.server.paging import ListQuery
from pilothouse.server.routing import AnyRoute, Call, NoQuery, Route
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


class TrafficQuery(msgspec.Struct, frozen=True):
    """Messages after this number, of one server or of all."""

    after: Annotated[int, Meta(ge=0)] = 0
    server: str | None = None


async def list_servers(call: Call[None, NoQuery]) -> ServerList:
    """List them."""
    return await call.host.servers(call.owner)


async def add_server(call: Call[ServerInput, NoQuery]) -> ServerView:
    """Add one."""
    return await call.host.add_server(call.owner, call.body)


async def update_server(call: Call[ServerInput, NoQuery]) -> ServerView:
    """Replace one's configuration."""
    return await call.host.update_server(call.owner, call.id, call.body)


async def patch_server(call: Call[ServerPatch, NoQuery]) -> ServerView:
    """Switch one, or its tools, on or off."""
    return await call.host.patch_server(call.owner, call.id, call.body)


async def delete_server(call: Call[None, NoQuery]) -> None:
    """Remove one."""
    await call.host.delete_server(call.owner, call.id)


async def consent_server(call: Call[ConsentGiven, NoQuery]) -> ServerView:
    """Agree to a command."""
    return await call.host.consent_server(call.owner, call.id, call.body)


async def retry_server(call: Call[None, NoQuery]) -> ServerView:
    """Connect now."""
    return await call.host.retry_server(call.owner, call.id)


async def disconnect_server(call: Call[None, NoQuery]) -> ServerView:
    """Stop one."""
    return await call.host.disconnect_server(call.owner, call.id)


async def test_server(call: Call[None, NoQuery]) -> ServerTest:
    """Try one."""
    return await call.host.test_server(call.owner, call.id)


async def server_tools(call: Call[None, ListQuery]) -> ToolList:
    """List one's tools."""
    return await call.host.server_tools(call.owner, call.id, call.query.page)


async def confirm_tool(call: Call[ToolConfirmed, NoQuery]) -> ToolList:
    """Accept a tool's new definition."""
    return await call.host.confirm_tool(call.owner, call.id, call.body)


async def decide_about(call: Call[AboutDecided, NoQuery]) -> ServerView:
    """Accept or refuse what one says about itself."""
    return await call.host.decide_about(call.owner, call.id, call.body)


async def server_log(call: Call[None, NoQuery]) -> ServerLog:
    """Return what one wrote."""
    return await call.host.server_log(call.owner, call.id)


async def server_status(call: Call[None, NoQuery]) -> StatusReport:
    """Return all servers over time."""
    return await call.host.server_status(call.owner)


async def switch_servers(call: Call[ServersSwitch, NoQuery]) -> ServerList:
    """Switch several on or off."""
    return await call.host.switch_servers(call.owner, call.body)


async def import_questions(call: Call[ImportRequest, NoQuery]) -> ImportQuestions:
    """Say what a file leaves open."""
    return await call.host.import_questions(call.owner, call.body)


async def import_servers(call: Call[ImportRequest, NoQuery]) -> ImportReport:
    """Take another program's servers."""
    return await call.host.import_servers(call.owner, call.body)


async def all_tools(call: Call[None, ListQuery]) -> ToolList:
    """List the tools of all servers."""
    return await call.host.server_tools(call.owner, None, call.query.page)


async def try_tool(call: Call[ToolTry, NoQuery]) -> ToolTrial:
    """Call a tool by hand."""
    return await call.host.try_tool(call.owner, call.body)


async def get_traffic(call: Call[None, TrafficQuery]) -> TrafficPage:
    """Return recorded messages."""
    return await call.host.traffic(call.owner, call.query.after, call.query.server)


async def switch_traffic(call: Call[TrafficSwitch, NoQuery]) -> TrafficPage:
    """Record messages, or stop."""
    return await call.host.switch_traffic(call.owner, call.body)


# The fixed paths come before `{id}`: the first match wins.
_ALL: tuple[AnyRoute, ...] = (
    Route(method="GET", path="/api/servers", handler=list_servers, reply=ServerList, summary="All MCP servers."),
    Route(
        method="POST",
        path="/api/servers",
        handler=add_server,
        body=ServerInput,
        reply=ServerView,
        status=201,
        summary="Add an MCP server; a local command starts only after consent.",
    ),
    Route(
        method="PATCH",
        path="/api/servers",
        handler=switch_servers,
        body=ServersSwitch,
        reply=ServerList,
        summary="Switch several MCP servers on or off at once.",
    ),
    Route(
        method="GET",
        path="/api/servers/status",
        handler=server_status,
        reply=StatusReport,
        summary="Latencies, errors and past states of all MCP servers.",
    ),
    Route(
        method="POST",
        path="/api/servers/import/questions",
        handler=import_questions,
        body=ImportRequest,
        reply=ImportQuestions,
        summary="What the servers of another program's settings file leave open: nothing is added.",
    ),
    Route(
        method="POST",
        path="/api/servers/import",
        handler=import_servers,
        body=ImportRequest,
        reply=ImportReport,
        summary="Add the MCP servers of another program's settings file; none starts without consent.",
    ),
    Route(
        method="GET",
        path="/api/tools",
        handler=all_tools,
        query=ListQuery,
        reply=ToolList,
        summary="The tools of all MCP servers, page by page.",
    ),
    Route(
        method="POST",
        path="/api/tools/try",
        handler=try_tool,
        body=ToolTry,
        reply=ToolTrial,
        summary="Call a tool by hand.",
    ),
    Route(
        method="GET",
        path="/api/traffic",
        handler=get_traffic,
        query=TrafficQuery,
        reply=TrafficPage,
        summary="Recorded JSON-RPC messages after a number, secrets masked.",
    ),
    Route(
        method="PUT",
        path="/api/traffic",
        handler=switch_traffic,
        body=TrafficSwitch,
        reply=TrafficPage,
        summary="Record JSON-RPC messages, or stop and forget them.",
    ),
)

_ONE: tuple[AnyRoute, ...] = (
    Route(
        method="PUT",
        path="/api/servers/{id}",
        handler=update_server,
        body=ServerInput,
        reply=ServerView,
        summary="Replace an MCP server's configuration; secrets that are not sent stay.",
    ),
    Route(
        method="PATCH",
        path="/api/servers/{id}",
        handler=patch_server,
        body=ServerPatch,
        reply=ServerView,
        summary="Switch an MCP server or some of its tools on or off.",
    ),
    Route(
        method="DELETE",
        path="/api/servers/{id}",
        handler=delete_server,
        status=204,
        kind="empty",
        summary="Stop and remove an MCP server with every secret kept for it.",
    ),
    Route(
        method="POST",
        path="/api/servers/{id}/consent",
        handler=consent_server,
        body=ConsentGiven,
        reply=ServerView,
        summary="Agree to start exactly the command that a fingerprint stands for.",
    ),
    Route(
        method="POST",
        path="/api/servers/{id}/retry",
        handler=retry_server,
        reply=ServerView,
        summary="Connect to an MCP server now.",
    ),
    Route(
        method="POST",
        path="/api/servers/{id}/disconnect",
        handler=disconnect_server,
        reply=ServerView,
        summary="Stop an MCP server without switching it off; its next call starts it again.",
    ),
    Route(
        method="POST",
        path="/api/servers/{id}/test",
        handler=test_server,
        reply=ServerTest,
        summary="Connect to an MCP server if need be and ask for its tools.",
    ),
    Route(
        method="GET",
        path="/api/servers/{id}/tools",
        handler=server_tools,
        query=ListQuery,
        reply=ToolList,
        summary="An MCP server's tools, as last listed.",
    ),
    Route(
        method="POST",
        path="/api/servers/{id}/tools/confirm",
        handler=confirm_tool,
        body=ToolConfirmed,
        reply=ToolList,
        summary="Accept a tool's changed definition.",
    ),
    Route(
        method="POST",
        path="/api/servers/{id}/about",
        handler=decide_about,
        body=AboutDecided,
        reply=ServerView,
        summary="Accept what an MCP server says about itself now, or keep what it said before.",
    ),
    Route(
        method="GET",
        path="/api/servers/{id}/log",
        handler=server_log,
        reply=ServerLog,
        summary="The newest lines that an MCP server wrote.",
    ),
)

SERVER_ROUTES: tuple[AnyRoute, ...] = (*_ALL, *_ONE)
