"""What an answer cites, as numbered lines under it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit, urlunsplit

from pilothouse.cli.terminal import exact, one_line
from pilothouse.types.sources import Source, each_once

# No more than fits a line or two beside the address.
_TITLE_CHARS = 120


def source_lines(sources: Iterable[Source]) -> Sequence[str]:
    """Return a heading and a line for each source, none where there are none; an address shows all its characters."""
    lines = [_line(number, source) for number, source in enumerate(each_once(sources), 1)]
    return ["Sources:", *lines] if lines else []


def _line(number: int, source: Source) -> str:
    title = one_line(source.title)
    if len(title) > _TITLE_CHARS:
        title = title[:_TITLE_CHARS].rstrip() + "…"
    return f"{number}. {' '.join(part for part in (title, _address(source.url)) if part) or '(without a name)'}"


def _address(url: str) -> str:
    """Return the address of a page, its host as the network knows it; nothing for what is none."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host:
        return ""
    host = f"[{host}]" if ":" in host else host
    # What stands before an @ is often dressed up as a host.
    return exact(urlunsplit((parts.scheme, host + port, parts.path, parts.query, parts.fragment)))
