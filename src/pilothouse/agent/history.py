"""From timeline to what a model reads: one pure function.

The same items always give the same messages, every call stands with its result, no turn is empty, and
more items only ever add to the end, so that a provider's cache of the beginning stays good.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeGuard

import msgspec

from pilothouse.agent.results.entering import kept_note
from pilothouse.types import limits
from pilothouse.types.attached import AttachedDocument, page_count
from pilothouse.types.item_data import (
    CallData,
    CompactionData,
    MessageData,
    ReminderData,
    ResponseData,
    ResultPart,
    ThinkingData,
)
from pilothouse.types.items import (
    CLOSED,
    Call,
    Item,
    ItemOf,
    Response,
    is_a,
    is_cut_off,
    is_hidden,
    is_summed_up,
    turn_of,
)
from pilothouse.types.json import JsonObject, encode_text
from pilothouse.types.messages import (
    Block,
    CallBlock,
    ImageBlock,
    Media,
    Message,
    NativeBlock,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)
from pilothouse.types.tool_names import CALL, READ_RESULT, RECALL

_SUMMARY_INTRODUCTION = (Path(__file__).parent / "summary_introduction.md").read_text()
_RECALL = "\n\n" + (Path(__file__).parent / "summary_recall.md").read_text().strip()
_ATTACHED = (Path(__file__).parent / "attached_document.md").read_text().strip()
_ATTACHED_MORE = (Path(__file__).parent / "attached_document_more.md").read_text().strip()
_GO_ON = (Path(__file__).parent / "go_on.md").read_text().strip()
_GO_ON_UNSAID = (Path(__file__).parent / "go_on_unsaid.md").read_text().strip()
_HIDDEN = (Path(__file__).parent / "hidden_message.md").read_text().strip()
_NO_OUTPUT = "(no output)"
_CHANGED = "The person changed the arguments of this call before they allowed it. It was made with these instead:"
Role = Literal["user", "assistant"]
# What the model is told as the person's words: each is a block of its own, whatever its text pretends to be.
_TOLD = ("user_message", "reminder")
_SPOKEN = ("response", "thinking", "tool_call")
_TEXTS = ("text", "json")
# The kinds of pieces of a result that may be a picture or a sound.
_MEDIA = ("image", "audio", "resource")


def history(items: Sequence[Item], *, offered: Collection[str] = ()) -> tuple[Message, ...]:
    """Return the conversation as messages.

    A model that is offered the tools for it is told which results were cut for another, and that it can look back.
    """
    messages: list[tuple[Role, list[Block]]] = []
    for piece in pieces(items, offered=offered):
        if not messages and piece.role == "assistant" and piece.blocks:
            # No provider takes a conversation that begins with an answer.
            _add(messages, "user", [TextBlock(text=_HIDDEN)])
        _add(messages, piece.role, piece.blocks)
    return tuple(Message(role=role, content=tuple(blocks)) for role, blocks in messages)


class Piece(NamedTuple):
    """Blocks that stand together in a message, and the items that they are made of."""

    role: Role
    blocks: Sequence[Block]
    items: Sequence[Item]


def pieces(items: Sequence[Item], *, offered: Collection[str] = ()) -> Iterator[Piece]:
    """Yield what the messages of a conversation are put together from, in order."""
    summary, kept = _since_compaction(in_order(items))
    if summary is not None:
        noted = f"\n\n{summary.data.noted}" if summary.data.noted else ""
        told = _RECALL if RECALL in offered and summary.data.tells else ""
        yield Piece("user", [TextBlock(text=_SUMMARY_INTRODUCTION + summary.text + noted + told)], [summary])
    for group in _turns(kept):
        first = group[0]
        if first.kind in _TOLD:
            yield Piece("user", _user_blocks(first), group)
        else:
            calls = [item for item in group if is_a(item, CallData)]
            yield Piece("assistant", _assistant_blocks(group), group)
            yield Piece("user", [_result(item, READ_RESULT in offered) for item in calls], calls)
            yield Piece("user", _told_to_go_on(group), group)


def until_message(items: Sequence[Item], run_id: str) -> list[Item]:
    """Return the items without messages after the run's own, and after all answered ones, that nobody has begun."""
    answered = {item.run_id for item in items if item.kind != "user_message"} | {run_id}
    newest = max(
        (item.position for item in items if item.kind == "user_message" and item.run_id in answered), default=0
    )
    return [item for item in items if item.kind != "user_message" or item.position <= newest]


def reminded(items: Sequence[Item]) -> list[ItemOf[ReminderData]]:
    """Return the reminders by name that the model is told, in order; others were for their moment."""
    told = _since_compaction(in_order(items))[1]
    return [item for item in told if _is_named(item)]


