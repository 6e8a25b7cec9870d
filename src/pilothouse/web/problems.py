"""Every failure as one `Problem`: a code, a sentence, and what to do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from pilothouse.types import limits
from pilothouse.types.api import Problem
from pilothouse.types.errors import PilothouseError, told
from pilothouse.types.json import encode

UNAVAILABLE = 503


def problem_response(
    error: PilothouseError, *, status: int | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer that tells a person what went wrong."""
    body = encode(Problem(code=error.code, message=error.message, fix=error.fix))
    status = status or error.http_status
    # What is away for now is worth asking again.
    wait = limits.RETRY_AFTER if error.retry_after is None and status == UNAVAILABLE else error.retry_after
    if wait is not None:
        headers = {**(headers or {}), "retry-after": str(wait)}
    return Response(body, status_code=status, media_type="application/json", headers=headers)


def internal_problem(log: logging.Logger, scope: Mapping[str, Any], error: BaseException) -> Response:
    """Log an unexpected failure in one line without its text, which may hold a secret, and answer without it."""
    known = told(error)
    if known is not None:
        log.error("%s %s failed: %s", scope.get("method", "-"), scope["path"], known.message)
        return problem_response(known)
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f"{place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else "unknown place"
    log.error("%s %s failed: %s at %s", scope.get("method", "-"), scope["path"], type(error).__name__, where)
    return problem_response(
        PilothouseError(
            "internal", "Something unexpected went wrong in the server.", fix="Try again; the log says where it failed."
        )
    )
