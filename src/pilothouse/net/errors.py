"""What can go wrong on the way out, told without anything secret."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import Literal

# "url": not an address; "refused": we do not go there; "unknown": no such name; "unresolved": nobody could say whether
# there is such a name; "certificate": nobody vouches for it; "unreachable": no connection; "silent": nothing came in
# time; "broken": it broke off; "unreadable": it came in a form that we cannot read; "large": more than allowed.
NetProblem = Literal[
    "url", "refused", "unknown", "unresolved", "certificate", "unreachable", "silent", "broken", "unreadable", "large"
]

CLOSED = "the other side closed the connection"
UNKNOWN_NAME = "the name is not known"


class NetError(Exception):
    """A failed request; the text says why in a few words and never holds a header, a key or a query."""

    def __init__(self, problem: NetProblem, why: str, *, sent: bool = False) -> None:
        super().__init__(why)
        self.problem: NetProblem = problem
        self.why = why
        # Whether the other side may have the whole request.
        self.sent = sent
        # Whether a spare connection ended just when it was used, before any byte of an answer: a new one may well do.
        self.stale = False


def fault(error: Exception, host: str, *, sent: bool = False) -> NetError:
    """Return what an HTTP or WebSocket library's error means."""
    # Whoever has such an error has imported it; whoever only names a NetError need not.
    import httpx2  # noqa: PLC0415

    causes = list(_causes(error))
    why = reason(error)
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return lookup_failed(cause, host)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        return NetError("certificate", why)
    if any(isinstance(cause, TimeoutError) for cause in causes) and not sent:
        return NetError("unreachable", "no connection came about in time")
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError | OSError) and not sent:
        return NetError("unreachable", why)
    return NetError("broken", why, sent=sent)


def lookup_failed(error: Exception, host: str) -> NetError:
    """Return why a name has no address: there is none, or nobody answered who would know."""
    if _nobody_knows(error):
        return NetError("unresolved", f"the name {host} cannot be looked up at the moment")
    return NetError("unknown", f"the name {host} is not known")


def _nobody_knows(error: Exception) -> bool:
    return isinstance(error, socket.gaierror) and error.errno in (socket.EAI_AGAIN, socket.EAI_FAIL)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    for _ in range(10):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or seen.__context__


def reason(error: BaseException) -> str:
    """Return in a few words why a connection failed, from the innermost cause that is known."""
    return next((words for cause in _causes(error) if (words := _words(cause))), "the connection failed")


def _words(error: BaseException) -> str:
    match error:
        case ConnectionRefusedError():
            return "nothing listens there"
        case socket.gaierror():
            return "the name cannot be looked up at the moment" if _nobody_knows(error) else UNKNOWN_NAME
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return "it does not speak TLS as expected"
        case TimeoutError():
            return "no answer in time"
        case ConnectionResetError() | BrokenPipeError():
            return CLOSED
        case OSError() if error.strerror:
            return error.strerror[0].lower() + error.strerror[1:]
        case _:
            return _library_words(error)


def _library_words(error: BaseException) -> str:
    # Whoever has an error of the library has imported it; for any other it is not worth the wait.
    if not type(error).__module__.startswith("httpx2"):
        return ""
    import httpx2  # noqa: PLC0415

    match error:
        case httpx2.ReadError() | httpx2.WriteError():
            return CLOSED
        case httpx2.ProxyError():
            return "the proxy that the environment names refuses"
        case httpx2.RemoteProtocolError():
            closed = "closed" in str(error) or "disconnected" in str(error)
            return CLOSED if closed else "its answer is not HTTP"
        case _:
            return ""
