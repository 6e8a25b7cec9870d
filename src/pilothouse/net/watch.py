"""One timer for many short waits: an `asyncio.timeout` for every piece of a stream would cost as much as reading it."""

from __future__ import annotations

import asyncio


class Watch:
    """Cancels the task whose wait takes too long; the wait then asks `expired` to tell that from being cancelled."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[object] | None = None
        self._deadline = 0.0
        self._fired = False
        # How often the task had been cancelled before we did.
        self._before = 0

    def begin(self, timeout: float) -> None:
        """Say that the current task begins to wait."""
        self._task = asyncio.current_task()
        self._deadline = self._loop.time() + timeout
        if self._timer is None or self._timer.when() > self._deadline:
            self._arm(self._deadline)

    def end(self) -> None:
        """Say that the wait is over; the timer stays for the next one."""
        self._task = None

    def expired(self) -> bool:
        """Return whether this watch, and nobody else, cancelled the task."""
        if not self._fired or self._task is None:
            return False
        self._fired = False
        return self._task.uncancel() <= self._before

    def stop(self) -> None:
        """Forget the timer."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _arm(self, when: float) -> None:
        self.stop()
        self._timer = self._loop.call_at(when, self._look)

    def _look(self) -> None:
        """Re-arm for a wait that began later, or cancel the one that is overdue."""
        self._timer = None
        if self._task is None:
            return
        if self._loop.time() < self._deadline:
            self._arm(self._deadline)
        else:
            self._fired = True
            self._before = self._task.cancelling()
            self._task.cancel()
