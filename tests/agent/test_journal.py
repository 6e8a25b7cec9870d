"""A run's pen, when the store's answer is lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCreated
from pilothouse.types.feed import Guard
from tests.agent.conftest import Bench
from tests.support.records import OWNER, an_item


@pytest.mark.parametrize("page", [2, 3, 500])
async def test_what_was_kept_is_found_however_much_others_wrote_meanwhile(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(limits, "FEED_PAGE", page)
    monkeypatch.setattr(limits, "STORE_RETRY", 0.01)
    where, store, append = bench.run.conversation_id, bench.store, bench.store.append
    lost: list[int] = []

    async def answer_lost(conversation_id: str, events: Sequence[Event], guard: Guard | None) -> Sequence[Event]:
        done = await append(conversation_id, events, guard)
        if not lost:
            lost.append(done[-1].seq)
            raise PilothouseError("database", "The connection broke.")
        return done

    await append(where, [ItemCreated(item=an_item(where, "notice")) for _ in range(4)], None)
    monkeypatch.setattr(store, "append", answer_lost)
    mine = [bench.journal.new("notice", status="completed", text=f"{number}") for number in range(3)]
    await bench.journal.write(*(ItemCreated(item=item) for item in mine))
    assert lost == [bench.item(mine[-1].id).position]
    kept = (await store.items(OWNER, where, None, 100)).items
    assert [item.text for item in kept if item.id in {each.id for each in mine}] == ["0", "1", "2"]
    assert [bench.item(each.id).position for each in mine] == [lost[0] - 2, lost[0] - 1, lost[0]]
