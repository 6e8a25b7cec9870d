"""Items: one per thing that happens in a conversation, each with a lifecycle."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import Generic, Literal, ParamSpec, TypeGuard, TypeVar

import msgspec

from pilothouse.types.ids import new_id
from pilothouse.types.item_data import (
    ApprovalData,
    CallData,
    CollaborationData,
    CompactionData,
    ElicitationData,
    ItemData,
    LimitData,
    MessageData,
    NoticeData,
    QuestionData,
    ReminderData,
    ResponseData,
    ResultPart,
    SummaryData,
    ThinkingData,
    TurnData,
)
from pilothouse.types.json import Frozen, JsonObject, plain

ItemKind = Literal[
    "user_message",
    "response",
    "thinking",
    "tool_call",
    "tool_summary",
    "question",
    "notice",
    "compaction",
    "reminder",
]
ItemStatus = Literal["streaming", "waiting", "completed", "failed", "cancelled", "timed_out", "unknown"]

# A call that reached one of these has its result; it is never executed again.
CLOSED: frozenset[ItemStatus] = frozenset({"completed", "failed", "cancelled", "timed_out", "unknown"})

# What each kind of item carries, and each kind of question.
KINDS: dict[str, type[ItemData]] = {
    "user_message": MessageData,
    "response": ResponseData,
    "thinking": ThinkingData,
    "tool_call": CallData,
    "tool_summary": SummaryData,
    "question": QuestionData,
    "notice": NoticeData,
    "compaction": CompactionData,
    "reminder": ReminderData,
}
_KIND_OF = {carried: kind for kind, carried in KINDS.items()}
QUESTIONS: dict[str, type[QuestionData]] = {
    "approval": ApprovalData,
    "elicitation": ElicitationData,
    "collaboration": CollaborationData,
    "limit": LimitData,
}

Data = TypeVar("Data", bound=ItemData)
Read = TypeVar("Read", bound=msgspec.Struct)
Carried_co = TypeVar("Carried_co", bound=ItemData, covariant=True)
Given = ParamSpec("Given")


class ItemOf(Frozen, Generic[Carried_co], frozen=True, dict=True):
    """One thing in the timeline; `raw` is its data as it stands on disk, `data` the same as what its kind carries."""

    id: str
    conversation_id: str
    run_id: str | None
    # An ItemKind, or one that a newer version wrote.
    kind: str
    status: ItemStatus
    # The sequence number of the event that created it: the item's place in the conversation.
    position: int
    text: str
    raw: JsonObject = msgspec.field(name="data")
    created_at: float
    updated_at: float
    # The branch in which it stands; from whoever writes it, like its place.
    branch: int = 0

    @cached_property
    def data(self) -> Carried_co:
        """Return what the item carries; read when it is first asked for, since most of a long timeline never is."""
        return data_of(self.kind, self.raw)  # type: ignore[return-value]


Item = ItemOf[ItemData]
Response = ItemOf[ResponseData]
Call = ItemOf[CallData]
Question = ItemOf[QuestionData]


def new_item(
    conversation_id: str,
    kind: ItemKind,
    *,
    run_id: str | None = None,
    status: ItemStatus = "completed",
    text: str = "",
    data: JsonObject | None = None,
) -> Item:
    """Make an item; it exists once it is written, and has its place and its times from whoever writes it."""
    return Item(
        id=new_id("i"),
        conversation_id=conversation_id,
        run_id=run_id,
        kind=kind,
        status=status,
        position=0,
        text=text,
        raw=data or {},
        created_at=0.0,
        updated_at=0.0,
    )


def is_a(item: Item, carried: type[Data]) -> TypeGuard[ItemOf[Data]]:
    """Return whether an item is of the kind that carries this."""
    return item.kind == _KIND_OF[carried]


def is_summed_up(item: Item, summary: CompactionData) -> bool:
    """Return whether a summary stands for an item: what came before its place, and of messages before theirs."""
    place = summary.messages_from if item.kind == "user_message" else 0
    return item.position < (place or summary.keep_from)


def data_of(kind: str, raw: JsonObject) -> ItemData:
    """Return the data of a kind of item as its type; of a kind that is not known, nothing but that it is some."""
    carried = KINDS.get(kind, ItemData)
    if carried is QuestionData:
        carried = QUESTIONS.get(str(raw.get("kind")), QuestionData)
    return read(carried, raw)


def read(carried: type[Read], raw: JsonObject) -> Read:
    """Return plain data as its type; a field that does not fit, of whoever wrote it, counts as not there."""
    try:
        return msgspec.convert(raw, carried)
    except msgspec.ValidationError:
        return msgspec.convert({key: value for key, value in raw.items() if _fits(carried, key, value)}, carried)


def _fits(carried: type[Read], key: str, value: object) -> bool:
    try:
        msgspec.convert({key: value}, carried)
    except msgspec.ValidationError:
        return False
    return True


@cache
def _names(carried: Callable[..., object]) -> dict[str, str]:
    return {field.name: field.encode_name for field in msgspec.structs.fields(carried)}  # type: ignore[arg-type]


def patch(carried: Callable[Given, ItemData], *_: Given.args, **given: Given.kwargs) -> JsonObject:
    """Return a change of an item's data: exactly the fields that are given, in their order, null and empty ones too.

    Types are checked as if the struct itself were made. What is not given stays as it is when the change is folded in.
    """
    names = _names(carried)
    return {
        names[name]: plain(value) if isinstance(value, msgspec.Struct | tuple) else value
        for name, value in given.items()
    }


def parts_of(item: Item) -> tuple[ResultPart, ...]:
    """Return what was attached to a message, what a call gave, or the pictures of an answer."""
    data = item.data
    return data.content if isinstance(data, MessageData | ResponseData | CallData) else ()


# --- turns: told as "2.1", the second turn's first attempt -------------------------------------------


class TurnId(msgspec.Struct, frozen=True):
    """Which turn of the run, and which attempt at it."""

    turn: int
    attempt: int
    # The answer that this one goes on from: both are one for whoever reads them.
    continues: str | None = None

    @property
    def tag(self) -> str:
        """Return the mark that the turn's items carry."""
        return f"{self.turn}.{self.attempt}"

    @classmethod
    def of(cls, item: Item) -> TurnId:
        """Return the turn that an item belongs to; of what no model brought forth, the one before all."""
        turn, _, attempt = turn_of(item).partition(".")
        return cls(int(turn or 0), int(attempt or 0))


def turn_of(item: Item) -> str:
    """Return the mark of the turn that an item belongs to; empty for what no model brought forth."""
    data = item.data
    return data.turn if isinstance(data, TurnData) else ""


def is_hidden(item: Item) -> bool:
    """Return whether the person hid this from models."""
    data = item.data
    return isinstance(data, MessageData | TurnData) and data.hidden


def is_cut_off(item: Item) -> bool:
    """Return whether an attempt left this behind when it broke off."""
    data = item.data
    return isinstance(data, TurnData) and data.cut_off
