"""Wires by their names: the adapter that speaks one, and what everyone who speaks it has a place for."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from pilothouse.types import limits
from pilothouse.types.models import ModelConfig, Provider

if TYPE_CHECKING:
    from pilothouse.models.learned_limits import ModelLessons
    from pilothouse.models.wire import Wire

STILL = ("image/png", "image/jpeg", "image/webp")


class WireMedia(msgspec.Struct, frozen=True, kw_only=True):
    """The pictures and the sounds that a wire has a place for, and the most bytes of each."""

    images: tuple[str, ...] = (*STILL, "image/gif")
    image_bytes: int = limits.OPENAI_IMAGE_BYTES
    sounds: tuple[str, ...] = ()
    sound_bytes: int = 0
    # What the names of models that hear have in them.
    hearing: re.Pattern[str] | None = None


# The names by which what belongs to one wire is told from what belongs to another; they are kept for good. A wire is
# called as its provider is, save these.
ANTHROPIC, CHAT = "anthropic", "openai-chat"
_NAMES: dict[Provider, str] = {"anthropic-compatible": ANTHROPIC, "openai-compatible": CHAT}
# They are not reached over HTTP.
_INSIDE: dict[Provider, WireMedia] = {
    "embedded": WireMedia(images=()),
    "scripted": WireMedia(),
    "plugin": WireMedia(),
}


def wire_name(provider: Provider) -> str:
    """Return what a provider's wire is called: in what is kept of its answers, and as a module of `wires`."""
    return _NAMES.get(provider, provider)


def adapter_of(provider: Provider) -> Callable[[ModelConfig, str, ModelLessons | None], Wire] | None:
    """Return what speaks a wire, made from a model, its key and what was learned; None for what no HTTP reaches."""
    return _adapter(provider) if provider not in _INSIDE else None


def media_of(provider: Provider) -> WireMedia:
    """Return what a wire has a place for."""
    return _INSIDE.get(provider) or _adapter(provider).media


def _adapter(provider: Provider) -> type[Wire]:
    # Imported when the first model of its kind is made.
    module = import_module(f"pilothouse.models.wires.{wire_name(provider).replace('-', '_')}")
    adapter: type[Wire] = module.ADAPTER
    return adapter
