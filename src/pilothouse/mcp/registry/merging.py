"""One server that several registries have is one result.

Two entries are the same if they run exactly the same, or if the same publisher has something in both that is the same:
something they run, or the name where a registry does not say what it runs. What is verified of one counts for the other
only if both are the same publisher's: nobody borrows a badge by naming another's package.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.mcp.registry import addresses
from pilothouse.mcp.registry.likeness import publishers, same_publisher, skeleton, tail
from pilothouse.mcp.registry.local_copy import Kept


class Group(msgspec.Struct, frozen=True):
    """Entries that are one server, the one that it would be added from first."""

    servers: tuple[Kept, ...]

    @property
    def first(self) -> Kept:
        return self.servers[0]

    @property
    def verified(self) -> bool:
        """Return whether a registry vouches for it."""
        return any(each.entry.verified for each in self._of_publisher())

    @property
    def uses(self) -> int | None:
        """Return how often it is used, where that is known."""
        return max((each.entry.uses for each in self._of_publisher() if each.entry.uses is not None), default=None)

    def _of_publisher(self) -> list[Kept]:
        name = self.first.entry.name
        return [each for each in self.servers if each is self.first or same_publisher(each.entry.name, name)]


def merged(servers: Sequence[Kept]) -> list[Group]:
    """Return the servers with those that are one put together, in the order in which the first of each came."""
    groups: list[list[Kept]] = []
    # By everything that two that are the same may have in common, so that not each is compared with each.
    places: dict[str, list[int]] = {}
    for server in servers:
        marks = _marks(server)
        near = dict.fromkeys(place for mark in marks for place in places.get(mark, ()))
        place = next((each for each in near if any(_are_one(server, other) for other in groups[each])), None)
        if place is None:
            place = len(groups)
            groups.append([])
        groups[place].append(server)
        for mark in marks:
            places.setdefault(mark, []).append(place)
    return [Group(tuple(sorted(group, key=_place))) for group in groups]


def _marks(server: Kept) -> list[str]:
    named = [f"{owner}/{skeleton(tail(server.entry.name))}" for owner in publishers(server.entry.name)]
    return [*server.entry.keys, *named]


def _are_one(one: Kept, other: Kept) -> bool:
    ours, theirs = set(one.entry.keys), set(other.entry.keys)
    if same_publisher(one.entry.name, other.entry.name):
        if ours and theirs:
            return bool(ours & theirs)
        return one.registry != other.registry and skeleton(tail(one.entry.name)) == skeleton(tail(other.entry.name))
    # Within a registry each has a publisher of its own, who answers for it.
    return bool(ours) and ours == theirs and one.registry != other.registry


def _place(server: Kept) -> tuple[int, int, int]:
    """Order by where a server is best added from: one's own registry, the official one, then those with a key."""
    order = {addresses.OFFICIAL: 1, addresses.SMITHERY: 2}
    return order.get(server.registry, 0), -server.known, -(server.entry.uses or 0)
