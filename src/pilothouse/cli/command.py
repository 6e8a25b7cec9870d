"""What every command has around it: its event loop, its exit code, and one sentence when something is wrong."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from types import FrameType
from typing import NoReturn

from pilothouse.cli.terminal import messages, silence
from pilothouse.types.errors import PilothouseError

CANCELLED = 130
# The answer is there and not at its end.
CUT = 4
# A replay stopped at a call that was not recorded.
NOT_RECORDED = 5


def perform(work: Callable[[], Coroutine[object, object, int]], *, for_long: bool = False) -> NoReturn:
    """Run a command to its end and leave with its exit code."""

    def run() -> int:
        with asyncio.Runner(loop_factory=_fast_loop() if for_long else None) as runner:
            return runner.run(work())

    leave(run)


def leave(work: Callable[[], int]) -> NoReturn:
    """Do the work and leave with its exit code; whatever goes wrong is one sentence."""
    try:
        code = work()
        sys.stdout.flush()
    except PilothouseError as error:
        code = complain(error)
    except (KeyboardInterrupt, asyncio.CancelledError):
        code = CANCELLED
    except BrokenPipeError:
        code = _reader_left()
    except Exception as error:
        code = complain(_NOWHERE) if _is_nowhere() else _unexpected(error)
    # Threads of a keyring or a database that hangs must not keep a finished command.
    sys.exit(code)


@contextlib.contextmanager
def signal_handlers(numbers: Sequence[int], handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Install a handler for these signals within the block.

    Only the main thread gets any: a command that another program runs beside it leaves them to that program.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the loop of a server, where there is one for this system; a short command does better without."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


_NOWHERE = PilothouseError(
    "bad_request", "The folder that you are in has been deleted.", fix="Go to another one with `cd`, and try again."
)


def _is_nowhere() -> bool:
    """Return whether the folder that a command was called in is gone, so that nothing can be found from there."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


_PLACES = re.compile(r"in Settings, (Models|MCP|Permissions)(, or with\b)?")
_COMMANDS = {"Models": "`pilothouse models`", "MCP": "`pilothouse mcp`", "Permissions": "`pilothouse policy`"}


def as_typed(text: str) -> str:
    """Return a sentence with the places of the page as the commands that do the same."""
    return _PLACES.sub(lambda place: "with" if place[2] else f"with {_COMMANDS[place[1]]}", text)


def complain(error: PilothouseError) -> int:
    """Say what is wrong and what to do, and return the exit code."""
    # Where nobody hears it, the exit code still tells.
    with contextlib.suppress(OSError, PilothouseError):
        # A command that has nothing to say does without it.
        from pilothouse.cli.wrapping import say

        say(messages(), as_typed(error.message), "red")
        if error.fix:
            say(messages(), as_typed(error.fix))
    return error.exit_code


def _unexpected(error: Exception) -> int:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno}" if place is not None else "?"
    # Its text may hold anything, a secret too; the kind and the place are enough to report it.
    message = f"Something went wrong inside Pilothouse ({type(error).__name__} at {where})."
    return complain(PilothouseError("internal", message, fix="`pilothouse doctor` may tell more."))


def _reader_left() -> int:
    """End quietly when whoever read our output closed it, as `head` does."""
    silence(sys.stdout)
    return 128 + getattr(signal, "SIGPIPE", 13)
