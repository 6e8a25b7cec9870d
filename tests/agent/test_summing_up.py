"""The run for a summary that was asked for, taken up wherever another process left it."""

from __future__ import annotations

from pilothouse.agent.spending import Purse
from pilothouse.agent.summing_up import SummingUp
from pilothouse.types.events import ItemCreated
from pilothouse.types.items import new_item
from pilothouse.types.stream import Stopped, TextDelta
from tests.agent.run_bench import Bench, StreamOf


async def said(bench: Bench) -> None:
    about = {"turn": "1.1"}
    answer = new_item(bench.run.conversation_id, "response", run_id="r_before", text="Port 8123.", data=about)
    await bench.journal.write(ItemCreated(item=answer))


async def test_a_summary_that_was_made_is_not_made_again_when_the_run_is_taken_up(bench: Bench) -> None:
    await said(bench)
    model = StreamOf([TextDelta("They agreed."), Stopped("end")])
    run = SummingUp(bench.run.id, model.opened(), bench.journal, Purse(), "")
    assert (await run.run()).status == "completed"
    assert (await run.run()).status == "completed"
    assert len(model.requests) == 1
    assert [item.text for item in bench.journal.items if item.kind in ("compaction", "notice")] == ["They agreed."]
