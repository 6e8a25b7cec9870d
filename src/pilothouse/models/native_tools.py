"""Providers' own tools: which of them a request wants, and how each wire format declares them.

None leaves a tool as the model's configuration has it, and there None is the provider's default: nothing is
sent. Providers have these tools off unless they are declared, so off is the same as not declaring them.
"""

from __future__ import annotations

import msgspec

from pilothouse.models.wire import host_of
from pilothouse.types.json import JsonObject
from pilothouse.types.messages import ModelRequest
from pilothouse.types.models import ModelConfig
from pilothouse.types.selection import NativeTools

# By field of NativeTools. The oldest forms that each provider still takes: they work with the most models.
ANTHROPIC: dict[str, JsonObject] = {
    "web_search": {"type": "web_search_20250305", "name": "web_search"},
    "code_execution": {"type": "code_execution_20250825", "name": "code_execution"},
    "url_context": {"type": "web_fetch_20250910", "name": "web_fetch"},
}
OPENAI_RESPONSES: dict[str, JsonObject] = {
    "web_search": {"type": "web_search"},
    "code_execution": {"type": "code_interpreter", "container": {"type": "auto"}},
    "image_generation": {"type": "image_generation"},
}
GEMINI: dict[str, JsonObject] = {
    "web_search": {"googleSearch": {}},
    "code_execution": {"codeExecution": {}},
    "url_context": {"urlContext": {}},
}
# What Gemini is asked to answer with; its image models make pictures without being asked for them.
GEMINI_PICTURES: dict[str, JsonObject] = {"image_generation": {"responseModalities": ["TEXT", "IMAGE"]}}
# Chat completions have no tools of their own; some hosts take a field for them.
_OPENROUTER: dict[str, JsonObject] = {
    "web_search": {"plugins": [{"id": "web"}]},
    "image_generation": {"modalities": ["image", "text"]},
}
_OPENAI_CHAT: dict[str, JsonObject] = {"web_search": {"web_search_options": {}}}

_WORDS = {
    "web_search": "web search",
    "code_execution": "code execution",
    "url_context": "reading of web pages",
    "image_generation": "making of pictures",
}


def wanted(config: ModelConfig, request: ModelRequest) -> NativeTools:
    """Return the request's wishes laid over what the model is configured with."""
    said = {name: value for name, value in msgspec.structs.asdict(request.native_tools).items() if value is not None}
    return msgspec.structs.replace(config.native_tools, **said)


def declared(config: ModelConfig, request: ModelRequest, forms: dict[str, JsonObject]) -> list[JsonObject]:
    """Return the declarations of the tools that are on, in the forms of one wire."""
    on = msgspec.structs.asdict(wanted(config, request))
    return [form for name, form in forms.items() if on[name]]


def chat_forms(base_url: str) -> dict[str, JsonObject]:
    """Return the fields that a host of chat completions takes."""
    host = host_of(base_url)
    if host.endswith("openrouter.ai"):
        return _OPENROUTER
    # No address is OpenAI's own.
    return _OPENAI_CHAT if host in ("", "api.openai.com") else {}


def lacking(config: ModelConfig, request: ModelRequest) -> str:
    """Return one sentence when a tool is on that the provider has no known form for; else nothing."""
    on = msgspec.structs.asdict(wanted(config, request))
    forms = _forms(config)
    missing = [words for name, words in _WORDS.items() if on[name] and name not in forms]
    if not missing:
        return ""
    what = " and ".join(missing)
    return f"This model's provider has no {what} of its own. Switch it off for this conversation, or use another model."


def beside(config: ModelConfig, request: ModelRequest) -> str:
    """Return one sentence when tools of Gemini are on beside others, for a model that takes only one kind."""
    on = msgspec.structs.asdict(wanted(config, request))
    what = " and ".join(words for name, words in _WORDS.items() if on[name] and name in GEMINI)
    if not what or not request.tools:
        return ""
    return (
        f"This model does not take its provider's {what} beside other tools, so it was asked without. "
        "Use a newer model, or a conversation without other tools."
    )


def _forms(config: ModelConfig) -> dict[str, JsonObject]:
    match config.provider:
        case "anthropic-compatible":
            return ANTHROPIC
        case "openai-responses":
            return OPENAI_RESPONSES
        case "gemini":
            return GEMINI | GEMINI_PICTURES
        case "openai-compatible":
            return chat_forms(config.base_url)
        case _:
            return {}
