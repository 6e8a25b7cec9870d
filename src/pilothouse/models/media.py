"""Which pictures and sounds a model takes in the results of its calls, and how large each may be."""

from __future__ import annotations

import re

from pilothouse.models.providers import sees_images
from pilothouse.types import limits
from pilothouse.types.models import ModelConfig, Provider

_STILL = ("image/png", "image/jpeg", "image/webp")
_ALL = (*_STILL, "image/gif")
_IMAGES: dict[Provider, tuple[tuple[str, ...], int]] = {
    "anthropic-compatible": (_ALL, limits.ANTHROPIC_IMAGE_BYTES),
    "openai-compatible": (_ALL, limits.OPENAI_IMAGE_BYTES),
    "openai-responses": (_ALL, limits.OPENAI_IMAGE_BYTES),
    "gemini": (_STILL, limits.GEMINI_INLINE_BYTES),
    "ollama": (("image/png", "image/jpeg"), limits.OLLAMA_IMAGE_BYTES),
    "plugin": (_ALL, limits.OPENAI_IMAGE_BYTES),
    "scripted": (_ALL, limits.OPENAI_IMAGE_BYTES),
}
# Only these formats have a place for sounds at all.
_SOUNDS: dict[Provider, tuple[tuple[str, ...], int]] = {
    "openai-compatible": (("audio/wav", "audio/mpeg"), limits.OPENAI_SOUND_BYTES),
    "gemini": (("audio/wav", "audio/mpeg", "audio/ogg", "audio/flac"), limits.GEMINI_INLINE_BYTES),
}
_EARS: dict[Provider, re.Pattern[str]] = {
    "openai-compatible": re.compile(r"audio|omni|voxtral|gemini"),
    "gemini": re.compile(r"gemini"),
}


def taken(config: ModelConfig) -> dict[str, int]:
    """Return the most bytes of one picture or sound by its media type; what is not there is not taken."""
    found: dict[str, int] = {}
    if sees_images(config) and config.provider in _IMAGES:
        types, most = _IMAGES[config.provider]
        found |= dict.fromkeys(types, most)
    if hears(config):
        types, most = _SOUNDS[config.provider]
        found |= dict.fromkeys(types, most)
    return found


def hears(config: ModelConfig) -> bool:
    """Return whether a model takes sounds, as its name suggests."""
    ears = _EARS.get(config.provider)
    # Calls in lines of text and in enforced JSON have no place for a sound.
    return config.tool_calls in ("auto", "native") and bool(ears and ears.search(config.model.lower()))
