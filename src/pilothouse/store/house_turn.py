"""Whose turn it is to keep house, of several processes on one PostgreSQL: a row that one holds for a while.

All times are the database's: clocks of machines disagree. Not a lock of a connection, because a pooler keeps
connections for longer than those who used them live.
"""

from __future__ import annotations

import asyncio
import time

import sqlalchemy as sa

from pilothouse.store.database import Database, alchemy
from pilothouse.types import limits
from pilothouse.types.ids import new_id

# Rows beside the settings, with a name that no file has and a version that never grows.
_TAKEN = sa.text(
    "INSERT INTO shared_settings (name, version, body, updated_at) "
    "VALUES ('house turn', 1, :holder, extract(epoch FROM clock_timestamp())) "
    "ON CONFLICT (name) DO UPDATE SET body = excluded.body, updated_at = excluded.updated_at "
    "WHERE shared_settings.body = :holder OR shared_settings.updated_at < excluded.updated_at - :held RETURNING 1"
)
_GIVEN_BACK = sa.text("UPDATE shared_settings SET updated_at = 0 WHERE name = 'house turn' AND body = :holder")
_AGE = sa.text(
    "SELECT extract(epoch FROM clock_timestamp()) - updated_at FROM shared_settings WHERE name = 'house tidied'"
)
_TIDIED = sa.text(
    "INSERT INTO shared_settings (name, version, body, updated_at) "
    "VALUES ('house tidied', 1, '', extract(epoch FROM clock_timestamp())) "
    "ON CONFLICT (name) DO UPDATE SET updated_at = excluded.updated_at"
)


class SharedHouseTurn:
    """Implements the port `HouseTurn`: who has it keeps it by asking; when they die, whoever asks next has it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._holder = new_id("p")
        # The last attempt to take or keep the turn.
        self._taking: asyncio.Future[bool] | None = None
        self._asked = float("-inf")
        # One asks at a time, and the others use its answer.
        self._asking = asyncio.Lock()

    async def is_mine(self) -> bool:
        async with self._asking:
            if time.monotonic() - self._asked >= limits.HOUSE_LOOK:
                # The write goes on when its caller is cancelled, and may take the turn: `give_back` waits for it.
                if self._taking is None or self._taking.done():
                    self._taking = asyncio.ensure_future(self._take())
                await asyncio.shield(self._taking)
                self._asked = time.monotonic()
            return self._is_taken()

    async def _take(self) -> bool:
        values = {"holder": self._holder, "held": limits.HOUSE_HELD}
        return await self._database.write(
            lambda connection: alchemy(connection).execute(_TAKEN, values).first() is not None, promised=False
        )

    def _is_taken(self) -> bool:
        return self._taking is not None and self._taking.result()

    async def is_due(self) -> bool:
        age = await self._database.look(lambda connection: alchemy(connection).execute(_AGE).scalar_one_or_none())
        return age is None or age >= limits.TIDY_EVERY

    async def done(self) -> None:
        await self._database.write(lambda connection: alchemy(connection).execute(_TIDIED) and None)

    async def give_back(self) -> None:
        if self._taking is not None:
            await asyncio.wait([self._taking])
        if self._is_taken():
            values = {"holder": self._holder}
            await self._database.write(lambda connection: alchemy(connection).execute(_GIVEN_BACK, values) and None)
