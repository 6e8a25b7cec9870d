"""What one provider's model did with that provider's own tools, told to the model of another as words and links.

A block of a provider's own kind goes back only to that provider. Another is told what was asked and what was found,
as far as there are words for it: queries, code and what it gave, pages by their titles and addresses.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator

import msgspec

from pilothouse.models.signature_owners import is_elsewhere
from pilothouse.models.wire_table import CHAT, wire_name
from pilothouse.types import limits
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import (
    Block,
    CallBlock,
    ImageBlock,
    Message,
    ModelRequest,
    NativeBlock,
    TextBlock,
    ThinkingBlock,
)
from pilothouse.types.models import Provider
from pilothouse.types.stream import Notice

# Whose blocks those understand that have no wire; a plugin knows its own.
_WITHOUT: dict[Provider, str | None] = {
    "embedded": CHAT,
    "scripted": "",
    "plugin": None,
}
_NOTICE = Notice(
    "translated",
    "Earlier in this conversation a model used tools of its own provider. This model is told what they were asked and "
    "what they found, as words and links; what only that provider can read is left out.",
)
NOT_TAKEN_BACK = Notice(
    "not_taken_back",
    "The provider did not take back what it had given in this conversation (thinking, searches, citations), as after a "
    "change of the key. The model is told it as words and links.",
)
_UNSAID = "(This answer is in a form that only its provider reads.)"
_ASKED = ("query", "queries")
_RUN = ("code", "command")
_GIVEN = ("stdout", "stderr", "output", "logs", "text")
_NO_LINK = str.maketrans("[]", "()")
_NOTHING = TextBlock(text="")


def keeps_proofs(provider: Provider) -> bool:
    """Return whether what a provider wants back gets a mark of its home; chat completions have one of their own."""
    return _WITHOUT.get(provider, wire_name(provider)) not in (None, "", CHAT)


def translated(request: ModelRequest, provider: Provider, home: str = "") -> tuple[ModelRequest, Notice | None]:
    """Return the request in words that a model of this provider understands, and what the person is told of that."""
    wire = _WITHOUT.get(provider, wire_name(provider))
    if wire is None:
        return request, None
    # Calls by text leave no place for blocks of any kind.
    wire = wire if request.call_style == "native" else ""
    blocks = [block for message in request.messages for block in message.content if _is_foreign(block, wire, home)]
    if not blocks:
        return request, None
    messages = tuple(_message(message, wire, home) for message in request.messages)
    is_told = any(isinstance(block, NativeBlock) for block in blocks)
    return msgspec.structs.replace(request, messages=messages), _NOTICE if is_told else None


def in_words(request: ModelRequest, only: Container[bytes] | None = None) -> ModelRequest | None:
    """Return a request without what a provider had given, for one that takes it back no more; None where there is none.

    A key of another account is enough: what was sealed for one cannot be read for the other. `only` are the digests of
    what is not taken, where that is not all of it.
    """

    def is_left_out(block: Block) -> bool:
        given = _given_with(block)
        return given is not None and (only is None or _digest(given) in only)

    messages = tuple(_worded(message, is_left_out) for message in request.messages)
    return msgspec.structs.replace(request, messages=messages) if messages != request.messages else None


def proofs_of(request: ModelRequest) -> set[bytes]:
    """Return the digests of all that providers had given with the answers in a request."""
    blocks = (block for message in request.messages for block in message.content)
    return {_digest(given) for block in blocks if (given := _given_with(block)) is not None}


def _given_with(block: Block) -> JsonObject | None:
    match block:
        case NativeBlock():
            return block.raw
        case TextBlock() | ThinkingBlock() | CallBlock() | ImageBlock():
            return block.opaque
        case _:
            return None


def _digest(given: JsonObject) -> bytes:
    return hashlib.blake2b(msgspec.json.encode(given, order="sorted"), digest_size=12).digest()


def _unproven(block: Block) -> Block:
    if isinstance(block, ThinkingBlock | CallBlock | ImageBlock) and block.opaque is not None:
        return msgspec.structs.replace(block, opaque=None)
    return block


def _is_foreign(block: Block, wire: str, home: str) -> bool:
    match block:
        case NativeBlock():
            return block.raw.get("wire") != wire or is_elsewhere(block.raw, home)
        case TextBlock():
            return block.opaque is not None and (block.opaque.get("wire") != wire or is_elsewhere(block.opaque, home))
        case ThinkingBlock() | CallBlock() | ImageBlock():
            # Those of other wires are left out where requests are written.
            return block.opaque is not None and is_elsewhere(block.opaque, home)
        case _:
            return False


def _message(message: Message, wire: str, home: str = "") -> Message:
    return _worded(message, lambda block: _is_foreign(block, wire, home))


def _worded(message: Message, is_left_out: Callable[[Block], bool]) -> Message:
    """Return a message in which some blocks are words, or nothing."""
    left_out = [is_left_out(block) for block in message.content]
    if not any(left_out):
        return message
    content = [_block(block) if out else block for block, out in zip(message.content, left_out, strict=True)]
    said = [block for block in content if block != _NOTHING]
    if all(isinstance(block, ThinkingBlock) for block in said):
        said.append(TextBlock(text=_UNSAID))
    return Message(message.role, tuple(said))


def _block(block: Block) -> Block:
    match block:
        case NativeBlock():
            return TextBlock(text=_in_words(block.raw.get("block")))
        case TextBlock():
            links = ", ".join(_links(block.opaque))
            return TextBlock(text=f"{block.text} ({links})" if links else block.text)
        case _:
            return _unproven(block)


def _in_words(block: object) -> str:
    """Return what a provider's own block says that people can read, as a paragraph by itself."""
    asked, run, given = (list(_texts(block, names)) for names in (_ASKED, _RUN, _GIVEN))
    lines = [f"Searched for: {'; '.join(asked)}"] if asked else []
    lines += [f"Ran:\n```\n{code}\n```" for code in run]
    lines += [f"It gave:\n```\n{text}\n```" for text in given]
    if links := list(_links(block)):
        lines.append(f"Found: {', '.join(links)}")
    text = "\n".join(lines)
    if len(text) > limits.TRANSLATED_CHARS:
        text = text[: limits.TRANSLATED_CHARS] + " […]"
    return f"\n\n{text}\n\n" if text else ""


def _texts(value: object, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the texts that stand under one of some names, each once."""
    found = dict.fromkeys(
        text.strip()
        for holder in _objects(value)
        for name in names
        for text in _listed(holder.get(name))
        if isinstance(text, str) and text.strip()
    )
    yield from found


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _links(value: object) -> Iterator[str]:
    """Yield the pages that a value names, each once, in the way of a link."""
    pages: dict[str, str] = {}
    for holder in _objects(value):
        url, title = holder.get("url"), holder.get("title")
        if isinstance(url, str) and url.startswith(("https://", "http://")) and len(url) <= limits.SOURCE_CHARS:
            pages.setdefault(url, " ".join(str(title or "").split())[: limits.TRANSLATED_TITLE_CHARS])
    for url, title in list(pages.items())[: limits.ANSWER_SOURCES]:
        yield f"[{title.translate(_NO_LINK)}]({url})" if title else url


def _objects(value: object, depth: int = 0) -> Iterator[JsonObject]:
    """Yield every object inside a value."""
    if depth > limits.TRANSLATED_DEPTH:
        return
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _objects(each, depth + 1)
