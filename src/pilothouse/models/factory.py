"""From a configured model to one that can be asked. Each adapter is imported when the first of its kind is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.models import ModelConfig
from pilothouse.types.ports import Model

if TYPE_CHECKING:
    from pilothouse.models.wire import Wire

# ruff: noqa: PLC0415 - an HTTP client takes 0.15 s to import; a command that asks no model must not pay for it.


def make_model(
    config: ModelConfig,
    key: str = "",
    *,
    first_byte: float = limits.FIRST_BYTE_TIMEOUT,
    silence: float = limits.SILENCE_TIMEOUT,
    first_wait: float = limits.RETRY_FIRST_WAIT,
) -> Model:
    """Return the configured model, ready to be asked; raise a PilothouseError when it cannot be one."""
    from pilothouse.models.tool_calling import ToolCalling

    if config.provider == "embedded":
        from pilothouse.models.embedded import EmbeddedModel

        return ToolCalling(EmbeddedModel(config), config, limits.EMBEDDED_CALL_ROUNDS)
    model: Model
    if config.provider == "scripted":
        from pilothouse.models.scripted import ScriptedModel

        path = config.model or config.base_url
        model = ScriptedModel(path, first_byte=first_byte, silence=silence, first_wait=first_wait)
    else:
        from pilothouse.models.http_model import HttpModel

        secrets = (key, *config.headers.values())
        wire = make_wire(config, key)
        model = HttpModel(wire, secrets=secrets, first_byte=first_byte, silence=silence, first_wait=first_wait)
    return ToolCalling(model, config, limits.CONSTRAINED_CALL_ROUNDS)


def make_wire(config: ModelConfig, key: str = "") -> Wire:
    """Return the wire format of a configured model that is reached over HTTP."""
    match config.provider:
        case "anthropic-compatible":
            from pilothouse.models.wires.anthropic import AnthropicWire

            return AnthropicWire(config, key)
        case "openai-compatible":
            from pilothouse.models.wires.openai_chat import OpenAIChatWire

            return OpenAIChatWire(config, key)
        case "openai-responses":
            from pilothouse.models.wires.openai_responses import OpenAIResponsesWire

            return OpenAIResponsesWire(config, key)
        case "ollama":
            from pilothouse.models.wires.ollama import OllamaWire

            return OllamaWire(config, key)
        case "gemini":
            from pilothouse.models.wires.gemini import GeminiWire

            return GeminiWire(config, key)
    raise PilothouseError("bad_config", f"A model of the kind “{config.provider}” is not reached over HTTP.")
