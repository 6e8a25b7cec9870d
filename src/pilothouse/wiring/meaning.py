"""Finding by meaning as a host has it: loaded when someone asks, or a while after a server started."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from pilothouse.types import limits
from pilothouse.types.embeddings import Embeddings
from pilothouse.types.feed import FeedEvent
from pilothouse.types.lazy import Lazy
from pilothouse.types.meaning import MeaningKind, MeaningView, Near, Purpose
from pilothouse.types.scopes import Scope
from pilothouse.wiring.foundation import Foundation

if TYPE_CHECKING:
    from pilothouse.meaning.admin import MeaningAdmin
    from pilothouse.meaning.service import MeaningService


class LateMeaning:
    """The port `Meaning`, for parts that may never ask for it; nothing is imported before one does."""

    def __init__(self, base: Foundation) -> None:
        self._base = base
        self._service = Lazy(self._make_service)
        self.admin = Lazy(self._make_admin)

    def begin(self, stack: AsyncExitStack) -> None:
        """Make vectors in the background, from a while after the start on."""
        task = asyncio.create_task(self._begin_later(), name="meaning-later")

        async def ended() -> None:
            task.cancel()
            await asyncio.wait([task])

        stack.push_async_callback(ended)
        self._base.feed.subscribe(self._heard)

    async def _begin_later(self) -> None:
        await asyncio.sleep(limits.MEANING_START)
        (await asyncio.to_thread(self._service)).begin()

    def _heard(self, _conversation_id: str, events: Sequence[FeedEvent]) -> None:
        if any(event.kind == "run.updated" for event in events):
            self.changed("message")

    def settings_changed(self) -> None:
        """Say that the settings or a key may be others."""
        if (service := self._service.made) is not None:
            service.settings_changed()

    async def close(self) -> None:
        """Stop what was begun."""
        if (service := self._service.made) is not None:
            await service.close()

    @property
    def is_there(self) -> bool:
        """Return whether there is a model to ask."""
        return self._service().is_there

    @property
    def model(self) -> str:
        """Return which model makes the vectors."""
        return self._service().model

    async def view(self) -> MeaningView:
        return await self._service().view()

    async def embed(self, texts: Sequence[str], purpose: Purpose = "passage") -> Sequence[bytes]:
        return await self._service().embed(texts, purpose)

    async def near(
        self, query: str, kind: MeaningKind, owner: str, scopes: Sequence[Scope] | None, most: int
    ) -> Sequence[Near] | None:
        return await self._service().near(query, kind, owner, scopes, most)

    def changed(self, kind: MeaningKind) -> None:
        # Whoever is made later goes through everything first.
        if (service := self._service.made) is not None:
            service.changed(kind)

    def _settings(self) -> Embeddings:
        return self._base.config.config.embeddings

    def _make_service(self) -> MeaningService:
        from pilothouse.meaning.service import MeaningService
        from pilothouse.store.vectors import VectorStore

        vectors = VectorStore(self._base.opened.database)
        return MeaningService(vectors, self._settings, self._base.secrets, self._base.home.cache / "vectors")

    def _make_admin(self) -> MeaningAdmin:
        from pilothouse.meaning.admin import MeaningAdmin

        return MeaningAdmin(self._service(), self._settings, self._base.secrets)