def in_order(items: Sequence[Item]) -> list[Item]:
    """Return the items with each message where it was answered: one sent meanwhile comes after the answer before it.

    A message whose answer went on after later ones stays where those who answered them have read it.
    """
    standing = [item for item in items if not stands_before(item)]
    begun, answers = _answers([item for item in standing if item.kind != "user_message" and _belongs(item)], items)
    # How far the answers reach to all messages up to each of those.
    reach = list(accumulate((position for _, position in answers), max))

    def place(item: Item) -> tuple[int, int]:
        if item.kind != "user_message":
            return item.position, 1
        if item.run_id in begun:
            return begun[item.run_id], 0
        earlier = bisect_left(answers, (item.position, 0))
        return max(item.position, reach[earlier - 1] if earlier else 0), 2

    return _with_reminders(sorted(standing, key=place), items)


def _sent(items: Sequence[Item]) -> dict[str | None, int]:
    return {item.run_id: item.position for item in items if item.kind == "user_message"}


def _answers(spoken: Sequence[Item], items: Sequence[Item]) -> tuple[dict[str | None, int], list[tuple[int, int]]]:
    """Return where each run's answer began, and of all that was said to which message it was said, and where.

    What a run says after it was told to go on counts as said to the newest message that was answered before.
    """
    sent, newest = _sent(items), 0
    begun: dict[str | None, int] = {}
    late: dict[str | None, int] = {}
    answers = []
    for item in spoken:
        if item.kind == "reminder" and not _is_named(item):
            late[item.run_id] = newest
        if item.run_id not in late:
            begun.setdefault(item.run_id, item.position)
            newest = max(newest, sent.get(item.run_id, 0))
        answers.append((late.get(item.run_id, sent.get(item.run_id, 0)), item.position))
    return begun, sorted(answers)


def _is_named(item: Item) -> TypeGuard[ItemOf[ReminderData]]:
    """Return whether this is a reminder that is said again whenever it changes; others are for their moment."""
    return is_a(item, ReminderData) and bool(item.data.name)


def left_behind(items: Sequence[Item], run_id: str) -> bool:
    """Return whether a later message was taken up since a run last said something, or was told to."""
    mine = max((item.position for item in items if item.run_id == run_id and _belongs(item)), default=0)
    return _taken_up(items, run_id) > mine


def unread(items: Sequence[Item], run_id: str) -> list[Item]:
    """Return the items of a run that nobody has read who answered a later message."""
    read = _taken_up(items, run_id)
    return [item for item in items if item.run_id == run_id and item.position > read]


def _taken_up(items: Sequence[Item], run_id: str) -> int:
    """Return where something was last done about a message after a run's own."""
    sent = _sent(items)
    others = (item for item in items if item.kind != "user_message" and item.run_id != run_id)
    return max((item.position for item in others if sent.get(item.run_id, 0) > sent.get(run_id, 0)), default=0)


