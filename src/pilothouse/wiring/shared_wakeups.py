"""What processes on one PostgreSQL tell each other while they work."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from pilothouse.host.service import HostService
from pilothouse.store.postgres_notify import Hearing, Wakeups
from pilothouse.wiring.foundation import Foundation
from pilothouse.wiring.knowledge import Forgets


def share(
    stack: AsyncExitStack, url: str, base: Foundation, remembering: Sequence[Forgets], service: HostService
) -> None:
    """Hear from other processes on the same database, and tell them, for as long as the host is open."""
    feed = base.feed

    def woken(conversation_id: str) -> None:
        for each in remembering:
            each.forget(conversation_id)
        feed.wake(conversation_id)
        service.list_changed(conversation_id)
        service.topic_news.woken(conversation_id)

    def missed() -> None:
        for each in remembering:
            each.forget()
        feed.wake_all()

    hearing = Hearing(
        woken=woken,
        missed=missed,
        live=feed.live_elsewhere,
        kept=feed.kept_elsewhere,
        read_here=feed.read_here,
        signed_out=service.sessions.ended_elsewhere,
    )
    wakeups = Wakeups(url, base.connections, hearing)
    service.sessions.tells(wakeups.signed_out)
    feed.subscribe(wakeups.heard)
    feed.subscribe_reading(wakeups.read)
    wakeups.begin()
    stack.push_async_callback(wakeups.end)
