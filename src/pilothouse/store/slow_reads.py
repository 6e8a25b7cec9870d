"""Reads that may take long: in threads of their own, with a time limit, and stopped when nobody waits for them."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from pilothouse.store.statements import Connection
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

T = TypeVar("T")
# As many at once: more would only slow each other down.
THREADS = 2


class SlowReads:
    """Runs long queries beside all others."""

    def __init__(self, read: Callable[[Callable[[Connection], object]], object]) -> None:
        self._read = read
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="store-slow-reader")

    async def run(self, query: Callable[[Connection], T], seconds: float, too_slow: str) -> T:
        """Run a query; one that takes longer, or that is not waited for any more, is stopped in the database."""
        one = _Stoppable(query)
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, self._read, one)
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(work)
        except TimeoutError:
            raise PilothouseError("bad_request", too_slow) from None
        finally:
            if not work.done():
                work.cancel()
                await asyncio.shield(loop.run_in_executor(None, one.stop))
        return one.answer[0]

    def close(self) -> None:
        """End the threads; what they still do finishes first."""
        self._threads.shutdown(wait=True, cancel_futures=True)


class _Stoppable(Generic[T]):
    """A query that another thread can stop."""

    def __init__(self, query: Callable[[Connection], T]) -> None:
        self._query = query
        self._lock = threading.Lock()
        self._stopped = False
        self._driver: object = None
        self._over = threading.Event()
        self.answer: list[T] = []

    def __call__(self, connection: Connection) -> None:
        with self._lock:
            if self._stopped:
                return
            self._driver = connection.connection.driver_connection
        try:
            self.answer.append(self._query(connection))
        finally:
            # From here on the connection is someone else's.
            with self._lock:
                self._driver = None
            self._over.set()

    def stop(self) -> None:
        """Stop it, or let it never begin; return once it is over, or once the database had its time to hear of it."""
        end = time.monotonic() + limits.STOP_READING
        while self._tell() and not self._over.wait(limits.STOP_READING_AGAIN) and time.monotonic() < end:
            pass

    def _tell(self) -> bool:
        """Stop the statement that runs, if one does; return whether the query has begun and is not over."""
        with self._lock:
            self._stopped = True
            if isinstance(self._driver, sqlite3.Connection):
                self._driver.interrupt()
            elif self._driver is not None:
                _cancel(self._driver)
            return self._driver is not None


def _cancel(driver: Any) -> None:
    # Imported where there is such a connection already.
    import psycopg

    # A server that cannot be told has its own end for a statement.
    with contextlib.suppress(psycopg.Error):
        driver.cancel_safe(timeout=limits.STOP_READING)
