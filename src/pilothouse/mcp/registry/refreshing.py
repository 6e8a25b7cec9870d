"""Bringing the copy of a registry up to date: page by page, within bounds, and on where it was broken off."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

import msgspec

from pilothouse.mcp.registry.asking import RegistryTrouble
from pilothouse.mcp.registry.book import Registry
from pilothouse.mcp.registry.clients import OfficialClient, Page
from pilothouse.mcp.registry.local_copy import LocalCopy, State
from pilothouse.types import limits


def is_due(state: State, now: float) -> bool:
    """Return whether a registry may be asked again: about once an hour, or to go on with what was broken off."""
    if now < state.rest_until:
        return False
    unfinished = bool(state.cursor) and now - state.began < limits.REGISTRY_CURSOR_LASTS
    return unfinished or now - state.copied_at >= limits.REGISTRY_REFRESH_EVERY


class Refresh:
    """One pass over a registry: all of it, or what changed since the last one."""

    def __init__(self, copy: LocalCopy, registry: Registry, client: OfficialClient, state: State) -> None:
        self._copy = copy
        self._registry = registry.id
        self._url = registry.url
        self._client = client
        self._state = _begun(state, time.time())
        self._pauses = 0
        self._limit = limits.REGISTRY_PAGE

    async def run(self) -> None:
        """Fetch page after page; what goes wrong is noted for the next search to say."""
        until = time.monotonic() + limits.REGISTRY_REFRESH_TIME
        seen = {self._state.cursor}
        try:
            for _ in range(limits.REGISTRY_PAGES):
                page = await self._page()
                await self._keep(page)
                if not page.following:
                    await self._finish()
                    return
                if page.following in seen:
                    raise RegistryTrouble("odd", "sends the same page again and again", limits.REGISTRY_REST_MOST)
                seen.add(page.following)
                if time.monotonic() > until:
                    return
            raise RegistryTrouble("odd", "has more pages than are copied", limits.REGISTRY_REST_MOST)
        except RegistryTrouble as trouble:
            await self._note_trouble(trouble)

    async def _page(self) -> Page:
        while True:
            try:
                page = await self._client.page(self._state.cursor, self._state.since, self._limit)
                self._limit = limits.REGISTRY_PAGE
                return page
            except RegistryTrouble as trouble:
                if trouble.why == "large" and self._limit > 1:
                    # Large entries of one publisher stand side by side: they are no reason to do without the rest.
                    self._limit //= 10
                    continue
                self._pauses += 1
                is_short = 0 < trouble.pause <= limits.REGISTRY_PAUSE and self._pauses <= limits.REGISTRY_PAUSES
                if trouble.why != "busy" or not is_short:
                    raise
                await asyncio.sleep(trouble.pause)

    async def _keep(self, page: Page) -> None:
        state = self._state
        clock = state.clock or page.clock
        self._state = msgspec.structs.replace(state, cursor=page.following, clock=clock)
        changes: dict[str, str | float] = {
            "cursor": page.following,
            "since": state.since,
            "began": state.began,
            "clock": clock,
        }
        await asyncio.to_thread(self._copy.keep, self._registry, self._url, page.entries, changes=changes)

    async def _finish(self) -> None:
        state, now = self._state, time.time()
        if not state.since:
            await asyncio.to_thread(self._copy.drop_unseen, self._registry, self._url, state.began)
        full = {"full_at": now} if not state.since else {}
        await asyncio.to_thread(
            self._copy.note,
            self._registry,
            self._url,
            cursor="",
            problem="",
            rest_until=0.0,
            copied_at=now,
            known_until=state.clock - limits.REGISTRY_OVERLAP,
            **full,
        )

    async def _note_trouble(self, trouble: RegistryTrouble) -> None:
        # What a cursor meant is not known any more: the next pass begins anew.
        lost = {"cursor": ""} if trouble.why in ("odd", "absent") else {}
        await asyncio.to_thread(self._copy.note, self._registry, self._url, **noted(trouble), **lost)


def noted(trouble: RegistryTrouble) -> dict[str, str | float]:
    """Return what is written down about a registry that failed: why, and until when it is left alone."""
    return {"problem": trouble.words, "rest_until": time.time() + (trouble.pause or limits.REGISTRY_REST)}


def _begun(state: State, now: float) -> State:
    """Return the state of a pass that goes on, or of one that begins."""
    if state.cursor and now - state.began < limits.REGISTRY_CURSOR_LASTS:
        return state
    whole = now - state.full_at >= limits.REGISTRY_FULL_EVERY
    since = "" if whole or state.known_until <= 0 else _spelled(state.known_until)
    return msgspec.structs.replace(state, cursor="", since=since, began=now, clock=0.0)


def _spelled(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
