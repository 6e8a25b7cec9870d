"""How browsers come in where several servers share one database: a link made at one opens the page at any of them."""

from __future__ import annotations

import asyncio
import secrets
import time
from functools import partial

from pilothouse.host.recovery import is_dead
from pilothouse.store.database import Database
from pilothouse.store.takeover import seen_lately
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import JsonStore
from pilothouse.wiring.foundation import Foundation

_ONE_SHOT = "once_"


class SharedDoor:
    """Implements the protocol `Door` of the web server; only digests of codes are kept."""

    def __init__(self, kept: JsonStore[JsonObject]) -> None:
        self._kept = kept

    @property
    def start(self) -> str:
        return str(self._kept.value["start"])

    @property
    def name(self) -> str:
        return str(self._kept.value["name"])

    async def add(self, code: str) -> None:
        await asyncio.to_thread(self._kept.update, partial(_add, code=code))

    async def take(self, code: str) -> bool:
        taken: list[float] = []

        def change(raw: JsonObject) -> None:
            # Once more if the change itself is made once more.
            taken[:] = [raw["codes"].pop(code, 0.0)]

        # In one transaction: of two servers that are shown the same code, one takes it.
        await asyncio.to_thread(self._kept.update, change)
        return bool(taken[0] > time.time())


def _add(raw: JsonObject, code: str) -> None:
    now = time.time()
    codes = {known: until for known, until in raw["codes"].items() if until > now}
    newest = sorted(codes, key=lambda known: float(codes[known]))[-(limits.OPEN_CODES - 1) :]
    raw["codes"] = {**{known: codes[known] for known in newest}, code: now + limits.ONE_TIME_CODE_SECONDS}


def _new() -> JsonObject:
    return {"name": secrets.token_hex(4), "start": secrets.token_urlsafe(16), "codes": {}}


async def open_door(base: Foundation, process: str) -> SharedDoor:
    """Open the door of an installation; what browsers sign is another one if nobody of it was there."""
    return await asyncio.to_thread(_opened, base, process)


def _opened(base: Foundation, process: str) -> SharedDoor:
    kept = base.open_json(base.home.path / "web.json", lambda raw: _new() | raw, _new)
    if not _others(base.opened.database, process):
        # Someone may have listened in our place meanwhile: what they were sent is of no use now.
        kept.update(lambda raw: raw.update(start=secrets.token_urlsafe(16)))
    return SharedDoor(kept)


def _others(database: Database, process: str) -> bool:
    """Return whether another process than this and one-shot commands works with the database."""
    ids = database.read_now(seen_lately)
    return any(one != process and not one.startswith(_ONE_SHOT) and not is_dead(one) for one in ids)
