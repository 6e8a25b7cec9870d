"""What can go wrong on the way out, told without anything secret."""

from __future__ import annotations

import socket
import ssl
from typing import Literal

# "url": not an address; "unreachable": no connection; "silent": nothing came in time; "broken": it broke off.
NetProblem = Literal["url", "unreachable", "silent", "broken"]


class NetError(Exception):
    """A failed request; the text says why in a few words and never holds a header, a key or a query."""

    def __init__(self, problem: NetProblem, why: str) -> None:
        super().__init__(why)
        self.problem: NetProblem = problem
        self.why = why


def reason(error: BaseException) -> str:
    """Return in a few words why a connection failed, from the innermost cause that is known."""
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            break
        if words := _words(seen):
            return words
        seen = seen.__cause__ or seen.__context__
    return "the connection failed"


def _words(error: BaseException) -> str:
    match error:
        case ConnectionRefusedError():
            return "nothing listens there"
        case socket.gaierror():
            return "the name is not known"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return "it does not speak TLS as expected"
        case TimeoutError():
            return "no answer in time"
        case ConnectionResetError() | BrokenPipeError():
            return "the other side closed the connection"
        case OSError() if error.strerror:
            return error.strerror[0].lower() + error.strerror[1:]
        case _:
            return ""
