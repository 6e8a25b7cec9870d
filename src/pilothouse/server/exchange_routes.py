"""Conversations as files, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

import msgspec
from starlette.requests import ClientDisconnect

from pilothouse.server.routing import AnyRoute, Call, NoQuery, Route
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.exchange import Download, ExportFormat, Imported


class ExportQuery(msgspec.Struct, frozen=True):
    """For another Pilothouse, or for people."""

    format: ExportFormat = "json"


async def export_conversation(call: Call[None, ExportQuery]) -> Download:
    """Send it as a file."""
    return await call.host.export_conversation(call.owner, call.id, call.query.format)


async def import_conversations(call: Call[None, NoQuery]) -> Imported:
    """Take a file of conversations in."""
    try:
        return await call.host.import_conversations(call.owner, cast(AsyncIterator[bytes], call.body))
    except ClientDisconnect:
        raise PilothouseError("bad_request", "The request ended before its body did.") from None


EXCHANGE_ROUTES: tuple[AnyRoute, ...] = (
    Route(
        method="GET",
        path="/api/conversations/{id}/export",
        handler=export_conversation,
        query=ExportQuery,
        reply=Download,
        kind="file",
        summary="A conversation as a file: lines of JSON with everything in it, or Markdown with what was said.",
    ),
    Route(
        method="POST",
        path="/api/import",
        handler=import_conversations,
        reply=Imported,
        status=201,
        upload=True,
        body_limit=limits.CONVERSATIONS_FILE_BYTES,
        summary="Take over the conversations of an export, as lines of JSON, compressed or not.",
    ),
)
