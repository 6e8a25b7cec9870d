"""What a person is told about a registry that did not answer, wants a key, or is answered for by a copy."""

from __future__ import annotations

import time
from datetime import datetime

from pilothouse.mcp.registry import addresses
from pilothouse.mcp.registry.book import Registry
from pilothouse.mcp.registry.copying import Standing
from pilothouse.types import limits


def day(at: float) -> str:
    """Return a day as people write it."""
    found = datetime.fromtimestamp(at).astimezone()
    return f"{found.day} {found:%B %Y}"


def note(standing: Standing, now: float | None = None) -> str:
    """Return what is to be said about a registry after a search, in a sentence or two; mostly nothing."""
    registry, state, now = standing.registry, standing.state, now or time.time()
    if standing.wants_key:
        return _joined(f"{registry.subject} {state.problem}.", key_hint(registry), _copied(standing))
    if state.problem:
        return _joined(f"{registry.subject} {state.problem}.", _copied(standing))
    if standing.waits:
        return f"{registry.subject} has not answered yet; search again to see what it has."
    if registry.kind == "smithery":
        return ""
    if not state.copied_at:
        count = f", {state.servers:,} servers so far" if state.servers else ""
        return f"{registry.subject} is being copied{count}; a search in a while finds more."
    if now - state.copied_at > limits.REGISTRY_OLD:
        return f"The copy of {_inside(registry)} is of {day(state.copied_at)}; it is being brought up to date."
    return ""


def key_hint(registry: Registry) -> str:
    """Return where to get a key, and how to give it."""
    page = addresses.KEY_PAGES.get(registry.id, "")
    get = f"Get one at {page}, then give it" if page else "Give it one"
    return f"{get} in the search's settings or with `pilothouse mcp registries key {registry.id}`."


def _copied(standing: Standing) -> str:
    at = standing.state.copied_at or standing.state.heard_at
    return f"What is shown of it is its copy of {day(at)}." if standing.state.servers and at else ""


def _inside(registry: Registry) -> str:
    """Return a registry's name within a sentence."""
    subject = registry.subject
    return f"t{subject[1:]}" if subject.startswith("The ") else subject


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))
