"""The route table: everything there is under `/api`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from pilothouse.server.authority_routes import AUTHORITY_ROUTES
from pilothouse.server.change_routes import CHANGE_ROUTES
from pilothouse.server.exchange_routes import EXCHANGE_ROUTES
from pilothouse.server.guard import START
from pilothouse.server.index_routes import INDEX_ROUTES
from pilothouse.server.model_routes import MODEL_ROUTES
from pilothouse.server.paging import Cursor, Limit
from pilothouse.server.routing import AnyRoute, Call, NoQuery, Reply, Route
from pilothouse.server.server_routes import SERVER_ROUTES
from pilothouse.server.terminal_routes import TERMINAL_ROUTES
from pilothouse.server.todo_routes import TODO_ROUTES
from pilothouse.server.watchdog import was_blocked
from pilothouse.types import limits
from pilothouse.types.address import CHALLENGE, PROOF
from pilothouse.types.api import (
    Answer,
    Answers,
    AnswersTaken,
    ConfigPatch,
    ConfigView,
    ConversationPage,
    ConversationPatch,
    ConversationSnapshot,
    FullResult,
    Health,
    ItemPage,
    Link,
    MessageAccepted,
    NewConversation,
    NewMessage,
    PageState,
    PartData,
    Readiness,
    SearchResult,
    SessionRequest,
    SignedIn,
)
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event
from pilothouse.types.json import JsonObject
from pilothouse.types.runs import Run


class StateQuery(msgspec.Struct, frozen=True):
    """Which conversation is open, if any."""

    conversation: str | None = None


class PageQuery(msgspec.Struct, frozen=True):
    """Where a list goes on, and how far."""

    limit: Limit = 50
    cursor: Cursor | None = None


class SnapshotQuery(msgspec.Struct, frozen=True):
    """How many of the newest items."""

    limit: Limit = limits.SNAPSHOT_ITEMS


class ItemsQuery(msgspec.Struct, frozen=True):
    """Items before this position, or the newest."""

    before: Annotated[int, Meta(ge=0)] | None = None
    limit: Limit = limits.SNAPSHOT_ITEMS


class EventsQuery(msgspec.Struct, frozen=True):
    """Events after this number; the header Last-Event-ID says the same and wins."""

    after: Annotated[int, Meta(ge=0)] = 0


class SearchQuery(msgspec.Struct, frozen=True):
    """The words to look for."""

    q: Annotated[str, Meta(max_length=limits.SEARCH_CHARS)]
    limit: Annotated[int, Meta(ge=1, le=limits.SEARCH_HITS)] = limits.SEARCH_HITS


async def health(call: Call[None, NoQuery]) -> Reply:
    """Answer that the server is up, and since which start; and to this account's commands, that they know it."""
    challenge = call.headers.get(CHALLENGE, "")
    proof = {PROOF: call.access.proof(challenge)} if challenge else {}
    return Reply(Health(status="degraded" if was_blocked() else "up"), {START: call.access.start, **proof})


async def ready(call: Call[None, NoQuery]) -> Readiness:
    """Answer that the database takes what is given to it, after trying."""
    await call.host.ready()
    return Readiness()


async def begin_session(call: Call[SessionRequest, NoQuery]) -> Reply:
    """Exchange a link's code for a session: one half of it is a cookie, the other the page makes with its key."""
    token, half = await call.access.redeem(call.body.code, call.body.key, call.client)
    return Reply(SignedIn(start=call.access.start, half=half), {"set-cookie": call.access.cookie(token)})


async def end_session(call: Call[None, NoQuery]) -> Reply:
    """Sign this browser out."""
    await call.access.end(call.caller)
    return Reply(None, {"set-cookie": call.access.cookie(None)})


async def new_link(call: Call[None, NoQuery]) -> Link:
    """Make another link that opens the page once."""
    return Link(url=call.access.new_link(call.headers["host"]))


async def page_state(call: Call[None, StateQuery]) -> PageState:
    """Return all that the page draws."""
    return await call.host.page_state(call.owner, call.query.conversation)


async def list_conversations(call: Call[None, PageQuery]) -> ConversationPage:
    """List conversations."""
    return await call.host.conversations(call.owner, limit=call.query.limit, cursor=call.query.cursor)


async def create_conversation(call: Call[NewConversation, NoQuery]) -> Conversation:
    """Start one."""
    return await call.host.create_conversation(call.owner, call.body)


async def get_conversation(call: Call[None, SnapshotQuery]) -> ConversationSnapshot:
    """Return one as it is now."""
    return await call.host.snapshot(call.owner, call.id, limit=call.query.limit)


async def update_conversation(call: Call[ConversationPatch, NoQuery]) -> Conversation:
    """Rename it or change its settings."""
    return await call.host.update_conversation(call.owner, call.id, call.body)


async def delete_conversation(call: Call[None, NoQuery]) -> None:
    """Delete it."""
    await call.host.delete_conversation(call.owner, call.id)


async def restore_conversation(call: Call[None, NoQuery]) -> Conversation:
    """Bring it back."""
    return await call.host.restore_conversation(call.owner, call.id)


