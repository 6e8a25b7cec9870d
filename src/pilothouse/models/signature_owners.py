"""Whose a proof is: whoever gave it can read it, and nobody else gets it.

Many providers speak one wire. A signature, a sealed thought or a search's result of one is refused by the next, or is
none of its business; so each is kept with a mark of its home, and goes back there only.
"""

from __future__ import annotations

import hashlib
import re

import msgspec

from pilothouse.models.provider_table import row_of
from pilothouse.models.providers import address_of
from pilothouse.models.wire import split
from pilothouse.models.wire_table import CHAT
from pilothouse.types.json import JsonObject
from pilothouse.types.models import ModelConfig
from pilothouse.types.stream import CallEnd, NativeDelta, PictureDelta, StreamEvent, TextEnd, ThinkingDelta

_FAMILY = re.compile(r"[a-z]+")
# What an address may end with, or not, and still be the same.
_TAIL = re.compile(r"v\d\w*|messages|responses|")
# Anthropic, Amazon and Google take each other's proofs of this family, and say so.
_CLAUDE = "claude"


def home_of(url: str, model: str) -> str:
    """Return a mark of who gave a proof: an address and a family of models, as a digest for it may hold a token."""
    parts = split(url)
    family = _FAMILY.search(model.lower().rpartition("/")[2])
    where = f"{parts.netloc.rpartition('@')[2]}{parts.path} {family[0] if family else ''}"
    return hashlib.sha256(where.encode()).hexdigest()[:16]


def home_of_model(config: ModelConfig) -> str:
    """Return the mark of a configured model; behind an address that nobody knows each family has its own."""
    is_known = row_of(config) is not None
    if is_known and config.provider == "anthropic-compatible" and _CLAUDE in config.model.lower():
        return _CLAUDE
    address = address_of(config).partition("?")[0].split("/")
    while len(address) > 1 and _TAIL.fullmatch(address[-1]):
        address.pop()
    return home_of("/".join(address), "" if is_known else config.model)


def marked(event: StreamEvent, home: str) -> StreamEvent:
    """Return an event with the mark of its home on what its provider wants back."""
    match event:
        case NativeDelta():
            return NativeDelta(_with(event.raw, home))
        case ThinkingDelta() | TextEnd() | CallEnd() | PictureDelta() if event.opaque is not None:
            return msgspec.structs.replace(event, opaque=_with(event.opaque, home))
        case _:
            return event


def is_elsewhere(kept: JsonObject, home: str) -> bool:
    """Return whether something has its home elsewhere; what earlier versions kept has none. Chat looks for itself."""
    return kept.get("wire") != CHAT and kept.get("home", home) != home


def _with(kept: JsonObject, home: str) -> JsonObject:
    return kept if "home" in kept else {**kept, "home": home}
