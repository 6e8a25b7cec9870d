"""How many files and connections this process may have open, and how many of those are for clients."""

from __future__ import annotations

import sys

from pilothouse.types import limits


def raise_limit() -> str:
    """Allow as many as the system lets us; return one sentence when that is still few, else nothing."""
    if sys.platform == "win32":
        return ""
    import resource  # noqa: PLC0415 - not there on every system

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Programs that we start inherit it, and some go through all that they may have open.
    most = limits.OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, limits.OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    if soft == resource.RLIM_INFINITY or soft >= limits.FEW_OPEN_FILES:
        return ""
    return f"Only {soft} files and connections may be open at once; allow more with ulimit -n."


def client_connections() -> int:
    """Return how many connections of clients are taken: half, so that models, servers and files have the rest."""
    if sys.platform == "win32":
        return limits.OPEN_FILES // 2
    import resource  # noqa: PLC0415 - not there on every system

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (limits.OPEN_FILES if soft == resource.RLIM_INFINITY else min(soft, limits.OPEN_FILES)) // 2
