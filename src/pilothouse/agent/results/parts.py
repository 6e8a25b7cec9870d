"""The pieces of a result: recognised by what they are, bounded, and described for the timeline."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from pilothouse.agent.results.masking import Masking
from pilothouse.types import limits
from pilothouse.types.invisible import without_escapes
from pilothouse.types.media import OPAQUE, picture_type, sound_type
from pilothouse.types.ports import Part


class Kept(msgspec.Struct, frozen=True):
    """The pieces as they are kept; `cut` says that the whole result is more."""

    parts: tuple[Part, ...]
    cut: bool = False


def of_text(text: str, *, is_cut: bool) -> tuple[Part, ...]:
    """Return a plain text as its one piece, where it is more than the timeline takes."""
    return (Part(kind="text", text=text),) if is_cut else ()


def kept(parts: Sequence[Part], masking: Masking) -> Kept:
    """Return the pieces masked and within their bounds."""
    room, parts, cut = limits.RESULT_KEPT, *_gathered(parts)
    made: list[Part] = []
    for part in parts:
        one, left_out = _file(part, room, masking) if part.data else _text(part, room, masking)
        room -= len(one.data) or len(one.text)
        cut = cut or left_out
        made.append(one)
    return Kept(tuple(made), cut)


def _gathered(parts: Sequence[Part]) -> tuple[Sequence[Part], bool]:
    """Return so many pieces as are kept, the words of those beyond in the last; and whether anything is lost so."""
    most = limits.RESULT_PARTS
    if len(parts) <= most:
        return parts, False
    rest = parts[most - 1 :]
    words = "\n\n".join(said for part in rest if (said := part.text or part.uri))
    lost = any(part.data or (part.text and part.uri) for part in rest)
    return [*parts[: most - 1], Part(kind="text", text=words)], lost


def _text(part: Part, room: int, masking: Masking) -> tuple[Part, bool]:
    text = masking.text(part.text, max(room, 0), without_escapes)
    return msgspec.structs.replace(_labelled(part, masking), text=text.text), text.cut


def _file(part: Part, room: int, masking: Masking) -> tuple[Part, bool]:
    labelled = _labelled(part, masking)
    if len(part.data) > room:
        note = f"A file of {len(part.data):,} bytes was left out: it is too large."
        return msgspec.structs.replace(labelled, kind="text", text=note, data=b"", media_type=""), True
    media_type = _recognised(part)
    kind = "resource" if part.kind == "image" and media_type == OPAQUE else part.kind
    return msgspec.structs.replace(labelled, kind=kind, media_type=media_type, data=masking.bytes(part.data)), False


def _labelled(part: Part, masking: Masking) -> Part:
    """Return the piece with its labels masked and of a sensible length."""
    labels = {
        name: masking.text(getattr(part, name), limits.RESULT_LABEL_CHARS, without_escapes).text
        for name in ("media_type", "name", "uri")
    }
    return msgspec.structs.replace(part, **labels)


def _recognised(part: Part) -> str:
    """Return what the bytes are; what is said about them only tells where to look."""
    heard = part.kind == "audio" or part.media_type.startswith("audio/")
    return sound_type(part.data) if heard else picture_type(part.data)


def is_in_timeline(kept: Kept, text: str) -> bool:
    """Return whether the item itself holds everything: short pieces, or one text that the model got whole."""
    if any(part.data for part in kept.parts):
        return False
    if len(kept.parts) == 1 and kept.parts[0].text == text:
        return True
    return all(len(part.text) <= limits.RESULT_INLINE_CHARS for part in kept.parts)
