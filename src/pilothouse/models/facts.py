"""What is true of a configured model: as a person said, else as its own server told, else as is known of its kind."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import msgspec

from pilothouse.models.known_models import known
from pilothouse.models.providers import LOCAL, address_of
from pilothouse.models.wire_table import media_of
from pilothouse.types import limits
from pilothouse.types.models import Known, ModelConfig
from pilothouse.types.origins import is_nearby, origin_of

# What names of open models say where nothing is known of them.
_EYES = r"vision|llava|moondream|minicpm-v|pixtral|\bvl\b|[0-9]vl|gemma-?3|llama-?4|omni|mistral-small3"

# Tells windows and abilities to everyone, and has more models than any package.
_OPEN_LISTS = frozenset({"openrouter.ai"})


def facts_of(config: ModelConfig) -> Known:
    """Return what was told and is known of a model, without what a person said."""
    match config.provider:
        case "embedded":
            return Known(context_window=limits.EMBEDDED_CONTEXT, images=False, thinking=False)
        case "scripted":
            # A script is told what it saw; there is nothing it could not take.
            return Known(images=True)
    facts = known(config.provider, address_of(config), config.model) or Known()
    return over(config.known, facts) if config.known is not None else facts


def filled(config: ModelConfig) -> ModelConfig:
    """Return a configuration in which nothing is left open: with its address, its window and its abilities."""
    facts = facts_of(config)
    return msgspec.structs.replace(
        config,
        base_url=address_of(config),
        context_window=config.context_window or facts.context_window or limits.DEFAULT_CONTEXT_WINDOW,
        supports_thinking=bool(facts.thinking if config.supports_thinking is None else config.supports_thinking),
        supports_images=sees_images(config, facts),
        known=facts,
    )


def sees_images(config: ModelConfig, facts: Known) -> bool:
    """Return whether a model takes images: as a person said, as is known, else as its name suggests."""
    if config.supports_images is not None:
        return config.supports_images
    if facts.images is not None:
        return facts.images
    return config.provider != "plugin" and bool(re.search(_EYES, config.model.lower()))


def source_of(config: ModelConfig, facts: Known) -> str:
    """Return where the facts come from that a person left open; nothing when they said all, or nothing is known."""
    said = (config.context_window or None, config.supports_thinking, config.supports_images)
    left = (facts.context_window, facts.thinking, facts.images)
    used = any(mine is None and fact is not None for mine, fact in zip(said, left, strict=True))
    return facts.source if used else ""


def is_asked(config: ModelConfig) -> bool:
    """Return whether a model's server is asked about it: one that is near, or that tells everyone."""
    if config.provider in LOCAL or config.provider == "plugin":
        return False
    return is_nearby(address_of(config)) or has_open_list(config)


def has_open_list(config: ModelConfig) -> bool:
    """Return whether a model is at a place that lists windows, abilities and prices for everyone."""
    return urlsplit(origin_of(address_of(config))).hostname in _OPEN_LISTS


def over(first: Known, second: Known) -> Known:
    """Return what one says, and where it is silent the other; a size of nothing, or less, says nothing."""
    pairs = ((name, getattr(first, name)) for name in first.__struct_fields__)
    said = {name: value for name, value in pairs if value not in (None, "")}
    for name in ("context_window", "max_output"):
        if said.get(name, 1) < 1:
            del said[name]
    return msgspec.structs.replace(second, **said)


def taken(config: ModelConfig) -> dict[str, int]:
    """Return the most bytes of one picture or sound by its media type; what is not there is not taken."""
    wire = media_of(config.provider)
    found: dict[str, int] = {}
    if sees_images(config, facts_of(config)):
        found |= dict.fromkeys(wire.images, wire.image_bytes)
    if hears(config):
        found |= dict.fromkeys(wire.sounds, wire.sound_bytes)
    return found


def hears(config: ModelConfig) -> bool:
    """Return whether a model takes sounds, as its name suggests."""
    ears = media_of(config.provider).hearing
    # Calls in lines of text and in enforced JSON have no place for a sound.
    return config.tool_calls in ("auto", "native") and bool(ears and ears.search(config.model.lower()))
