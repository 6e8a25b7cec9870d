"""Passing permissions in the database: used up once, never revived, gone with their conversation."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import msgspec
import pytest

from pilothouse.store import schema
from pilothouse.store.opening import OpenStore, open_store
from pilothouse.store.store import Store
from pilothouse.types.authority import Grant, Pattern
from pilothouse.types.conversations import Conversation
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.runs import RunStatus
from tests.support.records import OWNER, a_conversation, a_posting


def a_grant(conversation_id: str, *, owner: str = OWNER, seconds: float = 300.0, single_use: bool = True) -> Grant:
    now = time.time()
    return Grant(
        id=new_id("g"),
        owner=owner,
        conversation_id=conversation_id,
        pattern=Pattern(tool="file_operations.create_file", paths=("src/**",), command=("a", "*")),
        created_at=now,
        expires_at=now + seconds,
        single_use=single_use,
        question_id="i_1",
    )


async def talk(store: Store) -> Conversation:
    return await store.add_conversation(a_conversation())


async def test_a_grant_comes_back_as_it_was_given(store: Store) -> None:
    conversation = await talk(store)
    grant = a_grant(conversation.id)
    await store.add_grant(grant)
    assert list(await store.grants(OWNER, conversation.id)) == [grant]
    assert list(await store.grants(OWNER, None)) == [grant]


@pytest.mark.parametrize(("end", "stands"), [("waiting", 1), ("interrupted", 1), ("completed", 0), ("failed", 0)])
async def test_a_permission_for_a_run_ends_when_that_run_does_and_is_not_revived(
    store: Store, end: RunStatus, stands: int
) -> None:
    conversation = await talk(store)
    await store.post_message(a_posting(conversation.id))
    run = await store.claim_next(conversation.id, "p_one")
    assert run is not None
    grant = msgspec.structs.replace(
        a_grant(conversation.id, single_use=False), expires_at=None, run_id=run.id, created_at=time.time() - 1e6
    )
    await store.add_grant(grant)
    assert await store.use_grant(grant.id, time.time())
    await store.change_run(run.id, lambda now: msgspec.structs.replace(now, status=end, process=None))
    assert len(await store.grants(OWNER, conversation.id)) == stands
    await store.change_run(run.id, lambda now: msgspec.structs.replace(now, status="queued"))
    assert len(await store.grants(OWNER, conversation.id)) == stands
    assert await store.use_grant(grant.id, time.time()) is bool(stands)


@pytest.mark.case("ATZ-08", "AUTHZ-02")
async def test_a_single_use_is_given_out_once_however_many_want_it(store: Store) -> None:
    conversation = await talk(store)
    grant = a_grant(conversation.id)
    await store.add_grant(grant)
    used = await asyncio.gather(*(store.use_grant(grant.id, time.time()) for _ in range(20)))
    assert sorted(used) == [False] * 19 + [True]
    assert list(await store.grants(OWNER, conversation.id)) == []


@pytest.mark.case("ATZ-08", "AUTHZ-02")
@pytest.mark.slow
async def test_two_processes_on_one_database_do_not_both_get_a_single_use(postgres_url: str, tmp_path: Path) -> None:
    opened = [open_store(tmp_path, postgres_url, lambda _id, _events: None) for _ in range(2)]
    try:
        first, second = (each.store for each in opened)
        conversation = await talk(first)
        for _ in range(10):
            grant = a_grant(conversation.id)
            await first.add_grant(grant)
            used = await asyncio.gather(*(each.use_grant(grant.id, time.time()) for each in (first, second) * 5))
            assert used.count(True) == 1
    finally:
        for each in opened:
            await each.close()


@pytest.mark.case("ATZ-09")
async def test_a_grant_for_several_uses_counts_them(store: Store) -> None:
    conversation = await talk(store)
    grant = a_grant(conversation.id, single_use=False)
    await store.add_grant(grant)
    assert all([await store.use_grant(grant.id, grant.created_at + n) for n in range(3)])
    (kept,) = await store.grants(OWNER, conversation.id)
    assert kept == msgspec.structs.replace(grant, uses=3, last_used_at=grant.created_at + 2)


@pytest.mark.case("ATZ-10", "AUTHZ-07")
async def test_a_grant_past_its_time_is_not_listed_and_cannot_be_used(store: Store) -> None:
    conversation = await talk(store)
    grant = a_grant(conversation.id, seconds=-1)
    await store.add_grant(grant)
    assert list(await store.grants(OWNER, conversation.id)) == []
    assert not await store.use_grant(grant.id, time.time())


@pytest.mark.case("AUTHZ-09")
async def test_a_revoked_grant_does_not_stand_from_then_on(store: Store) -> None:
    conversation = await talk(store)
    grant = a_grant(conversation.id, single_use=False)
    await store.add_grant(grant)
    assert await store.use_grant(grant.id, time.time())
    await store.revoke_grant(OWNER, grant.id)
    await store.revoke_grant(OWNER, grant.id)
    assert not await store.use_grant(grant.id, time.time())
    assert list(await store.grants(OWNER, None)) == []


async def test_grants_of_others_cannot_be_seen_revoked_or_put_into_their_conversations(store: Store) -> None:
    conversation = await talk(store)
    grant = a_grant(conversation.id)
    await store.add_grant(grant)
    assert list(await store.grants("stranger", conversation.id)) == []
    for wrong in (
        store.revoke_grant("stranger", grant.id),
        store.revoke_grant(OWNER, "g_none"),
        store.add_grant(a_grant(conversation.id, owner="stranger")),
        store.add_grant(a_grant("c_none")),
    ):
        with pytest.raises(PilothouseError) as refused:
            await wrong
        assert refused.value.code == "not_found"
    assert await store.use_grant(grant.id, time.time())


async def test_grants_go_with_their_conversation(opened: OpenStore) -> None:
    store = opened.store
    kept, gone = await talk(store), await talk(store)
    for conversation in (kept, gone):
        await store.add_grant(a_grant(conversation.id, single_use=False))
    await store.change_conversation(OWNER, gone.id, lambda c: msgspec.structs.replace(c, deleted_at=1.0))
    assert [grant.conversation_id for grant in await store.grants(OWNER, None)] == [kept.id]
    await store.purge(2.0)

    def left() -> int:
        return opened.database.read_now(lambda c: int(c.exec_driver_sql("SELECT count(*) FROM grants").scalar_one()))

    assert await asyncio.to_thread(left) == 1


def test_whatever_belongs_to_a_conversation_goes_with_it() -> None:
    tables = {table for table in schema.metadata.sorted_tables if "conversation_id" in table.c}
    assert tables == set(schema.PARTS_OF_CONVERSATIONS)
