"""Errors a person can act on: a code for programs, one sentence for people, and the fix."""

from __future__ import annotations

import errno
from typing import Literal

ErrorCode = Literal[
    "bad_request",
    "unauthorized",
    "forbidden",
    "not_found",
    "conflict",
    "too_large",
    "too_many",
    "unknown_model",
    "unknown_server",
    "no_model",
    "no_key",
    "key_moved",
    "bad_key",
    "model_unreachable",
    "model_refused",
    "model_overloaded",
    "model_failed",
    "model_stalled",
    "stream_broken",
    "context_too_long",
    "answer_too_long",
    "call_unreadable",
    "tools_unsupported",
    "bad_script",
    "bad_config",
    "data_folder",
    "data_locked",
    "stopping",
    "disk_full",
    "too_many_files",
    "database",
    "database_newer",
    "database_corrupt",
    "port_taken",
    "server_away",
    "stale_run",
    "process_died",
    "needs_answer",
    "needs_consent",
    "budget_reached",
    "not_recorded",
    "server_failed",
    "sign_in_failed",
    "needs_client",
    "cancelled",
    "internal",
]

HTTP_STATUS: dict[ErrorCode, int] = {
    "bad_request": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "conflict": 409,
    "too_large": 413,
    "too_many": 429,
    "unknown_model": 400,
    "unknown_server": 400,
    "no_model": 409,
    "no_key": 409,
    "key_moved": 409,
    "bad_config": 422,
    "bad_script": 422,
    "disk_full": 507,
    "too_many_files": 503,
    "database": 503,
    "data_locked": 503,
    "stopping": 503,
    "needs_answer": 409,
    "needs_consent": 409,
    "server_failed": 502,
    "sign_in_failed": 409,
    "needs_client": 409,
}

# What goes away by itself or when a person acts; whoever can waits for that.
PASSING: frozenset[ErrorCode] = frozenset({"disk_full", "database", "data_locked"})

# Codes where the person typed something the command cannot take: exit 2, like any usage error.
USAGE_CODES: frozenset[ErrorCode] = frozenset(
    {"bad_request", "unknown_model", "unknown_server", "bad_script", "too_large", "not_found"}
)


class PilothouseError(Exception):
    """A failure with one plain sentence for the person and a code for programs."""

    def __init__(self, code: ErrorCode, message: str, *, fix: str = "", retry_after: int | None = None) -> None:
        super().__init__(message)
        # In how many seconds it may work, where that is known.
        self.retry_after = retry_after
        self.code: ErrorCode = code
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message} {self.fix}".strip()

    @property
    def http_status(self) -> int:
        """Return the HTTP status that matches the code."""
        return HTTP_STATUS.get(self.code, 500)

    @property
    def exit_code(self) -> int:
        """Return the command line's exit code for this failure."""
        if self.code in ("needs_answer", "needs_consent"):
            return 3
        if self.code == "cancelled":
            return 130
        if self.code == "not_recorded":
            return 5
        return 2 if self.code in USAGE_CODES else 1


def told(error: BaseException) -> PilothouseError | None:
    """Return the sentence inside an error, also where tasks were grouped around it; None for an unexpected one."""
    if isinstance(error, PilothouseError):
        return error
    if isinstance(error, BaseExceptionGroup):
        return next((found for part in error.exceptions if (found := told(part)) is not None), None)
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return PilothouseError(
            "too_many_files",
            "Too many files and connections are open at once.",
            fix="Close some, or allow more of them (ulimit -n) and start Pilothouse again.",
        )
    return None


class BadField(ValueError):
    """A value in a file or a form that cannot be used: where it stands, and why in one sentence."""

    def __init__(self, path: tuple[str | int, ...], message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message