async def list_items(call: Call[None, ItemsQuery]) -> ItemPage:
    """Return older items."""
    return await call.host.items(call.owner, call.id, before=call.query.before, limit=call.query.limit)


async def check_message(call: Call[NewMessage, NoQuery]) -> None:
    """Say whether a message would be taken."""
    await call.host.check_message(call.owner, call.body)


async def post_message(call: Call[NewMessage, NoQuery]) -> MessageAccepted:
    """Keep a message and start its answer."""
    body, header = call.body, call.headers.get("idempotency-key")
    if header is not None and body.idempotency_key not in (None, header):
        raise PilothouseError("bad_request", "The header Idempotency-Key and the body's idempotencyKey differ.")
    if header is not None:
        body = msgspec.structs.replace(body, idempotency_key=header)
    return await call.host.post_message(call.owner, call.id, body)


async def conversation_events(call: Call[None, EventsQuery]) -> Event:
    """Stream events; `streams` serves it, the table describes it."""
    raise PilothouseError("internal", "This route is a stream.")


async def page_socket(call: Call[None, NoQuery]) -> None:
    """Speak the page's protocol; `socket` serves it, the table describes it."""
    raise PilothouseError("internal", "This route is a WebSocket.")


async def get_run(call: Call[None, NoQuery]) -> Run:
    """Return a run."""
    return await call.host.run(call.owner, call.id)


async def cancel_run(call: Call[None, NoQuery]) -> Run:
    """Stop a run."""
    return await call.host.cancel_run(call.owner, call.id)


async def resume_run(call: Call[None, NoQuery]) -> Run:
    """Go on with a run."""
    return await call.host.resume_run(call.owner, call.id)


async def cancel_call(call: Call[None, NoQuery]) -> None:
    """Stop one tool call."""
    await call.host.cancel_call(call.owner, call.id)


async def keep_waiting(call: Call[None, NoQuery]) -> None:
    """Give one tool call more time."""
    await call.host.keep_waiting(call.owner, call.id)


async def get_result(call: Call[None, NoQuery]) -> FullResult:
    """Return what one tool call gave."""
    return await call.host.result(call.owner, call.id)


async def get_part(call: Call[None, NoQuery]) -> PartData:
    """Return a file out of a message, or of what one tool call gave."""
    return await call.host.part(call.owner, call.id, call.index)


async def get_result_part(call: Call[None, NoQuery]) -> PartData:
    """Return the same, by the address that results alone had."""
    return await get_part(call)


async def answer_question(call: Call[Answer, NoQuery]) -> Run:
    """Answer a question."""
    return await call.host.answer(call.owner, call.id, call.body)


async def answer_many(call: Call[Answers, NoQuery]) -> AnswersTaken:
    """Give several questions the same answer."""
    return await call.host.answer_many(call.owner, call.body)


async def search(call: Call[None, SearchQuery]) -> SearchResult:
    """Find conversations by their words."""
    return await call.host.search(call.owner, call.query.q, limit=call.query.limit)


async def get_config(call: Call[None, NoQuery]) -> ConfigView:
    """Return the settings."""
    return await call.host.config(call.owner)


async def update_config(call: Call[ConfigPatch, NoQuery]) -> ConfigView:
    """Change settings."""
    return await call.host.update_config(call.owner, call.body)


async def openapi(call: Call[None, NoQuery]) -> JsonObject:
    """Describe this API."""
    # Only this route needs it; a server that nobody asks never builds the document.
    from pilothouse.server.openapi import document  # noqa: PLC0415

    return document()


_SERVER: tuple[AnyRoute, ...] = (
    Route(method="GET", path="/api/health", handler=health, reply=Health, public=True, summary="Is the server up?"),
    Route(
        method="GET",
        path="/api/ready",
        handler=ready,
        reply=Readiness,
        public=True,
        summary="Would a message be kept right now? Asks the database.",
    ),
    Route(method="GET", path="/api/openapi.json", handler=openapi, reply=JsonObject, summary="This document."),
    Route(
        method="POST",
        path="/api/session",
        handler=begin_session,
        body=SessionRequest,
        reply=SignedIn,
        public=True,
        summary="Exchange the code of a one-time link for a session.",
    ),
    Route(
        method="DELETE",
        path="/api/session",
        handler=end_session,
        status=204,
        kind="empty",
        summary="End this session and every stream opened with it.",
    ),
    Route(method="POST", path="/api/link", handler=new_link, reply=Link, summary="Make a new one-time link."),
    Route(
        method="GET",
        path="/api/state",
        handler=page_state,
        query=StateQuery,
        reply=PageState,
        summary="Everything the page draws after a reload.",
    ),
    Route(method="GET", path="/api/config", handler=get_config, reply=ConfigView, summary="The settings."),
    Route(
        method="PATCH",
        path="/api/config",
        handler=update_config,
        body=ConfigPatch,
        reply=ConfigView,
        summary="Change settings.",
    ),
    Route(
        method="GET",
        path="/api/search",
        handler=search,
        query=SearchQuery,
        reply=SearchResult,
        stops_with_client=True,
        summary="Find titles and messages by their words.",
    ),
    Route(
        method="GET",
        path="/api/ws",
        handler=page_socket,
        kind="socket",
        status=101,
        summary="The page's WebSocket: SocketCommand in, SocketFrame out.",
    ),
)

