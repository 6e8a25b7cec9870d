"""From timeline to what a model reads: one pure function.

The same items always give the same messages, every call stands with its result, no turn is empty, and
more items only ever add to the end, so that a provider's cache of the beginning stays good.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Literal

import msgspec

from pilothouse.types import limits
from pilothouse.types.items import CLOSED, Item
from pilothouse.types.json import JsonObject
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

_SUMMARY_INTRODUCTION = (Path(__file__).parent / "summary_introduction.md").read_text()
_NO_OUTPUT = "(no output)"
Role = Literal["user", "assistant"]
# What the model is told as the person's words: each is a block of its own, whatever its text pretends to be.
_TOLD = ("user_message", "reminder")
# The kinds of pieces of a result that may be a picture or a sound.
_MEDIA = ("image", "audio", "resource")


def history(items: Sequence[Item]) -> tuple[Message, ...]:
    """Return the conversation as messages."""
    messages: list[tuple[Role, list[Block]]] = []
    summary, kept = _since_compaction(_in_order(items))
    if summary is not None:
        _add(messages, "user", [TextBlock(text=_SUMMARY_INTRODUCTION + summary.text)])
    for group in _turns(kept):
        first = group[0]
        if first.kind in _TOLD:
            _add(messages, "user", _user_blocks(first))
        else:
            _add(messages, "assistant", _assistant_blocks(group))
            _add(messages, "user", [_result(item) for item in group if item.kind == "tool_call"])
    return tuple(Message(role=role, content=tuple(blocks)) for role, blocks in messages)


def until_message(items: Sequence[Item], run_id: str) -> list[Item]:
    """Return the items without messages after the run's own, and after all answered ones, that nobody has begun."""
    answered = {item.run_id for item in items if item.kind != "user_message"} | {run_id}
    newest = max(
        (item.position for item in items if item.kind == "user_message" and item.run_id in answered), default=0
    )
    return [item for item in items if item.kind != "user_message" or item.position <= newest]


def reminded(items: Sequence[Item]) -> list[Item]:
    """Return the reminders by name that the model is told, in order; others were for their moment."""
    told = _since_compaction(_in_order(items))[1]
    return [item for item in told if item.kind == "reminder" and _name(item)]


def _in_order(items: Sequence[Item]) -> list[Item]:
    """Return the items with each message where it was answered: one sent meanwhile comes after the answer before it.

    A message whose answer went on after later ones stays where those who answered them have read it.
    """
    standing = [item for item in items if not _stands_before(item)]
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
        if item.kind == "reminder" and not _name(item):
            late[item.run_id] = newest
        if item.run_id not in late:
            begun.setdefault(item.run_id, item.position)
            newest = max(newest, sent.get(item.run_id, 0))
        answers.append((late.get(item.run_id, sent.get(item.run_id, 0)), item.position))
    return begun, sorted(answers)


def _name(item: Item) -> str:
    """Return the name of a reminder that is said again whenever it changes; others are for their moment."""
    return str(item.data.get("name") or "")


def left_behind(items: Sequence[Item], run_id: str) -> bool:
    """Return whether a later message was answered since a run last said something, or was told to."""
    sent = _sent(items)
    mine = max((item.position for item in items if item.run_id == run_id and _belongs(item)), default=0)
    others = (item for item in items if item.position > mine and item.kind not in _TOLD and _belongs(item))
    return any(sent.get(item.run_id, 0) > sent.get(run_id, 0) for item in others)


def _with_reminders(ordered: Sequence[Item], items: Sequence[Item]) -> list[Item]:
    """Return the items with the reminders of each message right before it."""
    before: dict[str, list[Item]] = {}
    for item in items:
        if message := _stands_before(item):
            before.setdefault(message, []).append(item)
    return [each for item in ordered for each in (*before.get(item.id, ()), item)]


def _stands_before(item: Item) -> str:
    """Return the id of the message that a reminder stands right before; empty for whatever stands by itself."""
    return str(item.data.get("before") or "") if item.kind == "reminder" else ""


def _since_compaction(items: Sequence[Item]) -> tuple[Item | None, list[Item]]:
    done = [item for item in items if item.kind == "compaction" and item.status == "completed"]
    if not done:
        return None, [item for item in items if _belongs(item)]
    newest = done[-1]
    start = int(newest.data["keepFrom"])
    kept = [item for item in items if item.position >= start and _belongs(item)]
    there = {item.id for item in kept}
    return newest, [item for item in kept if (_stands_before(item) or item.id) in there]


