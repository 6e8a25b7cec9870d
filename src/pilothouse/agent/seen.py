"""What a conversation has seen, folded from its timeline: private data, strangers' words, and what left for where.

A call counts from the moment it began: what it brought is in the conversation whatever became of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pilothouse.types.access import Access
from pilothouse.types.authority import Seen
from pilothouse.types.items import Item
from pilothouse.types.json import JsonObject

# What a provider looked up by itself while its model answered.
_PROVIDER = "the model's own tools"


def seen(items: Sequence[Item], run_id: str, heard: frozenset[str] = frozenset()) -> Seen:
    """Return what the conversation has seen so far, what this run sent, and which servers it hears."""
    summary = next((item for item in reversed(items) if _is_summary(item)), None)
    kept: JsonObject = summary.data.get("seen") or {} if summary is not None else {}
    since = summary.position if summary is not None else -1
    private, untrusted = set(kept.get("private", ())), set(kept.get("untrusted", ()))
    mine = kept if summary is not None and summary.run_id == run_id else {}
    sent, sends = Counter[str](mine.get("sent", {})), Counter[str](mine.get("sends", {}))
    for item in items:
        for source, brought in _brought(item):
            (private if brought == "private" else untrusted).add(source)
        if item.run_id == run_id and item.position > since and (to := _sent_to(item)):
            sent[to] += int(item.data["access"].get("payloadBytes", 0))
            sends[to] += 1
    return Seen(frozenset(private), frozenset(untrusted), dict(sent), dict(sends), heard)


def kept_of(told: Seen) -> JsonObject:
    """Return what a summary keeps of what the conversation had seen before it."""
    sources = {"private": sorted(told.private), "untrusted": sorted(told.untrusted)}
    return {**sources, "sent": told.sent, "sends": told.sends}


def brings(access: Access) -> JsonObject:
    """Return what a call brings along, as its item keeps it."""
    return {"private": "private" in access.brings, "untrusted": "untrusted" in access.brings, "source": access.source}


def _is_summary(item: Item) -> bool:
    return item.kind == "compaction" and item.status == "completed"


def _began(item: Item) -> bool:
    return item.kind == "tool_call" and "executing" in item.data.get("phases", ())


def _sent_to(item: Item) -> str:
    return str((item.data.get("access") or {}).get("destination", "")) if _began(item) else ""


def _brought(item: Item) -> Iterable[tuple[str, str]]:
    if item.kind == "response" and item.data.get("native"):
        return [(_PROVIDER, "untrusted")]
    return _brought_by_call(item) if _began(item) else ()


def _brought_by_call(item: Item) -> Iterator[tuple[str, str]]:
    brought = item.data.get("brings")
    if brought is None:
        # Of a call from before this was kept: a server's tool may have brought anything.
        server = item.data.get("server")
        brought = {"private": True, "untrusted": True, "source": f"server:{server}"} if server else {}
    for kind in ("private", "untrusted"):
        if brought.get(kind):
            yield str(brought.get("source") or item.data.get("tool")), kind
