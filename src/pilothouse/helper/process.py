"""The helper process: does one piece of work after the other, as its standard input asks.

It ends when nobody asks any more. What it is given may be made to break it; then it breaks alone.
"""

from __future__ import annotations

import importlib
import resource
import signal
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any, BinaryIO, Literal, get_type_hints

import msgspec

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError

LENGTH = struct.Struct(">I")
# What a function of ours refused, or what was too much for the process.
Trouble = Literal["", "refused", "slow", "deep", "large", "broken"]


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """A piece of work: a function of ours by its name, the processor time that it may take, and its argument."""

    module: str
    name: str
    seconds: float
    given: msgspec.Raw


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """What the function returned, or the trouble with it; a refusal is its code, its sentence and what to do."""

    trouble: Trouble
    value: msgspec.Raw = msgspec.Raw(msgspec.msgpack.encode(None))


class Work(msgspec.Struct, frozen=True):
    """A function of one argument, and what it takes and returns."""

    call: Callable[[Any], Any]
    takes: Any
    returns: Any


@cache
def work(module: str, name: str) -> Work:
    """Return a function of ours by its name."""
    call = getattr(importlib.import_module(module), name)
    hints = get_type_hints(call)
    returns = hints.pop("return")
    (takes,) = hints.values()
    return Work(call, takes, returns)


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer until there are no more questions."""
    while len(head := questions.read(LENGTH.size)) == LENGTH.size:
        asked = msgspec.msgpack.decode(questions.read(LENGTH.unpack(head)[0]), type=Asked)
        data = msgspec.msgpack.encode(_answer(asked))
        answers.write(LENGTH.pack(len(data)) + data)
        answers.flush()


def _answer(asked: Asked) -> Answer:
    wanted = work(asked.module, asked.name)
    # Processor time, so that a busy machine makes no file slow; when it is over, the process ends by this signal.
    signal.setitimer(signal.ITIMER_PROF, asked.seconds)
    try:
        value = msgspec.msgpack.encode(wanted.call(msgspec.msgpack.decode(asked.given, type=wanted.takes)))
    except PilothouseError as error:
        return Answer("refused", msgspec.Raw(msgspec.msgpack.encode((error.code, error.message, error.fix))))
    except RecursionError:
        return Answer("deep")
    except MemoryError:
        return Answer("large")
    except Exception:  # What nobody thought of is this file's fault, until someone looks at it.
        return Answer("broken")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return Answer("", msgspec.Raw(value)) if len(value) <= limits.HELPER_ANSWER_BYTES else Answer("large")


if __name__ == "__main__":
    # Who started it decides when it ends, not the keyboard.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = int(sys.argv[1])
    # Some systems know no such limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    serve(sys.stdin.buffer, sys.stdout.buffer)
