"""Replays for programs: a finished run once more, and how it differs."""

from __future__ import annotations

import msgspec

from pilothouse.host.following import Following
from pilothouse.host.named_runs import run_named
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.replays import ReplayWish, RunDifference
from pilothouse.types.runs import Run


class Replay(msgspec.Struct, frozen=True):
    """A replay that has ended, and how it differs from the run that it repeats."""

    run: Run
    difference: RunDifference

    @property
    def answer(self) -> str:
        """Return its last words."""
        return self.difference.after.answer

    @property
    def stopped(self) -> str:
        """Return why it did not come to its end, in a sentence; empty where it did."""
        return self.difference.after.stopped


async def replayed(api: ClientApi, given: str, wish: ReplayWish) -> Replay:
    """Replay a run and wait for its end."""
    before = await run_named(api, given)
    after = (await api.conversations.get(LOCAL_OWNER, before.conversation_id, limit=1)).last_seq
    accepted = await api.branches.replay(LOCAL_OWNER, before.id, wish)
    following = Following(api, await api.runs.get(LOCAL_OWNER, accepted.run_id), after)
    async for _event in following.events():
        pass
    return Replay(following.run, await api.branches.difference(LOCAL_OWNER, before.id, following.run.id))
