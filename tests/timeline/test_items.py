"""Items carry what their kind says, whoever wrote them; what is not known stays as it is."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.agent.history import history
from pilothouse.store.opening import open_store
from pilothouse.types.events import ItemCreated, ItemUpdated, event_decoder
from pilothouse.types.folding import changed
from pilothouse.types.item_data import (
    ApprovalData,
    CallData,
    CallError,
    ItemData,
    LimitData,
    NoticeData,
    QuestionData,
    ResponseData,
)
from pilothouse.types.items import Item, TurnId, is_a, new_item, patch, read
from pilothouse.types.json import JsonObject, encode
from tests.support.records import OWNER, a_conversation


def an_item(kind: str, data: JsonObject) -> Item:
    return msgspec.structs.replace(new_item("c", "notice", data=data), kind=kind)


def test_each_kind_carries_its_own_type_and_a_question_that_of_what_it_asks() -> None:
    call = an_item("tool_call", {"tool": "think", "phases": {"started": 1.5}, "turn": "3.2"})
    assert is_a(call, CallData)
    assert (call.data.tool, call.data.phases, TurnId.of(call)) == ("think", {"started": 1.5}, TurnId(3, 2))
    assert isinstance(an_item("question", {"kind": "approval"}).data, ApprovalData)
    assert isinstance(an_item("question", {"kind": "limit"}).data, LimitData)
    assert type(an_item("question", {"kind": "of tomorrow"}).data) is QuestionData
    assert call.data is call.data, "it is read once"


@pytest.mark.parametrize("kind", ["tool_call", "notice", "hologram"])
def test_what_a_newer_version_wrote_survives_being_read_changed_and_written(kind: str) -> None:
    raw = {"tomorrow": {"a": [1, None]}, "code": "x", "tool": "t", "zeta": 1, "alpha": 2}
    item = an_item(kind, raw)
    written = encode(ItemCreated(seq=1, at=1.5, item=item))
    read_back = event_decoder.decode(written)
    assert isinstance(read_back, ItemCreated)
    assert isinstance(read_back.item.data, ItemData)
    assert encode(read_back) == written
    later = changed(read_back.item, ItemUpdated(item_id=item.id, data={"cutOff": True}))
    assert list(later.raw) == [*raw, "cutOff"]
    assert later.raw["tomorrow"] == {"a": [1, None]}


async def test_an_item_of_a_kind_that_is_not_known_is_kept_shown_and_not_told_to_a_model(tmp_path: Path) -> None:
    opened = open_store(tmp_path, None, lambda *_: None)
    try:
        conversation = await opened.store.add_conversation(a_conversation())
        made = msgspec.structs.replace(an_item("hologram", {"depth": 3}), conversation_id=conversation.id)
        await opened.store.append(conversation.id, [ItemCreated(item=made)], None)
        [shown] = (await opened.store.snapshot(OWNER, conversation.id, 10)).items
        assert (shown.kind, shown.raw) == ("hologram", {"depth": 3})
        assert history([shown]) == ()
    finally:
        await opened.close()


def test_a_field_that_does_not_fit_counts_as_not_there_and_the_others_are_read() -> None:
    odd: dict[str, Any] = {"tool": "t", "iterations": "many", "content": [{"kind": "nonsense"}], "server": None}
    data = read(CallData, odd | {"exitCode": 3, "decision": {"verdict": "perhaps"}})
    assert (data.tool, data.iterations, data.content, data.server) == ("t", 0, (), "")
    assert (data.exit_code, data.decision) == (3, None)


def test_a_change_holds_exactly_the_fields_that_are_given_as_they_stand_in_json() -> None:
    error = CallError(code="X", message="No.")
    change = patch(CallData, is_error=False, deadline_at=None, phase="", error=error, undone=("a", "b"))
    assert list(change) == ["isError", "deadlineAt", "phase", "error", "undone"]
    assert change == {
        "isError": False,
        "deadlineAt": None,
        "phase": "",
        "error": {"code": "X", "message": "No.", "retryable": False},
        "undone": ["a", "b"],
    }
    assert msgspec.json.decode(encode(change)) == change
    assert patch(NoticeData, wait_seconds=1.5) == {"waitSeconds": 1.5}
    with pytest.raises(KeyError):
        patch(ResponseData, phase="x")  # type: ignore[call-arg]


def test_an_item_that_changed_is_read_anew() -> None:
    call = an_item("tool_call", patch(CallData, phase="started"))
    assert is_a(call, CallData)
    assert call.data.phase == "started"
    later = changed(call, ItemUpdated(item_id=call.id, at=time.time(), data=patch(CallData, phase="executing")))
    assert (call.data.phase, later.data.phase) == ("started", "executing")
