"""The database fails at every operation in turn: nothing is half-written, nothing is lost, nothing happens twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.types import limits
from pilothouse.types.api import MessageAccepted, NewConversation
from pilothouse.types.errors import PilothouseError
from tests.faults.failing_store import Failures, failing_store
from tests.support.chats import ME, Chat, open_chat
from tests.support.waiting import eventually

SCRIPT = [
    [{"thinking": "hm"}, {"text": "I will think.", "pieces": 4}, {"call": "think", "arguments": {"thoughts": "x"}}],
    [{"text": "Done now.", "pieces": 3}],
]
MOST = 400


async def accepted(chat: Chat) -> MessageAccepted:
    """Send until it is accepted, as a client does that got no answer."""
    for _ in range(20):
        try:
            return await chat.send("Go", idempotency_key=f"the one of {chat.id}")
        except PilothouseError as error:
            refused = (error.code, bool(error.fix))
        assert refused == ("database", True)
    raise AssertionError("the message was never accepted")


async def is_completed(chat: Chat, run_id: str) -> bool:
    """Return whether the run has completed, if that can be read at the moment."""
    try:
        return (await chat.api.runs.get(ME, run_id)).status == "completed"
    except PilothouseError:
        return False


async def once(chat: Chat, failures: Failures, first: int, times: int = 1) -> bool:
    """Answer one message of a new conversation while operations fail; return whether any did."""
    settings = (await chat.snapshot()).conversation.settings
    made = await chat.api.conversations.create(ME, NewConversation(settings=settings))
    one = Chat(chat.host, made.id, chat.script)
    failures.arm(first, times)
    sent = await accepted(one)
    await eventually(lambda: is_completed(one, sent.run_id), "the run to complete")
    failed = failures.failed
    failures.disarm()
    assert len(await one.items("user_message")) == 1
    assert (await one.texts("response")) == ["I will think.", "Done now."]
    return failed > 0


@pytest.mark.slow
@pytest.mark.case("F-43")
@pytest.mark.parametrize(("times", "step"), [(1, 1), (4, 7)], ids=["one operation", "four in a row"])
async def test_an_io_error_at_any_operation_breaks_no_rule(
    home: Path, monkeypatch: pytest.MonkeyPatch, times: int, step: int
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.005)
    tried = 0
    with failing_store(monkeypatch) as failures:
        async with open_chat(home, SCRIPT) as chat:
            for first in range(1, MOST, step):
                if not await once(chat, failures, first, times):
                    break
                tried += 1
            else:
                raise AssertionError("the run never got through without meeting the failure")
    assert tried > 60 // step


@pytest.mark.case("F-46")
async def test_a_commit_that_is_kept_although_its_answer_is_lost_happens_once(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STORE_RETRY", 0.005)
    first = 1
    with failing_store(monkeypatch) as failures:
        async with open_chat(home, SCRIPT) as chat:
            failures.answer_lost = True
            while await once(chat, failures, first):
                first += 1
    assert first > 10
