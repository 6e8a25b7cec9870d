"""Where paths that rules name lead to, remembered for a moment: thousands of rules ask for the same folders."""

from __future__ import annotations

import os
import time

from pilothouse.types import limits

_found: dict[str, str] = {}
_since = 0.0


def resolved(path: str) -> str:
    """Return an absolute path with its links followed; what does not exist is itself."""
    global _since  # noqa: PLW0603
    now = time.monotonic()
    if now - _since > limits.LINKS_BELIEVED:
        _found.clear()
        _since = now
    return _resolve(os.path.normpath(path))


def _resolve(path: str) -> str:
    known = _found.get(path)
    if known is not None:
        return known
    parent, name = os.path.split(path)
    if not name:
        return "/"
    whole = os.path.join(_resolve(parent), name)
    try:
        os.readlink(whole)
        whole = os.path.realpath(whole)
    except OSError:
        pass  # It is no link, or not there at all.
    _found[path] = whole
    return whole