_CONVERSATIONS: tuple[AnyRoute, ...] = (
    Route(
        method="GET",
        path="/api/conversations",
        handler=list_conversations,
        query=PageQuery,
        reply=ConversationPage,
        summary="Conversations, most recently used first.",
    ),
    Route(
        method="POST",
        path="/api/conversations",
        handler=create_conversation,
        body=NewConversation,
        reply=Conversation,
        status=201,
        summary="Start a conversation.",
    ),
    Route(
        method="GET",
        path="/api/conversations/{id}",
        handler=get_conversation,
        query=SnapshotQuery,
        reply=ConversationSnapshot,
        summary="A conversation with its newest items.",
    ),
    Route(
        method="PATCH",
        path="/api/conversations/{id}",
        handler=update_conversation,
        body=ConversationPatch,
        reply=Conversation,
        summary="Rename a conversation or change its settings.",
    ),
    Route(
        method="DELETE",
        path="/api/conversations/{id}",
        handler=delete_conversation,
        status=204,
        kind="empty",
        summary="Delete a conversation; it can be restored for a while.",
    ),
    Route(
        method="POST",
        path="/api/conversations/{id}/restore",
        handler=restore_conversation,
        reply=Conversation,
        summary="Bring a deleted conversation back.",
    ),
    Route(
        method="GET",
        path="/api/conversations/{id}/items",
        handler=list_items,
        query=ItemsQuery,
        reply=ItemPage,
        summary="Items before a position, or the newest.",
    ),
    Route(
        method="POST",
        path="/api/messages/check",
        handler=check_message,
        body=NewMessage,
        status=204,
        kind="empty",
        body_limit=limits.MESSAGE_BODY_BYTES,
        summary="Would a message be taken? It is not sent; for what wants to know before it starts a conversation.",
    ),
    Route(
        method="POST",
        path="/api/conversations/{id}/messages",
        handler=post_message,
        body=NewMessage,
        reply=MessageAccepted,
        status=202,
        body_limit=limits.MESSAGE_BODY_BYTES,
        summary="Send a message; a resend with the same Idempotency-Key is harmless.",
    ),
    Route(
        method="GET",
        path="/api/conversations/{id}/events",
        handler=conversation_events,
        query=EventsQuery,
        reply=Event,  # type: ignore[arg-type]
        kind="events",
        summary="Server-sent events after Last-Event-ID, then as they happen.",
    ),
)

_RUNS: tuple[AnyRoute, ...] = (
    Route(method="GET", path="/api/runs/{id}", handler=get_run, reply=Run, summary="A run."),
    Route(method="POST", path="/api/runs/{id}/cancel", handler=cancel_run, reply=Run, summary="Stop a run."),
    Route(
        method="POST",
        path="/api/runs/{id}/resume",
        handler=resume_run,
        reply=Run,
        summary="Go on with a run that was interrupted, failed or was cancelled.",
    ),
    Route(
        method="POST",
        path="/api/calls/{id}/cancel",
        handler=cancel_call,
        status=204,
        kind="empty",
        summary="Stop one tool call, by its item's id; its run goes on.",
    ),
    Route(
        method="POST",
        path="/api/calls/{id}/keep-waiting",
        handler=keep_waiting,
        status=204,
        kind="empty",
        summary="Give a running tool call more time before it times out.",
    ),
    Route(
        method="GET",
        path="/api/calls/{id}/result",
        handler=get_result,
        reply=FullResult,
        summary="A tool call's whole result, as far as it was kept.",
    ),
    Route(
        method="GET",
        path="/api/items/{id}/parts/{index}",
        handler=get_part,
        reply=PartData,
        kind="file",
        summary="The bytes of one part of a message or of a tool call's result, by its item's id.",
    ),
    Route(
        method="GET",
        path="/api/calls/{id}/parts/{index}",
        handler=get_result_part,
        reply=PartData,
        kind="file",
        summary="The same for a tool call's result.",
    ),
    Route(
        method="POST",
        path="/api/questions/{id}/answer",
        handler=answer_question,
        body=Answer,
        reply=Run,
        summary="Answer a question, by its item's id.",
    ),
    Route(
        method="POST",
        path="/api/answers",
        handler=answer_many,
        body=Answers,
        reply=AnswersTaken,
        summary="Give several questions the same answer; what stands out must be answered by itself.",
    ),
)

ROUTES: tuple[AnyRoute, ...] = (
    *_SERVER,
    *_CONVERSATIONS,
    *_RUNS,
    *TODO_ROUTES,
    *AUTHORITY_ROUTES,
    *CHANGE_ROUTES,
    *TERMINAL_ROUTES,
    *INDEX_ROUTES,
    *EXCHANGE_ROUTES,
    *MODEL_ROUTES,
    *SERVER_ROUTES,
)
