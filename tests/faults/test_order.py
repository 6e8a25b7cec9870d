"""A conversation's messages are answered in the order in which they were accepted, whatever happens meanwhile.

`FAULTS_SECONDS=600` piles up twenty conversations of thirty-five messages each.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import httpx2
import pytest
import sqlalchemy as sa

from pilothouse.store import schema
from pilothouse.types import limits
from pilothouse.wiring.host import open_host
from tests.faults import chance
from tests.support import invariants
from tests.support.chats import database_of, open_chat
from tests.support.databases import open_transaction
from tests.support.servers import Server
from tests.support.waiting import until

CONVERSATIONS = max(4, round(chance.SECONDS / 30))
EACH = max(8, min(35, round(chance.SECONDS / 15)))
KILLS = max(2, round(chance.SECONDS / 60))
ALL = CONVERSATIONS * EACH


@pytest.mark.parametrize("processes", [1, 2])
async def test_messages_that_wait_long_are_begun_in_order_although_every_process_looks_for_them(
    home: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    # So short that each look finds everything that waits, while runs end and begin.
    monkeypatch.setattr(limits, "LEASE_RENEW", 0.002)
    monkeypatch.setattr(limits, "LEASE_DEAD", 0.004 if processes == 1 else 2.0)
    url = postgres_url if processes > 1 else None
    async with open_chat(home, [["Yes."]], role="server", database_url=url) as chat, AsyncExitStack() as others:
        for number in range(processes - 1):
            await others.enter_async_context(open_host(home.parent / f"other{number}", url, role="server"))
        sent = [await chat.send(f"message {number}") for number in range(24)]
        for one in sent:
            assert (await chat.settled(one.run_id)).status == "completed"
        answered = [item.run_id for item in await chat.items("response")]
        assert answered == [one.run_id for one in sent]


class Pile:
    """Conversations on servers that come and go, and what they said they took."""

    def __init__(self, script: Path) -> None:
        self._script = script
        self.accepted: dict[str, list[str]] = {}

    def begin(self, server: Server, conversations: int) -> None:
        for _ in range(conversations):
            self.accepted[server.post("/api/conversations", {}, 201)["id"]] = []

    def fill(self, server: Server, conversation_id: str, each: int) -> None:
        """Send messages one after the other until there are enough, or the server is gone."""
        taken = self.accepted[conversation_id]
        while len(taken) < each:
            body = {"text": f"message {len(taken)}", "modelId": f"scripted:{self._script}"}
            body["idempotencyKey"] = f"{conversation_id} {len(taken)}"
            try:
                taken.append(server.post(f"/api/conversations/{conversation_id}/messages", body, 202)["runId"])
            except httpx2.TransportError:
                return

    def fill_all(self, server: Server, each: int) -> None:
        with ThreadPoolExecutor(4) as senders:
            for sending in [senders.submit(self.fill, server, one, each) for one in self.accepted]:
                sending.result()


def _runs(url: str) -> list[tuple[str, str]]:
    with open_transaction(url) as connection:
        return [(row.id, row.status) for row in connection.execute(sa.select(schema.runs.c.id, schema.runs.c.status))]


def _count(pile: Pile, url: str) -> Sequence[int]:
    """Return how many messages were accepted, are lost, and were taken twice."""
    kept = dict(_runs(url))
    accepted = [run_id for runs in pile.accepted.values() for run_id in runs]
    lost = [run_id for run_id in accepted if kept.get(run_id) != "completed"]
    return len(accepted), len(lost), len(kept) - len(accepted)


def _answered(url: str) -> int:
    return sum(status == "completed" for _, status in _runs(url))


def _answered_at_least(url: str, enough: int) -> bool:
    return _answered(url) >= min(enough, len(_runs(url)))


@pytest.mark.timeout(3 * chance.AMPLE)
@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_pile_of_messages_is_answered_in_order_although_servers_are_killed(
    tmp_path: Path, request: pytest.FixtureRequest, database: str
) -> None:
    dice = random.Random(chance.SEED)
    url = str(request.getfixturevalue("postgres_url")) if database == "postgresql" else None
    homes = [tmp_path / name / "home" for name in (("a", "b") if url else ("a",))]
    for home in homes:
        home.parent.mkdir()
    kept = url or database_of(homes[0])
    script = tmp_path / "script.yaml"
    script.write_text('turns:\n  - - text: "one two three"\n      pieces: 3\n      every: 0.01\n', encoding="utf-8")
    pile = Pile(script)
    servers = [Server(home, database_url=url) for home in homes]
    try:
        for server in servers:
            server.wait_until_up()
        pile.begin(servers[0], CONVERSATIONS)
        for kill in range(KILLS):
            which = kill % len(servers)
            pile.fill_all(servers[which], EACH * (kill + 1) // KILLS)
            enough = _answered(kept) + dice.randrange(1, CONVERSATIONS)
            until(partial(_answered_at_least, kept, enough), "some answers", chance.AMPLE)
            servers[which].kill()
            servers[which] = Server(homes[which], database_url=url)
            servers[which].wait_until_up()
        pile.fill_all(servers[0], EACH)
        until(lambda: _answered(kept) == ALL, "everything to be answered", chance.AMPLE)
    finally:
        for server in servers:
            server.close()
    counts = _count(pile, kept)
    print(f"{database}: accepted {counts[0]}, lost {counts[1]}, doubled {counts[2]}, kills {KILLS}")
    assert counts == (ALL, 0, 0)
    # Among the rest: none began before a message that came before its own.
    invariants.check(kept)
