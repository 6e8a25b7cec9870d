"""The process that reads source files by their grammars: one question at a time, on its standard input.

It ends when nobody asks any more. What it is given may be made to break it; then it breaks alone.
"""

from __future__ import annotations

import resource
import signal
import struct
import sys
from contextlib import suppress
from typing import BinaryIO

import msgspec

from pilothouse.tools.search.symbols import definitions, roles

LENGTH = struct.Struct(">I")
# A grammar that wants more for a file of this size went astray.
_MEMORY = 2 * 1024**3


class Source(msgspec.Struct, frozen=True, array_like=True):
    """A file's content and its language."""

    language: str
    content: bytes


class Asked(msgspec.Struct, frozen=True, array_like=True):
    """A question: the definitions in each source, or the roles of a name in each."""

    # Empty for the definitions.
    name: str
    sources: list[Source]


def serve(questions: BinaryIO, answers: BinaryIO) -> None:
    """Answer until there are no more questions."""
    while len(head := questions.read(LENGTH.size)) == LENGTH.size:
        asked = msgspec.msgpack.decode(questions.read(LENGTH.unpack(head)[0]), type=Asked)
        answer = msgspec.msgpack.encode([_found(source, asked.name) for source in asked.sources])
        answers.write(LENGTH.pack(len(answer)) + answer)
        answers.flush()


def _found(source: Source, name: str) -> list[str] | list[tuple[str, str, int, int, str]]:
    if name:
        return roles(source.content, source.language, name)
    found = definitions(source.content, source.language)
    return [(each.name, each.kind, each.line, each.last, each.container) for each in found]


if __name__ == "__main__":
    # Who started it decides when it ends, not the keyboard.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Some systems know no such limit.
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    serve(sys.stdin.buffer, sys.stdout.buffer)