def _belongs(item: Item) -> bool:
    if item.kind in _TOLD:
        return True
    if item.kind not in ("response", "thinking", "tool_call"):
        return False
    # What an attempt left behind when it broke off is for people to see; the next attempt says it anew.
    return item.status in CLOSED and not item.data.get("cutOff")


def _turns(items: Iterable[Item]) -> list[list[Item]]:
    groups: list[list[Item]] = []
    for item in items:
        same = groups and item.kind not in _TOLD and _turn(groups[-1][-1]) == _turn(item)
        if same:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def _turn(item: Item) -> tuple[str | None, object]:
    return (item.run_id, None if item.kind in _TOLD else item.data.get("turn"))


def _add(messages: list[tuple[Role, list[Block]]], role: Role, blocks: Sequence[Block]) -> None:
    if blocks and messages and messages[-1][0] == role:
        messages[-1][1].extend(blocks)
    elif blocks:
        messages.append((role, [*blocks]))


def _user_blocks(item: Item) -> list[Block]:
    images = [_image(item.id, part) for part in item.data.get("content") or () if part.get("kind") == "image"]
    text = [TextBlock(text=item.text)] if item.text else []
    return [*images, *text]


def _image(item_id: str, part: JsonObject) -> ImageBlock:
    media_type, name = part["mediaType"], str(part.get("name") or "")
    return ImageBlock(media_type=media_type, item_id=item_id, index=part["index"], size=part["bytes"], name=name)


def _assistant_blocks(group: Sequence[Item]) -> list[Block]:
    """Return what the model thought, said and asked for, in the order in which it did."""
    blocks: list[Block] = []
    for item in group:
        if item.kind == "thinking":
            blocks += _thinking_blocks(item)
        elif item.kind == "tool_call":
            blocks.append(_call(item))
        else:
            blocks += [TextBlock(text=item.text)] if item.text else []
            blocks += [NativeBlock(raw=raw) for raw in item.data.get("native", ())]
    # Thinking alone is no answer, and no provider takes it back as one.
    return blocks if any(not isinstance(block, ThinkingBlock) for block in blocks) else []


def _thinking_blocks(item: Item) -> list[Block]:
    opaque = item.data.get("opaque") or []
    if not opaque:
        return [ThinkingBlock(text=item.text)] if item.text else []
    first, *others = opaque
    return [ThinkingBlock(text=item.text, opaque=first), *(ThinkingBlock(text="", opaque=more) for more in others)]


def _call(item: Item) -> CallBlock:
    data = item.data
    arguments = data.get("arguments")
    return CallBlock(
        id=data["callId"],
        name=data["tool"],
        # A provider takes back only objects; the raw text stays visible in the timeline.
        arguments=arguments if isinstance(arguments, dict) else {},
        opaque=data.get("opaque"),
    )


def _result(item: Item) -> ResultBlock:
    error = item.data.get("error")
    text = item.text or (error["message"] if error else _NO_OUTPUT)
    return ResultBlock(
        id=item.data["callId"],
        name=item.data["tool"],
        text=text,
        is_error=item.status != "completed",
        media=tuple(_media(item)),
    )


def _media(item: Item) -> Iterator[Media]:
    """Return the pictures and sounds of a result; its text says where they stand in it."""
    for part in item.data.get("content") or ():
        kind = str(part.get("mediaType") or "")
        if part.get("kind") in _MEDIA and kind.startswith(("image/", "audio/")):
            name = str(part.get("name") or part.get("uri") or "")
            yield Media(item_id=item.id, index=part["index"], media_type=kind, size=part["bytes"], name=name)


def size(messages: Sequence[Message]) -> int:
    """Return roughly how many characters a model will read."""
    return sum(_length(block) for message in messages for block in message.content)


def _length(block: Block) -> int:
    match block:
        case TextBlock() | ThinkingBlock():
            return len(block.text)
        case ResultBlock():
            return len(block.text) + sum(_media_length(media) for media in block.media)
        case ImageBlock():
            return limits.IMAGE_CHARS
        case CallBlock():
            return len(msgspec.json.encode(block.arguments))
        case NativeBlock():
            return len(msgspec.json.encode(block.raw))


def _media_length(media: Media) -> int:
    if not media.data:
        return 0
    return limits.IMAGE_CHARS if media.is_image else int(media.size * limits.SOUND_CHARS_PER_BYTE)
