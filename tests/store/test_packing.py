"""What finished runs wrote becomes small, and to every reader and every audit it stays what it was."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

import msgspec
import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as some

from pilothouse.store import hash_chain, packed_range, packing
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.packed_range import Kept
from pilothouse.store.store import Store
from pilothouse.types import limits
from pilothouse.types.authority import AuditCheck
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import ItemCompleted, ItemCreated, ItemDelta, RunUpdated, utf16_length
from pilothouse.types.feed import FeedEvent
from pilothouse.types.items import ItemKind
from pilothouse.types.json import encode
from tests.store.conftest import Published
from tests.store.older import BEFORE_PACKING
from tests.support.records import OWNER, a_conversation, a_posting, an_item

# Each reads and writes a whole database.
pytestmark = pytest.mark.slow

PIECES = ("Hel", "lo 🚀", "", "\x00 and “more”", " \\ \"'</script>\n", "e\u0301nd")
ALL = 100_000


async def a_turn(store: Store, conversation_id: str, *, ends: bool = True) -> str:
    """Have a message answered in pieces, two items at a time; return the answer's id."""
    await store.post_message(a_posting(conversation_id))
    run = await store.claim_next(conversation_id, "p_1")
    assert run is not None
    thought, answer = (an_item(conversation_id, kind, run_id=run.id) for kind in ("thinking", "response"))
    await store.append(conversation_id, [ItemCreated(item=thought), ItemCreated(item=answer)], None)
    offset = 0
    for piece in PIECES:
        pieces = [ItemDelta(item_id=item.id, offset=offset, text=piece) for item in (thought, answer)]
        await store.append(conversation_id, pieces, None)
        offset += utf16_length(piece)
    if ends:
        ended = [ItemCompleted(item_id=item.id, status="completed") for item in (thought, answer)]
        done = msgspec.structs.replace(run, status="completed", process=None)
        await store.append(conversation_id, [*ended, RunUpdated(run=done)], None)
    return answer.id


async def packed(store: Store) -> int:
    """Pack all that can be; return in how many steps."""
    steps = 0
    while await store.pack():
        steps += 1
        assert steps < 1_000
    return steps


async def kinds(opened: OpenStore, conversation_id: str) -> list[str]:
    """Return the kinds of the rows that a conversation has."""
    return [row[1] for row in await opened.database.read(lambda c: list(packing.rows_after(c, conversation_id, 0)))]


async def checked(store: Store, conversation_id: str, until: int | None = None) -> AuditCheck:
    return (await store.audit(OWNER, conversation_id, until))[1]


async def change(opened: OpenStore, statement: str, **values: object) -> None:
    """Change the database as someone who has the file could."""

    def work() -> None:
        opened.database.write_now(lambda c: c.execute(sa.text(statement), values) and None)

    await asyncio.to_thread(work)


async def test_a_reader_gets_the_same_from_every_number_on_and_the_seals_hold(opened: OpenStore) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    for _ in range(2):
        await a_turn(store, conversation.id)
    before = await store.events(conversation.id, 0, ALL)
    heads = [await checked(store, conversation.id, until) for until in range(1, len(before) + 1)]
    snapshot = await store.snapshot(OWNER, conversation.id, 50)
    await packed(store)
    assert await kinds(opened, conversation.id) == ["packed"]
    for after in range(len(before) + 1):
        assert await store.events(conversation.id, after, ALL) == before[after:]
        assert await store.events(conversation.id, after, 3) == before[after : after + 3]
    assert [await checked(store, conversation.id, until) for until in range(1, len(before) + 1)] == heads
    assert all(head.sound for head in heads)
    assert await store.snapshot(OWNER, conversation.id, 50) == snapshot
    assert not await store.pack(), "and then there is nothing left to do"


async def test_a_conversation_goes_on_after_it_was_packed(opened: OpenStore) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    events: list[FeedEvent] = []
    for turn in range(1, 4):
        await a_turn(store, conversation.id)
        added = await store.events(conversation.id, len(events), ALL)
        events += added
        await packed(store)
        assert await kinds(opened, conversation.id) == ["packed"] * turn
    assert await store.events(conversation.id, 0, ALL) == events
    check = await checked(store, conversation.id)
    assert check.sound
    assert check.events == len(events) == (await store.conversation(OWNER, conversation.id)).last_seq


async def test_what_is_still_at_work_is_left_alone(opened: OpenStore) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    await a_turn(store, conversation.id)
    answer = await a_turn(store, conversation.id, ends=False)
    assert await packed(store) == 0
    assert "packed" not in await kinds(opened, conversation.id)
    assert (await store.item(OWNER, answer)).text == "".join(PIECES)


