"""Which calls of a turn are executed side by side, and which one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from pilothouse.agent.preparing import Asked, Ended, Prepared


def arranged(looked_at: Sequence[Prepared | Asked | Ended]) -> list[list[Prepared | Ended]]:
    """Return the calls that can be carried out now, each lane in its order.

    A lane ends before the first call that the person is asked about: what comes after it waits with it. A call
    that ended early, in a tool whose earlier calls wait in a lane, may end otherwise once those are done.
    """
    lanes: dict[str, list[Prepared | Ended]] = {}
    held: set[str] = set()
    lane_of: dict[str, str] = {}
    for one in looked_at:
        tool = str(one.call.data.get("tool"))
        lane = _lane(one, lane_of.get(tool, ""))
        if lane:
            lane_of[tool] = lane
        if isinstance(one, Asked):
            held.add(lane)
        elif not lane or lane not in held:
            lanes.setdefault(lane or one.call.id, []).append(one)
    return list(lanes.values())


def _lane(one: Prepared | Asked | Ended, before: str) -> str:
    if isinstance(one, Ended):
        return before if one.early else ""
    return one.lane
