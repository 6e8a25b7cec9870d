"""What a conversation with branches opens with: the path that is shown, and what stands in the place of messages."""

from __future__ import annotations

import msgspec
import pytest

from pilothouse.store.opening import OpenStore
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.branches import ForkKind, ForkWish
from pilothouse.types.events import ItemCreated, RunUpdated
from pilothouse.types.runs import Run, RunOptions, RunStatus
from tests.support.paths import path_items
from tests.support.records import OWNER, a_conversation, a_posting, an_item


async def say(store: Store, conversation_id: str, branch: int = 0, fork: ForkWish | None = None) -> Run:
    """Send a message that is answered."""
    posting = msgspec.structs.replace(a_posting(conversation_id, "Say it."), fork=fork, branch=branch)
    accepted = await store.post_message(posting)
    said = an_item(conversation_id, "response", "completed", "Said.", accepted.run_id)
    run = msgspec.structs.replace(posting.run, status="completed", branch=accepted.branch)
    await store.append(conversation_id, [ItemCreated(item=said), RunUpdated(run=run)], None)
    return run


def instead_of(run: Run, kind: ForkKind = "edit") -> ForkWish:
    return ForkWish(kind=kind, instead_of=run.id, chosen=False)


@pytest.fixture
async def conversation_id(store: Store) -> str:
    return (await store.add_conversation(a_conversation())).id


async def test_a_page_of_a_path_has_the_branches_in_the_place_of_its_messages_and_no_others(
    store: Store, conversation_id: str
) -> None:
    runs = [await say(store, conversation_id) for _ in range(30)]
    early = await say(store, conversation_id, 1, instead_of(runs[1]))
    late = await say(store, conversation_id, 2, instead_of(runs[28]))
    await say(store, conversation_id, 3, instead_of(runs[28], "replay"))
    snapshot = await store.snapshot(OWNER, conversation_id, 10, 0)
    assert [branch.run_id for branch in snapshot.branches] == [late.id]
    assert snapshot.conversation.branches == 3
    before, found = snapshot.items[0].position, []
    while True:
        page = await store.items(OWNER, conversation_id, before, 10, 0)
        found.append([branch.run_id for branch in page.branches])
        if not page.has_earlier:
            break
        before = page.items[0].position
    assert found == [[], [], [], [], [early.id]]
    # Of a branch that went on for long, what it stands beside comes where it begins.
    for _ in range(8):
        await say(store, conversation_id, 1)
    snapshot = await store.snapshot(OWNER, conversation_id, 100, 1)
    assert [branch.number for branch in snapshot.branches] == [1]
    # Whoever looks at a replay is told that it is one.
    assert [each.number for each in (await store.snapshot(OWNER, conversation_id, 10, 3)).branches] == [2, 3]


async def test_a_path_through_many_branches_is_read_in_pages_and_has_what_stands_beside_each(
    store: Store, conversation_id: str
) -> None:
    await say(store, conversation_id)
    last = await say(store, conversation_id)
    for number in range(1, 31):
        await say(store, conversation_id, number - 1, instead_of(last))
        last = await say(store, conversation_id, number)
    every = (await store.items(OWNER, conversation_id, None, limits.PAGE_ITEMS)).items
    for branch in (30, 17, 8, 1):
        expected = [item.id for item in path_items(every, branch)]
        for limit in (1, 7, 200):
            page = await store.items(OWNER, conversation_id, None, limit, branch)
            found, beside = [item.id for item in page.items], {each.number for each in page.branches}
            while page.has_earlier:
                page = await store.items(OWNER, conversation_id, page.items[0].position, limit, branch)
                found = [item.id for item in page.items] + found
                beside |= {each.number for each in page.branches}
            assert found == expected
            assert set(range(1, branch + 1)) <= beside
    # However long the way to it is, a branch opens with the few that lead to what is shown.
    assert len((await store.snapshot(OWNER, conversation_id, 4, 30)).branches) < 12


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("waiting", "completed", "waiting"),
        ("waiting", "running", "waiting"),
        ("running", "failed", "running"),
        ("running", "queued", "running"),
        ("completed", "queued", "queued"),
        ("failed", "completed", "completed"),
    ],
)
async def test_of_runs_side_by_side_one_that_waits_is_told_before_one_at_work_and_both_before_one_at_its_end(
    store: Store, conversation_id: str, one: RunStatus, other: RunStatus, told: RunStatus
) -> None:
    first = await say(store, conversation_id)
    second = await say(store, conversation_id, 1, instead_of(first))
    for run, status in ((first, one), (second, other)):
        now = msgspec.structs.replace(run, status=status)
        await store.append(conversation_id, [RunUpdated(run=now)], None)
    assert (await store.conversation(OWNER, conversation_id)).activity == told


async def test_a_replay_at_work_says_nothing_about_its_conversation(store: Store, conversation_id: str) -> None:
    first = await say(store, conversation_id)
    replay = await say(store, conversation_id, 1, instead_of(first, "replay"))
    options = RunOptions(replay_of=first.id)
    for run in (msgspec.structs.replace(replay, status="running", options=options), first):
        await store.append(conversation_id, [RunUpdated(run=run)], None)
    assert (await store.conversation(OWNER, conversation_id)).activity == "completed"


async def test_a_row_of_a_run_leaves_out_what_is_usual_and_is_read_as_the_same_run(
    opened: OpenStore, conversation_id: str
) -> None:
    plain = await say(opened.store, conversation_id)
    options = RunOptions(model_id="m", temperature=0.0, compact=None, system_prompt="", allow=("a.*",))
    other = msgspec.structs.replace(plain, options=options, recoveries=2, cancel_requested=True)
    kept: dict[str, object]
    for run, names in ((plain, set()), (other, {"modelId", "temperature", "compact", "systemPrompt", "allow"})):
        await opened.store.append(conversation_id, [RunUpdated(run=run)], None)
        read = await opened.store.run(OWNER, run.id)
        assert read == msgspec.structs.replace(run, updated_at=read.updated_at)
        body = await opened.database.read(
            lambda connection: (
                connection.exec_driver_sql("SELECT body FROM runs").scalar_one()
                if connection.dialect.name != "sqlite"
                else connection.connection.cursor().execute("SELECT body FROM runs").fetchone()[0]
            )
        )
        kept = msgspec.json.decode(bytes(body))
        assert set(msgspec.convert(kept["options"], dict[str, object])) == names
        assert ("recoveries" in kept, "error" in kept) == (run is other, False)
