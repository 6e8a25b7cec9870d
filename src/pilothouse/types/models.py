"""A configured model, as `models.json` keeps it."""

from __future__ import annotations

from typing import Literal

import msgspec

from pilothouse.types import limits
from pilothouse.types.json import Frozen, JsonObject
from pilothouse.types.selection import NativeTools

Provider = Literal[
    "anthropic-compatible",
    "openai-compatible",
    "openai-responses",
    "ollama",
    "gemini",
    "embedded",
    "scripted",
    "plugin",
]
KeyKind = Literal["none", "env", "secret", "literal"]
# How a model calls tools: as its provider does, in lines of text, or in JSON that its server enforces.
CallStyle = Literal["native", "text", "constrained"]
# "auto" is the provider's way, and lines of text once the provider said that this model has none.
ToolCalls = Literal["auto", "native", "text", "constrained"]


class ModelConfig(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """One entry of `models.json`; `id` is its key there and is not repeated inside."""

    name: str
    provider: Provider
    model: str = ""
    base_url: str = ""
    # "env:NAME", "secret:NAME", or the key itself (accepted, flagged); empty for none.
    api_key_source: str = ""
    context_window: int = limits.DEFAULT_CONTEXT_WINDOW
    supports_thinking: bool = False
    supports_images: bool | None = None
    max_tokens: int | None = None
    tool_calls: ToolCalls = "auto"
    # The provider's own tools, unless a conversation or a message says otherwise.
    native_tools: NativeTools = NativeTools()
    # Sent with every request, for gateways that want more than a key.
    headers: dict[str, str] = {}
    # Merged into every request body, for what a provider has and we do not name.
    extra: JsonObject = {}
    id: str = ""


class KeyState(Frozen, frozen=True):
    """Where a model's key comes from and whether it can be used, never the key itself."""

    kind: KeyKind
    name: str = ""
    present: bool = False
    # One sentence when something is wrong or unwise: unset, literal, bound to another origin.
    problem: str = ""
    # The key was given for another origin; the person may confirm the new one.
    moved: bool = False


class ModelView(Frozen, frozen=True):
    """A model as the page and the command line show it; a literal key is never in it."""

    id: str
    name: str
    provider: Provider
    model: str
    base_url: str
    host: str
    # "env:NAME", "secret:…", "literal" or "".
    api_key_source: str
    key: KeyState
    context_window: int
    supports_thinking: bool
    supports_images: bool
    max_tokens: int | None
    is_default: bool
    tool_calls: ToolCalls = "auto"
    native_tools: NativeTools = NativeTools()
    # What this model is good for, where that needs saying (the embedded one).
    note: str = ""
    # "128K context".
    context_label: str = ""


class FileProblem(Frozen, frozen=True):
    """A file that could not be read: where and why; the last good content stays in force."""

    file: str
    line: int | None
    message: str


class ModelList(Frozen, frozen=True):
    """All models, the default, and what is wrong with the file if anything is."""

    default_model_id: str | None
    models: tuple[ModelView, ...]
    problem: FileProblem | None = None


class ModelTest(Frozen, frozen=True):
    """What a real, tiny request to a model gave."""

    ok: bool
    # One sentence: the latency, or the provider's own error.
    message: str
    first_token_ms: int | None = None
    total_ms: int | None = None


class FoundModel(Frozen, frozen=True):
    """Something that could be added with one click: a local server or a key in the environment."""

    # "Ollama on this machine", "Anthropic (key found in ANTHROPIC_API_KEY)".
    title: str
    why: str
    draft: ModelConfig
    # Models that the found server offers, when it could be asked.
    choices: tuple[str, ...] = ()
