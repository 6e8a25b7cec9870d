"""What gateways want back with an answer: signed thinking and fields of their own, joined from their pieces.

Chat completions have no place for a model's proofs, so each gateway has found one: OpenRouter in `reasoning_details`,
litellm in `thinking_blocks` and `provider_specific_fields`, Google in `extra_content`, Copilot in `reasoning_opaque`.
They belong to the address and the family of models they came from. Another one would refuse them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pilothouse.models.wire import merged
from pilothouse.models.wire_table import CHAT
from pilothouse.types import limits
from pilothouse.types.json import JsonObject

# What of a whole message goes back as it came.
PROOFS = (
    "reasoning_details",
    "thinking_blocks",
    "reasoning_opaque",
    "reasoning_signature",
    "extra_content",
    "provider_specific_fields",
)
# Where Mistral puts thinking: among the parts of the content.
IN_CONTENT = "content"
# Details and blocks hold the words that they prove.
WORDED = frozenset({"reasoning_details", "thinking_blocks"})
# What is known of a call; the rest is the gateway's own.
_CALL = frozenset({"index", "id", "type", "function"})
_FUNCTION = frozenset({"name", "arguments"})
# Of these formats the words go back only with their signature.
_SIGNED = ("anthropic-claude-v1", "google-gemini-v1")
# What of a detail comes in pieces; everything else comes whole.
_SPREAD = ("text", "summary")

Piece = tuple[str, object]


class Proofs:
    """The proofs of one answer while it arrives."""

    def __init__(self) -> None:
        self._pieces: list[Piece] = []
        self._size = 0

    def take(self, name: str, value: object, size: int) -> None:
        """Take a piece that came in a chunk of this size; a server that never ends is not listened to for ever."""
        self._size += size
        if value and self._size <= limits.PROOF_BYTES:
            self._pieces.append((name, value))

    def rest(self) -> JsonObject:
        """Return the fields that came since this was asked last."""
        fields = joined(self._pieces)
        self._pieces.clear()
        return fields


def marked(home: str, **kept: object) -> JsonObject | None:
    """Return what is kept with a part of an answer, with the mark of its home; None when there is nothing to keep."""
    given = {name: value for name, value in kept.items() if value}
    return {"wire": CHAT, "home": home, **given} if given else None


def own(opaque: JsonObject | None, home: str) -> JsonObject:
    """Return what was kept if it came from here."""
    return opaque if opaque and opaque.get("wire") == CHAT and opaque.get("home") == home else {}


def words_field(opaque: JsonObject | None, home: str) -> str:
    """Return the name under which thinking in words goes back, on this wire; empty where it cannot.

    Words that had a proof go nowhere without it: a gateway would take them for forged.
    """
    if not opaque or opaque.get("wire", CHAT) != CHAT:
        return ""
    field, message = str(opaque.get("field") or ""), opaque.get("message") or {}
    is_bound = bool(message) or field == IN_CONTENT
    return "" if message.keys() & WORDED or (is_bound and not own(opaque, home)) else field


def fields_of_call(call: Mapping[str, object]) -> JsonObject:
    """Return what a gateway added to a call, to be kept with it."""
    function = call.get("function")
    kept: JsonObject = {}
    if extra := {name: value for name, value in call.items() if name not in _CALL and value is not None}:
        kept["call"] = extra
    if isinstance(function, dict) and (
        extra := {name: value for name, value in function.items() if name not in _FUNCTION and value is not None}
    ):
        kept["function"] = extra
    return kept


def returned(kept: Iterable[JsonObject]) -> JsonObject:
    """Return the fields that go back with a message: all that was kept of it, without words that lost their proof."""
    fields = joined((name, value) for opaque in kept for name, value in (opaque.get("message") or {}).items())
    for name, unsigned in (("reasoning_details", _lost_its_signature), ("thinking_blocks", _is_unsigned)):
        if name in fields:
            fields[name] = [each for each in fields[name] if not unsigned(each)]
    return {name: value for name, value in fields.items() if value}


def words_of(details: object) -> str:
    """Return what of a piece's details is to be read."""
    if not isinstance(details, list):
        return ""
    return "".join(str(each.get("text") or each.get("summary") or "") for each in details if isinstance(each, dict))


def joined(pieces: Iterable[Piece]) -> JsonObject:
    """Return whole fields of their pieces, in order."""
    out: JsonObject = {}
    lists: dict[str, list[JsonObject]] = {}
    for name, value in pieces:
        if isinstance(value, list):
            lists.setdefault(name, []).extend(each for each in value if isinstance(each, dict))
        elif isinstance(value, dict) and name not in WORDED:
            known = out.get(name)
            out[name] = merged(known if isinstance(known, dict) else {}, value)
        elif isinstance(value, str) and name not in WORDED:
            out[name] = value
    if details := lists.pop("reasoning_details", None):
        out["reasoning_details"] = _details(details)
    if blocks := lists.pop("thinking_blocks", None):
        out["thinking_blocks"] = _blocks(blocks)
        if isinstance(fields := out.get("provider_specific_fields"), dict):
            # The same pieces once more.
            fields.pop("thinking_blocks", None)
    return {**out, **lists}


def _details(pieces: list[JsonObject]) -> list[JsonObject]:
    """Join the pieces of one kind and index: text and encrypted details may share an index."""
    whole: list[JsonObject] = []
    open_: dict[tuple[str, str], JsonObject] = {}
    for piece in pieces:
        key = (str(piece.get("type")), str(piece.get("index")))
        known = open_.get(key)
        if known is None or not _continues(known, piece, is_last=known is whole[-1]):
            known = open_[key] = {}
            whole.append(known)
        _add(known, piece)
    return [{name: _closed(value) for name, value in each.items()} for each in whole]


def _continues(known: JsonObject, piece: JsonObject, *, is_last: bool) -> bool:
    if "data" in piece:
        same = known.get("id") == piece.get("id")
        return same and (piece.get("id") is not None or known.get("data") == piece["data"])
    ids = known.get("id"), piece.get("id")
    return (piece.get("index") is not None or is_last) and (None in ids or ids[0] == ids[1])


def _blocks(pieces: list[JsonObject]) -> list[JsonObject]:
    """Join thinking up to its signature; what is redacted comes whole."""
    whole: list[JsonObject] = []
    for piece in pieces:
        last = whole[-1] if whole else {}
        if piece.get("type") != "thinking" or last.get("type") != "thinking" or last.get("signature"):
            whole.append({})
        _add(whole[-1], piece, spread=("thinking",))
    return [{name: _closed(value) for name, value in each.items()} for each in whole]


def _add(known: JsonObject, piece: JsonObject, spread: tuple[str, ...] = _SPREAD) -> None:
    for name, value in piece.items():
        if name in spread and isinstance(value, str):
            if not isinstance(known.get(name), _Pieces):
                known[name] = _Pieces()
            known[name].append(value)
        elif value is not None or name not in known:
            known[name] = value


class _Pieces(list[str]):
    """Text that is still being joined."""


def _closed(value: object) -> object:
    return "".join(value) if isinstance(value, _Pieces) else value


def _lost_its_signature(detail: JsonObject) -> bool:
    signed = detail.get("type") == "reasoning.text" and detail.get("format") in _SIGNED
    return signed and not detail.get("signature")


def _is_unsigned(block: JsonObject) -> bool:
    return block.get("type") == "thinking" and not block.get("signature")