def _with_reminders(ordered: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """Return the items with the reminders of each message right before it."""
    before: dict[str, list[Item]] = {}
    for item in items:
        if message := stands_before(item):
            before.setdefault(message, []).append(item)
    return [each for item in ordered for each in (*before.get(item.id, ()), item)]


def stands_before(item: Item) -> str:
    """Return the id of the message that a reminder stands right before; empty for whatever stands by itself."""
    if item.kind != "reminder":
        # Most are not, and everything is asked.
        return ""
    return item.data.before if is_a(item, ReminderData) else ""


def _since_compaction(items: Sequence[Item]) -> tuple[ItemOf[CompactionData] | None, list[Item]]:
    done = [item for item in items if is_a(item, CompactionData) and item.status == "completed"]
    if not done:
        return None, [item for item in items if _belongs(item)]
    newest = done[-1]
    kept = [item for item in items if not is_summed_up(item, newest.data) and _belongs(item)]
    there = {item.id for item in kept}
    return newest, [item for item in kept if (stands_before(item) or item.id) in there]


def _belongs(item: Item) -> bool:
    if item.kind in _TOLD:
        return not (is_a(item, MessageData) and (item.data.command or item.data.hidden))
    if item.kind not in _SPOKEN or item.status not in CLOSED:
        return False
    # What an attempt left behind when it broke off is for people to see; the next attempt says it anew.
    return not (is_cut_off(item) or is_hidden(item))


def _turns(items: Iterable[Item]) -> list[list[Item]]:
    groups: list[list[Item]] = []
    last: tuple[str | None, str] | None = None
    for item in items:
        # What a person said is a group by itself.
        turn = None if item.kind in _TOLD else (item.run_id, turn_of(item))
        if turn is not None and turn == last:
            groups[-1].append(item)
        else:
            groups.append([item])
        last = turn
    return groups


def _add(messages: list[tuple[Role, list[Block]]], role: Role, blocks: Sequence[Block]) -> None:
    if blocks and messages and messages[-1][0] == role:
        messages[-1][1].extend(blocks)
    elif blocks:
        messages.append((role, [*blocks]))


def _user_blocks(item: Item) -> list[Block]:
    if not is_a(item, MessageData):
        return [TextBlock(text=item.text)] if item.text else []
    images = [_image(item.id, part) for part in item.data.content if part.kind == "image"]
    documents = [TextBlock(text=_document(each)) for each in item.data.documents]
    text = [TextBlock(text=item.text)] if item.text else []
    return [*images, *documents, *text]


def _document(document: AttachedDocument) -> str:
    """Return a document of a message as a model reads it; what stands in it cannot end it early."""
    size = [page_count(document.pages)] if document.pages else []
    size.append(f"{document.characters:,} characters")
    about = escape(f"{document.name} ({', '.join(size)})", quote=False)
    left = document.characters - len(document.text)
    short = document.id[-8:]
    more = "" if left <= 0 else "\n" + _ATTACHED_MORE.replace("{id}", short).replace("{left}", f"{left:,}")
    head = _ATTACHED.replace("{id}", short).replace("{about}", about)
    note = f"\n{document.note}" if document.note else ""
    body = document.text.replace("</attachedDocument", "<\\/attachedDocument")
    return f"{head}{note}\n<attachedDocument>\n{body}\n</attachedDocument>{more}"


def _image(item_id: str, part: ResultPart, opaque: JsonObject | None = None) -> ImageBlock:
    return ImageBlock(
        media_type=part.media_type,
        item_id=item_id,
        index=part.index,
        size=part.bytes,
        name=part.name,
        opaque=opaque,
    )


def _assistant_blocks(group: Sequence[Item]) -> list[Block]:
    """Return what the model thought, said and asked for, in the order in which it did."""
    said = next((item for item in group if is_a(item, ResponseData)), None)
    if said is not None and said.status != "completed" and not any(item.kind == "tool_call" for item in group):
        # Proofs hold for whole answers: of one that was stopped its words are told, and no provider refuses those.
        words: list[Block] = [TextBlock(text=said.text)] if said.text else []
        return [*words, *(_image(said.id, part) for part in said.data.content)]
    blocks = _as_stood(said, group) if said is not None else None
    if blocks is None:
        blocks = _by_items(group)
    # Thinking alone is no answer, and no provider takes it back as one.
    return blocks if any(not isinstance(block, ThinkingBlock) for block in blocks) else []


def _as_stood(said: Response, group: Sequence[Item]) -> list[Block] | None:
    """Return the pieces of an answer as `answer_order` noted them; None where it did not, or they do not fit."""
    order = said.data.order
    if order is None:
        return None
    pieces = _Pieces(said, group)
    try:
        blocks = [block for piece in order for block in pieces.take(piece)]
    except (IndexError, KeyError):
        return None
    return blocks if pieces.are_used_up else None


class _Pieces:
    """What an answer's order is about: its items, and the text and the parts of the one that has it."""

    def __init__(self, said: Response, group: Sequence[Item]) -> None:
        self._said = said
        self._thoughts = deque(item for item in group if is_a(item, ThinkingData))
        self._calls = deque(item for item in group if is_a(item, CallData))
        self._natives = deque(said.data.native)
        self._told = 0

    def take(self, piece: Any) -> list[Block]:
        """Return the blocks that a piece stands for."""
        match piece:
            case int(size) if size < 0:
                self._told -= size
                return []
            case int(size):
                return [self._text(size, None)]
            case {"text": int(size), "opaque": opaque}:
                return [self._text(size, opaque)]
            case {"picture": int()}:
                return _made(self._said, piece)
            case "thinking":
                return _thinking_blocks(self._thoughts.popleft())
            case "call":
                return [_call(self._calls.popleft())]
            case "native":
                return [NativeBlock(raw=self._natives.popleft())]
            case _:
                return []

    def _text(self, size: int, opaque: JsonObject | None) -> TextBlock:
        begin, self._told = self._told, self._told + size
        return TextBlock(text=self._said.text[begin : self._told], opaque=opaque)

    @property
    def are_used_up(self) -> bool:
        """Return whether every piece had its place."""
        return not (self._thoughts or self._calls or self._natives) and self._told == len(self._said.text)


def _made(said: Response, piece: JsonObject) -> list[Block]:
    """Return a picture that the model made; what turned out to be none is for people only."""
    part = said.data.content[piece["picture"]]
    return [_image(said.id, part, piece.get("opaque"))] if part.kind == "image" else []


def _by_items(group: Sequence[Item]) -> list[Block]:
    blocks: list[Block] = []
    for item in group:
        if is_a(item, ThinkingData):
            blocks += _thinking_blocks(item)
        elif is_a(item, CallData):
            blocks.append(_call(item))
        elif is_a(item, ResponseData):
            blocks += [TextBlock(text=item.text)] if item.text else []
            blocks += [NativeBlock(raw=raw) for raw in item.data.native]
            blocks += [_image(item.id, part) for part in item.data.content]
    return blocks


def _told_to_go_on(group: Sequence[Item]) -> list[Block]:
    """Return what the model is told after an answer that was cut and goes on; one that was paused just goes on."""
    response = next((item for item in reversed(group) if is_a(item, ResponseData)), None)
    if response is None or not response.data.go_on or response.data.stop == "pause":
        return []
    return [TextBlock(text=_GO_ON if response.text else _GO_ON_UNSAID)]


def _thinking_blocks(item: ItemOf[ThinkingData]) -> list[Block]:
    if not item.data.opaque:
        return [ThinkingBlock(text=item.text)] if item.text else []
    first, *others = item.data.opaque
    return [ThinkingBlock(text=item.text, opaque=first), *(ThinkingBlock(text="", opaque=more) for more in others)]


def _call(item: Call) -> CallBlock:
    data = item.data
    # A provider takes back only objects; the raw text stays visible in the timeline.
    asked = data.arguments if data.asked_arguments is None else data.asked_arguments
    arguments = {"name": data.by_name, "arguments": asked or {}} if data.by_name else asked or {}
    return CallBlock(id=data.call_id, name=_called(data), arguments=arguments, opaque=data.opaque)


def _called(data: CallData) -> str:
    """Return the tool that the model called, be it by which it called another."""
    return CALL if data.by_name else data.tool


def _result(item: Call, can_read: bool) -> ResultBlock:
    data = item.data
    return ResultBlock(
        id=data.call_id,
        name=_called(data),
        text=result_text(item, can_read=can_read),
        is_error=item.status != "completed",
        media=tuple(_media(item)),
    )


def result_text(item: Call, *, can_read: bool) -> str:
    """Return a call's result in the words that the model gets."""
    data = item.data
    text = item.text or (data.error.message if data.error else _NO_OUTPUT)
    if place := kept_place(item, can_read=can_read):
        text = f"{kept_note(place, f'{_kept_beyond(item):,} bytes')}\n{text}"
    if data.asked_arguments is not None:
        # The model's own words stay what they were; what became of them is told with the result.
        text = f"{_CHANGED} {encode_text(data.arguments)}\n\n{text}"
    return text


def kept_place(item: Call, *, can_read: bool) -> str:
    """Return by what the rest of a result is read that was cut for another model; nothing where there is none."""
    return f"r{item.position}" if can_read and not item.data.kept_as and _kept_beyond(item) else ""


def _kept_beyond(item: Call) -> int:
    """Return how long the text is that was kept of a result, where it is more than the item has; else 0."""
    texts = (part.bytes for part in item.data.content if part.digest and part.kind in _TEXTS)
    longest = max(texts, default=0)
    return longest if longest > len(item.text.encode()) else 0


def _media(item: Call) -> Iterator[Media]:
    """Return the pictures and sounds of a result; its text says where they stand in it."""
    for part in item.data.content:
        if part.kind in _MEDIA and part.media_type.startswith(("image/", "audio/")):
            name = part.name or part.uri
            yield Media(item_id=item.id, index=part.index, media_type=part.media_type, size=part.bytes, name=name)


def size(messages: Sequence[Message]) -> int:
    """Return roughly how many characters a model will read."""
    return sum(length(block) for message in messages for block in message.content)


def length(block: Block) -> int:
    """Return roughly how many characters a model will read of a block."""
    match block:
        case TextBlock() | ThinkingBlock():
            return len(block.text)
        case ResultBlock():
            return len(block.text) + sum(map(media_length, block.media))
        case ImageBlock():
            return limits.IMAGE_CHARS
        case CallBlock():
            return len(msgspec.json.encode(block.arguments))
        case NativeBlock():
            return len(msgspec.json.encode(block.raw))


def media_length(media: Media) -> int:
    """Return how many characters of text a picture or a sound counts as; nothing where it is not shown."""
    if not media.data:
        return 0
    return limits.IMAGE_CHARS if media.is_image else int(media.size * limits.SOUND_CHARS_PER_BYTE)
