"""How a result enters a conversation: whole, or less of it with its id and what it is, so that the rest can be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from pilothouse.types import limits
from pilothouse.types.gaps import not_kept
from pilothouse.types.item_data import CallData
from pilothouse.types.items import patch
from pilothouse.types.ports import Part, ToolOutput

_KEPT = (Path(__file__).parent / "kept.md").read_text().strip()
# Of a result of many texts, so many are told one by one.
_TOLD_PARTS = 8


class Entrance(msgspec.Struct, frozen=True):
    """What decides how a result enters."""

    # Up to so many characters it does so whole.
    room: int = limits.RESULT_CHARS
    # What the model reads the rest by; empty for a model that cannot, which gets as much as there is room for.
    id: str = ""
    # Of a larger one that can be read again, so many.
    excerpt: int = limits.RESULT_EXCERPT_CHARS


class Entered(msgspec.Struct, frozen=True):
    """A result as it enters; where that is less than there is, all of its text, and what the model is told of that."""

    output: ToolOutput
    whole: str = ""
    note: str = ""


def kept_note(result_id: str, about: str) -> str:
    """Return what a model is told of a result that it has not all of."""
    return _KEPT.format(id=result_id, about=about)


def texts_of(parts: Sequence[Part]) -> list[tuple[int, str]]:
    """Return the texts of a result, each with the place of its part."""
    return [(index, part.text) for index, part in enumerate(parts) if part.text]


def hold_more(texts: Sequence[tuple[int, str]], told: str) -> bool:
    """Return whether there is more text than the model was told: a tool may have shortened it itself."""
    return any(len(text) > len(told) for _, text in texts)


def longest(texts: Sequence[tuple[int, str]]) -> str:
    """Return the text that is read when none is named."""
    return max((text for _, text in texts), key=len, default="")


def joined(texts: Sequence[tuple[int, str]]) -> str:
    """Return all of them as one."""
    return texts[0][1] if len(texts) == 1 else "\n\n".join(text for _, text in texts)


def announced(
    output: ToolOutput, result_id: str, texts: Sequence[tuple[int, str]], shape: str, *, is_cut: bool
) -> Entered:
    """Return a result with a line about what it is, and how the rest of it is read; or that not all was kept."""
    size = f"{len(longest(texts)):,} characters"
    about = f"{size}, {shape}" if shape else size
    if len(texts) > 1:
        more = ", …" if len(texts) > _TOLD_PARTS else ""
        each = ", ".join(f"{index}: {len(text):,}" for index, text in texts[:_TOLD_PARTS])
        about += f"; the longest of {len(texts)} texts, characters by part {each}{more}"
    if is_cut:
        about += f"; {not_kept(longest(texts))}"
    note = kept_note(result_id, about)
    data = output.data | patch(CallData, kept_as=result_id)
    entered = msgspec.structs.replace(output, text=f"{note}\n{output.text}", data=data)
    return Entered(entered, joined(texts), note)
