"""Pictures that models make: as gateways send them, and as they go back where only people may show pictures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import quote

from pilothouse.models.answer import Answer
from pilothouse.types import limits
from pilothouse.types.messages import Block, ImageBlock, Message, ResultBlock, TextBlock, ThinkingBlock
from pilothouse.types.stream import Notice, PictureDelta

# How a model's own pictures are introduced where it gets them as if the person had shown them.
_MADE = "What you made in your last answer:"
_ONLY = "[a picture]"
# What an address may have in it that Markdown would not take for the end of the link.
_IN_LINKS = "%/:?#[]@!$&'*+,;=-._~"
_UNREADABLE = "The model gave a picture at an address that cannot be shown, so it was left out."


def add_picture(answer: Answer, url: str) -> None:
    """Add a picture by its address: the picture where the address holds it, else a link, which nobody follows here."""
    if url.startswith("data:"):
        head, _, data = url.removeprefix("data:").partition(",")
        media_type, _, form = head.partition(";")
        # Written out in letters it is a drawing, and no picture.
        answer.add(PictureDelta(media_type, data if form.endswith("base64") else ""))
    elif url.startswith(("https://", "http://")) and len(url) <= limits.SOURCE_CHARS:
        answer.text(f"\n\n[A picture]({quote(url, safe=_IN_LINKS)})\n\n")
    else:
        answer.add(Notice("picture_left_out", _UNREADABLE))


def pictures_aside(
    messages: Sequence[Message], stays: Callable[[ImageBlock], bool] = lambda _: False
) -> Sequence[Message]:
    """Return messages in which pictures that a model made stand, introduced, with what the person said next.

    For wires that take pictures from the person only; `stays` says which ones of them may stand where they were.
    """
    out: list[Message] = []
    carried: list[Block] = []
    for message in messages:
        if message.role == "assistant":
            made = [block for block in message.content if isinstance(block, ImageBlock) and not stays(block)]
            carried += [TextBlock(text=_MADE), *made] if made else []
            out.append(_without(message, made) if made else message)
        else:
            results = [block for block in message.content if isinstance(block, ResultBlock)] if carried else []
            others = [block for block in message.content if not isinstance(block, ResultBlock)]
            out.append(Message("user", (*results, *carried, *others)) if carried else message)
            carried = []
    return out


def _without(message: Message, pictures: Sequence[Block]) -> Message:
    """Return an answer without pictures; one that was nothing else says so, as no provider takes an empty one."""
    left = [block for block in message.content if all(block is not picture for picture in pictures)]
    if all(isinstance(block, ThinkingBlock) for block in left):
        left.append(TextBlock(text=_ONLY))
    return Message(message.role, tuple(left))
