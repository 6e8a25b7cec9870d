"""What is known about providers before anyone asks them: addresses, key names, sizes, eyes."""

from __future__ import annotations

import re

import msgspec

from pilothouse.types import limits
from pilothouse.types.models import ModelConfig, Provider
from pilothouse.types.origins import origin_of

EMBEDDED_NAME = "SmolLM2 135M (built in)"
EMBEDDED_NOTE = (
    "Runs on this machine without a key and shows that everything works. "
    "It is far too small for real questions or for using tools; add a larger model for those."
)
NAMES: dict[Provider, str] = {
    "anthropic-compatible": "Anthropic compatible",
    "openai-compatible": "OpenAI compatible",
    "openai-responses": "OpenAI responses",
    "ollama": "Ollama",
    "gemini": "Gemini",
    "embedded": "Built in",
    "scripted": "Scripted",
    "plugin": "Plugin",
}
DEFAULT_URLS: dict[Provider, str] = {
    "anthropic-compatible": "https://api.anthropic.com",
    "openai-compatible": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
    "ollama": "http://127.0.0.1:11434",
    "gemini": "https://generativelanguage.googleapis.com",
}
# These run in this process: they have no address and no key.
LOCAL: frozenset[Provider] = frozenset({"embedded", "scripted"})

# Whose keys the well-known variables hold; from a file they go nowhere else without a person's word.
KEY_ORIGINS: dict[str, frozenset[str]] = {
    name: frozenset(origin_of(url) for url in urls)
    for name, urls in {
        "ANTHROPIC_API_KEY": ("https://api.anthropic.com",),
        "ANTHROPIC_AUTH_TOKEN": ("https://api.anthropic.com",),
        "OPENAI_API_KEY": ("https://api.openai.com",),
        "DeepseekKey": ("https://api.deepseek.com",),
        "DEEPSEEK_API_KEY": ("https://api.deepseek.com",),
        "GEMINI_API_KEY": ("https://generativelanguage.googleapis.com",),
        "GOOGLE_API_KEY": ("https://generativelanguage.googleapis.com",),
        "OPENROUTER_API_KEY": ("https://openrouter.ai",),
        "MISTRAL_API_KEY": ("https://api.mistral.ai",),
        "GROQ_API_KEY": ("https://api.groq.com",),
        "XAI_API_KEY": ("https://api.x.ai",),
    }.items()
}

_WINDOWS = (
    (re.compile(r"claude"), 200_000),
    (re.compile(r"gemini|gpt-4\.1"), 1_000_000),
    (re.compile(r"gpt-5|\bo[34]\b"), 200_000),
    (re.compile(r"gpt-4o|deepseek"), 128_000),
)
_EYES: dict[Provider, re.Pattern[str]] = {
    "anthropic-compatible": re.compile(r"claude"),
    "openai-compatible": re.compile(
        r"gpt-(4o|4\.1|4-turbo|5)|\bo[34]\b|claude|gemini|vision|llava|pixtral|\bvl\b|[0-9]vl|gemma-?3|llama-?4|omni"
    ),
    "openai-responses": re.compile(r"gpt|\bo[34]\b"),
    "ollama": re.compile(r"vision|llava|bakllava|moondream|minicpm-v|[0-9]vl|-vl|gemma3|llama4|mistral-small3"),
    "gemini": re.compile(r"."),
    # A script is told what it saw; there is nothing it could not take.
    "scripted": re.compile(r""),
}


def address_of(config: ModelConfig) -> str:
    """Return where a model's requests go: its own address, else its provider's."""
    return config.base_url or DEFAULT_URLS.get(config.provider, "")


def with_address(config: ModelConfig) -> ModelConfig:
    """Return the configuration with its address filled in."""
    return msgspec.structs.replace(config, base_url=address_of(config))


def sees_images(config: ModelConfig) -> bool:
    """Return whether a model takes images: as configured, else as its name suggests."""
    if config.supports_images is not None:
        return config.supports_images
    eyes = _EYES.get(config.provider)
    return bool(eyes and eyes.search(config.model.lower()))


def usual_window(provider: Provider, model: str) -> int:
    """Return the context window to begin with when nobody said one."""
    if provider == "embedded":
        return limits.EMBEDDED_CONTEXT
    # Ollama loads as much context as it is told to: its models' own sizes would not fit most machines.
    if provider == "ollama":
        return limits.DEFAULT_CONTEXT_WINDOW
    found = (window for pattern, window in _WINDOWS if pattern.search(model.lower()))
    return next(found, limits.DEFAULT_CONTEXT_WINDOW)
