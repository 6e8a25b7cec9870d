"""A command of the product in this process, from its arguments to its exit code.

It has its own arguments, variables and streams, and leaves this process as it was: nothing that a process would forget
at its end is there for the next one. What needs to be a process, such as what gets signals, closes its own streams or
is killed, is not for this.
"""

from __future__ import annotations

import asyncio
import io
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from unittest import mock

from pilothouse.cli import garbage
from pilothouse.cli.main import main
from pilothouse.models.embedded import EmbeddedModel
from pilothouse.net import certificates
from pilothouse.permissions import matching
from tests.support import forked

# What a command writes to and reads from is this process's own while one runs.
_one_at_a_time = threading.Lock()


def run(arguments: Sequence[str], given: bytes, variables: Mapping[str, str]) -> tuple[int, str, str]:
    """Run a command to its end; return its exit code and what it printed."""
    assert forked.at_start(variables) == forked.at_start(os.environ), "the interpreter reads these when it starts"
    # A server takes the signals, and its loop keeps descriptors for the next one.
    assert "--help" in arguments or {*arguments[:1]} not in (set(), {"serve"}), "a server is a process of its own"
    if not _has_loop():
        return _run(arguments, given, variables)
    # A command has a loop of its own, and this thread's is at work.
    with ThreadPoolExecutor(1) as beside:
        return beside.submit(_run, arguments, given, variables).result()


def _has_loop() -> bool:
    with suppress(RuntimeError):
        return asyncio.get_running_loop() is not None
    return False


def _run(arguments: Sequence[str], given: bytes, variables: Mapping[str, str]) -> tuple[int, str, str]:
    with _one_at_a_time, ExitStack() as put_back:
        out, err = put_back.enter_context(_streams(arguments, given))
        put_back.enter_context(_variables(variables))
        put_back.enter_context(_state())
        code = _code()
        return code, _text(out), _text(err)


def _code() -> int:
    """Run what was typed; return the code that the process would have ended with."""
    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        # As the interpreter does at its end.
        traceback.print_exc(file=sys.stderr)
        return 1
    return 0


@contextmanager
def _streams(arguments: Sequence[str], given: bytes) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    before = sys.argv, sys.stdin, sys.stdout, sys.stderr
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors) for errors in ("strict", "backslashreplace"))
    sys.argv = ["pilothouse", *arguments]
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(given), "utf-8"), out, err
    try:
        yield out, err
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr = before


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode()


@contextmanager
def _variables(wanted: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    _become(wanted)
    try:
        yield
    finally:
        _become(before)


def _become(wanted: Mapping[str, str]) -> None:
    """Have these variables; those that are the same are there all along, for other threads."""
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    os.environ.update({name: value for name, value in wanted.items() if os.environ.get(name) != value})


@contextmanager
def _state() -> Iterator[None]:
    """Begin as a process does, and leave this one as it was."""
    folder = os.stat(".")
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    hook = sys.excepthook
    levels = {name: each.level for name, each in _loggers().items()}
    threads = set(threading.enumerate())
    _reset_process_caches()
    try:
        # The test process decides when garbage is collected.
        with mock.patch.object(garbage, "begin", return_value=None):
            yield
    finally:
        _reset_process_caches()
        for name, each in _loggers().items():
            each.setLevel(levels.get(name, each.level))
        changed = [number for number, handler in handlers.items() if signal.getsignal(number) is not handler]
        left = [each.name for each in set(threading.enumerate()) - threads if not each.daemon]
        # Outside the main thread, a test's own event loop may start threads meanwhile.
        left = left if threading.current_thread() is threading.main_thread() else []
        # A real process would end with these, or wait for them.
        now = (os.path.samestat(os.stat("."), folder), sys.excepthook, changed, left)
        assert now == (True, hook, [], []), f"the command left something behind: {now}"


def _loggers() -> dict[str, logging.Logger]:
    return {name: each for name, each in logging.root.manager.loggerDict.items() if isinstance(each, logging.Logger)}


def _reset_process_caches() -> None:
    """Empty the caches that last for the life of a process, where tests change what is cached."""
    EmbeddedModel.close()
    # Whether a folder is a link is cached for a second.
    matching._resolved.clear()
    # Loading the system's certificates takes 0.1 s, so only for a test that sets others.
    if "SSL_CERT_FILE" in os.environ:
        certificates.roots.cache_clear()