async def test_a_long_run_becomes_several_records_and_each_has_a_bound(
    opened: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    await a_turn(store, conversation.id)
    before = await store.events(conversation.id, 0, ALL)
    monkeypatch.setattr(limits, "PACKED_BYTES", 1_500)
    monkeypatch.setattr(limits, "PACKED_EVENTS", 7)
    monkeypatch.setattr(limits, "PACKED_ROWS", 2)
    assert await packed(store) >= 3
    rows = await opened.database.read(lambda c: list(packing.rows_after(c, conversation.id, 0)))
    assert sum(row[1] == "packed" for row in rows) >= 3
    for row in rows:
        if row[1] == "packed":
            events = packed_range.unpacked(bytes(row[3]))[1]
            assert len(events) <= 7
            assert sum(len(event.body) for event in events) <= 1_500
    assert await store.events(conversation.id, 0, ALL) == before
    assert (await checked(store, conversation.id)).sound


@pytest.mark.case("LOG-01")
async def test_a_range_that_someone_changed_is_not_packed_and_stays_found_out(opened: OpenStore) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    await a_turn(store, conversation.id)
    await change(
        opened, "UPDATE events SET item_id = 'i_other' WHERE conversation_id = :id AND seq = 9", id=conversation.id
    )
    await packed(store)
    assert "packed" not in await kinds(opened, conversation.id)
    assert (await checked(store, conversation.id)).first_bad == 9


def forged(body: bytes, how: str) -> bytes:
    """Return a record as someone would write it who wants to hide something."""
    before, events = packed_range.unpacked(body)
    if how == "a word changed":
        events = [event._replace(body=event.body.replace(b"Hel", b"Hal")) for event in events]
    elif how == "an event left out":
        events = [*events[:4], *(event._replace(seq=event.seq - 1) for event in events[5:])]
    elif how == "sealed to something else":
        before = bytes(32)
    elif how == "an item changed":
        events[4] = events[4]._replace(item_id="i_other")
    return packed_range.packed(events, before)


@pytest.mark.case("LOG-01")
@pytest.mark.parametrize(
    "how", ["a word changed", "an event left out", "sealed to something else", "an item changed", "nonsense"]
)
async def test_whoever_changes_a_record_is_found_out(opened: OpenStore, how: str) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    await a_turn(store, conversation.id)
    await packed(store)
    first = (await store.conversation(OWNER, conversation.id)).last_seq + 1
    await a_turn(store, conversation.id)
    await packed(store)
    [_, row] = await opened.database.read(lambda c: list(packing.rows_after(c, conversation.id, 0)))
    body = b"nonsense" if how == "nonsense" else forged(bytes(row[3]), how)
    assert body != row[3]
    statement = "UPDATE events SET body = :body WHERE conversation_id = :id AND seq = :seq"
    await change(opened, statement, body=body, id=conversation.id, seq=row[0])
    check = await checked(store, conversation.id)
    assert not check.sound
    assert check.first_bad == first
    if how == "nonsense":
        with pytest.raises(PilothouseError, match="damaged"):
            await store.events(conversation.id, 0, ALL)


async def test_of_two_that_pack_the_same_events_one_does_and_nothing_is_doubled(opened: OpenStore) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    await a_turn(store, conversation.id)
    before = await store.events(conversation.id, 0, ALL)
    (planned,) = await opened.database.read(packing.plans)
    await opened.database.write(lambda c: packing.carry_out(c, planned))
    with pytest.raises(packing.Overtaken):
        await opened.database.write(lambda c: packing.carry_out(c, planned))
    assert await store.events(conversation.id, 0, ALL) == before


async def test_a_run_that_ends_while_its_conversation_is_packed_is_packed_next(opened: OpenStore) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    await a_turn(store, conversation.id)
    (planned,) = await opened.database.read(packing.plans)
    await a_turn(store, conversation.id)
    await opened.database.write(lambda c: packing.carry_out(c, planned))
    await packed(store)
    assert await kinds(opened, conversation.id) == ["packed", "packed"]


async def test_many_short_conversations_are_packed_in_few_steps_each_of_a_bounded_size(
    opened: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [await opened.store.add_conversation(a_conversation()) for _ in range(30)]
    for conversation in made:
        await a_turn(opened.store, conversation.id)
    (*_, planned) = await opened.database.read(packing.plans)
    monkeypatch.setattr(limits, "PACKED_BYTES", 10 * planned.size)
    # Ten in each, and one that finds nothing more to pack.
    assert 3 <= await packed(opened.store) <= 5
    assert {tuple(await kinds(opened, conversation.id)) for conversation in made} == {("packed",)}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_items_that_become_smaller_leave_no_half_empty_pages(opened: OpenStore) -> None:
    chance = random.Random(1)
    for _ in range(60):
        conversation = await opened.store.add_conversation(a_conversation())
        run = await a_turn(opened.store, conversation.id)
        said = " ".join(f"word{chance.randrange(400)}" for _ in range(200))
        kinds: tuple[ItemKind, ...] = ("response", "user_message", "response")
        items = [an_item(conversation.id, kind, "completed", said, run) for kind in kinds]
        await opened.store.append(conversation.id, [ItemCreated(item=item) for item in items], None)
    await packed(opened.store)
    query = sa.text("SELECT sum(unused) * 1.0 / sum(pgsize) FROM dbstat WHERE name = 'items'")
    unused = await opened.database.read(lambda c: float(c.execute(query).scalar_one()))
    assert unused < 0.4


async def test_what_an_earlier_version_kept_is_packed_after_an_upgrade_and_the_start_does_not_wait(
    tmp_path: Path, database_url: str | None, opened: OpenStore, published: Published
) -> None:
    conversation = await opened.store.add_conversation(a_conversation())
    await a_turn(opened.store, conversation.id)
    before = await opened.store.events(conversation.id, 0, ALL)
    for statement in BEFORE_PACKING:
        await change(opened, statement)
    await opened.close()
    again = open_store(tmp_path, database_url, published.take)
    try:
        assert "packed" not in await kinds(again, conversation.id)
        await packed(again.store)
        assert await kinds(again, conversation.id) == ["packed"]
        assert await again.store.events(conversation.id, 0, ALL) == before
    finally:
        await again.close()


async def test_what_is_deleted_for_good_leaves_no_record(opened: OpenStore) -> None:
    store = opened.store
    conversation = await store.add_conversation(a_conversation())
    await a_turn(store, conversation.id)
    await packed(store)
    await a_turn(store, conversation.id)
    await store.change_conversation(OWNER, conversation.id, lambda c: msgspec.structs.replace(c, deleted_at=1.0))
    await store.purge(2.0)
    assert await kinds(opened, conversation.id) == []
    assert not await store.pack()


TEXTS = some.text(some.characters(exclude_categories=["Cs"]), max_size=12)
DELTAS = some.builds(
    ItemDelta,
    item_id=some.sampled_from(["i_1", "i_2", 'i_"3']),
    offset=some.integers(0, 5),
    text=TEXTS,
    at=some.floats(allow_nan=False, allow_infinity=False) | some.sampled_from([0.0, -0.0, 1763270000.123456]),
)
ROWS = some.lists(
    some.tuples(some.just("item.delta"), DELTAS.map(lambda delta: (delta.item_id, encode(delta))))
    | some.tuples(
        some.sampled_from(["item.delta", "item.created", "run.updated"]),
        some.tuples(some.none() | TEXTS, some.binary(max_size=40)),
    ),
    min_size=1,
    max_size=30,
)


@given(rows=ROWS, first=some.integers(1, 2**40))
def test_whatever_events_there_are_each_is_rebuilt_byte_for_byte(
    rows: list[tuple[str, tuple[str | None, bytes]]], first: int
) -> None:
    events = [Kept(first + at, kind, item, body) for at, (kind, (item, body)) in enumerate(rows)]
    before = hash_chain.beginning("c")
    assert packed_range.unpacked(packed_range.packed(events, before)) == (before, events)


@given(some.binary(max_size=200))
def test_bytes_that_are_no_record_are_told_as_that(body: bytes) -> None:
    with pytest.raises(packed_range.NotPacked):
        packed_range.unpacked(body)


def test_a_record_cannot_unpack_to_more_than_memory_takes() -> None:
    huge = Kept(1, "item.created", "i_1", bytes(limits.UNPACKED_BYTES))
    with pytest.raises(packed_range.NotPacked):
        packed_range.unpacked(packed_range.packed([huge], b""))


# As the first version that packed wrote it. Databases with such records are everywhere: this never changes.
OLD_RECORD = bytes.fromhex(
    "78da9bc97e84a53835316732c3ffff93e55898274e5a5d549aa7575a909258929a72e0885cb552496541aa92951292b0928e"
    "52716aa1929579edc4498b33e30d595679642a7c983fab814b8961d279c75b6ee131020c0ce7188004003c9923b7"
)
OLD_EVENTS = [
    Kept(7, "run.updated", None, b'{"type":"run.updated","seq":7}'),
    Kept(
        8,
        "item.delta",
        "i_1",
        b'{"type":"item.delta","itemId":"i_1","offset":4,"text":"Hi \xf0\x9f\x9a\x80","seq":8,"at":1763270000.25}',
    ),
    Kept(
        9,
        "item.delta",
        "i_1",
        b'{"type":"item.delta","itemId":"i_1","offset":9,"text":"\\n\\"\\u0000","seq":9,"at":1763270000.5}',
    ),
]


def test_a_record_of_the_first_version_is_read_for_ever() -> None:
    assert packed_range.unpacked(OLD_RECORD) == (b"seal", OLD_EVENTS)
