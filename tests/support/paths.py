"""Which items belong to the path of a branch, computed from the items alone, to check the store's queries against."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.types.branches import Fork
from pilothouse.types.item_data import MessageData
from pilothouse.types.items import Item, is_a


def forks(items: Sequence[Item]) -> dict[int, tuple[Item, Fork]]:
    """Return the message that each branch begins with, and where that is."""
    return {
        item.branch: (item, item.data.fork)
        for item in items
        if is_a(item, MessageData) and item.data.fork is not None and item.branch
    }


def path_items(items: Sequence[Item], branch: int) -> list[Item]:
    """Return the items on the path of a branch, in order."""
    own = [item for item in items if item.branch == branch]
    begins = forks(items).get(branch)
    if begins is None:
        return own
    first, fork = begins
    sent = {item.run_id: item.position for item in items if item.kind == "user_message"}
    parted = (fork.instead_of, first.run_id)
    done = [item.position for item in items if item.run_id in parted and item.kind != "user_message"]
    until = min(done, default=len(items) * 1_000_000)

    def is_shared(item: Item) -> bool:
        if item.position < fork.before:
            return True
        return item.run_id is not None and sent[item.run_id] < fork.before and item.position < until

    shared = [item for item in path_items(items, fork.parent) if is_shared(item)]
    return sorted([*shared, *own], key=lambda item: item.position)
