"""How providers put what went wrong: as their documentation, their clients and the reports of people have it.

Imported when something went wrong, and not before.
"""

from __future__ import annotations

import re

from pilothouse.types import limits

TOO_LONG = re.compile(
    "|".join(
        (
            r"context[ _-]?(length|window|size|limit)",
            # OpenAI; xAI; vLLM; Poolside.
            r"maximum (context|prompt length|model length|sequence length|allowed input length)",
            r"longer than the (model|maximum)",
            # Anthropic; Bedrock; Ollama; Groq and OpenAI about a minute's share.
            r"(prompt|input|conversation|request) (is )?too (long|large)",
            # Mistral.
            r"too large for model with",
            r"too many (input |prompt )?tokens",
            # Gemini; Ollama; OpenAI-compatible proxies.
            r"input (token count|length)",
            # GitHub Copilot; LM Studio; llama-cpp-python.
            r"(prompt|input|requested|total) tokens? .{0,40}(exceed|longer|greater)",
            r"prompt token count",
            r"greater than the context",
            r"exceeds? the (available context|(maximum|limit) .{0,30}(tokens?|context|input|prompt))",
            # Kimi; crewAI's and others' general words.
            r"exceed(s|ed)? (the |model('s)? ){0,2}token limit|tokens? (limit )?exceed",
            r"reduce (the length|your (prompt|message|input))",
            # Qwen.
            r"range of input length",
            # Text Generation Inference.
            r"inputs?`? tokens \+ `?max_new_tokens|inputs must have less than",
            # Cerebras.
            r"current length is .{1,40} while limit is",
            r"exceed_context_size|request_too_large|prompt_too_long",
            # OpenAI about one message of more than ten million characters.
            r"(messages|input)\[\d+\]\.(content|output)[^\n]{0,40}string too long",
            r"超过最大长度|上下文长度|输入长度超",
        )
    ),
    re.IGNORECASE,
)
RATE_LIMIT = re.compile(
    r"rate[ _-]?limit|(tokens|requests|input tokens) per[ _-]?(minute|min|hour|day|second)|\b[TR]PM\b|"
    r"too many requests|throttl|please wait|try again in",
    re.IGNORECASE,
)
_SHARE = re.compile(r"\blimit:? ?(\d[\d,]{0,15})[,;.]? requested:? ?(\d[\d,]{0,15})", re.IGNORECASE)
# How they count what would fit, if less of an answer was asked for: the window, and what the request takes of it.
_WINDOW = re.compile(
    r"context (?:length|window|limit|size)(?: is| of|:)?(?: only)? ([\d,]+)|\+ `?max_new_tokens`? must be <= ([\d,]+)",
    re.IGNORECASE,
)
_TAKEN = re.compile(
    # OpenAI and DeepSeek; OpenRouter, in two parts; vLLM; SGLang; Text Generation Inference.
    r"([\d,]{1,20}) (?:in the messages|in your prompt|of text input|of tool input|input tokens|tokens from the input|"
    r"`inputs` tokens)",
    re.IGNORECASE,
)
# Anthropic: what the request takes, what was asked for, the window.
_SUM = re.compile(r"context limit: ([\d,]+) \+ ([\d,]+) > ([\d,]+)", re.IGNORECASE)
# How a model that cannot call tools is told.
NO_TOOLS = re.compile(
    r"(does not|doesn't|not) support(ed)? (for )?(tools?|function call|tool[ _]?(use|call|choice))|"
    r"tools?( calling| use| choice)? (is|are) not (supported|enabled|available)|"
    r"\"?auto\"? tool choice requires|no endpoints found that support tool use",
    re.IGNORECASE,
)
# How they speak of pictures and sounds, and how they say that a model takes none of them.
MEDIA = re.compile(r"image|audio|media|multimodal|vision|modalit", re.IGNORECASE)
NO_MEDIA = re.compile(
    r"(image|audio|vision|video|media|multi-?modal|modalit).{0,80}?(not|n't|un)[ -]?(be )?"
    r"(support|allow|accept|available|enabled|configured|compiled)|"
    r"(not|n't) (a )?(support|accept|compiled for|have).{0,40}(image|audio|vision|video|media|multi-?modal|modalit)|"
    r"not a?n? ?(multi-?modal|vision)|no endpoints found that support (image|audio|video)|"
    r"unknown variant .{0,3}(image_url|input_audio)|missing data required for image|\bmmproj\b",
    re.IGNORECASE,
)
NO_CREDIT = re.compile(r"insufficient[_ ](quota|balance|credit|funds)|credit balance", re.IGNORECASE)
FILTERED = re.compile(r"content[_ ]?(filter|policy|management)|responsible ?ai", re.IGNORECASE)
UNTHOUGHT = re.compile(r"expected \W?thinking\b.{0,40}\bbut found\b", re.IGNORECASE)
BAD_KEY = re.compile(
    r"api[_ ]key[_ ](not valid|invalid)|invalid[_ ](x-)?api[_ -]?key|authentication_error|API_KEY_INVALID",
    re.IGNORECASE,
)


def room_left(said: str) -> int | None:
    """Return how many tokens of an answer would fit, where a provider says so and it is worth asking for them."""
    if found := _SUM.search(said):
        taken, window = _count(found[1]), _count(found[3])
    else:
        found, parts = _WINDOW.search(said), _TAKEN.findall(said)
        if not found or not parts:
            return None
        taken, window = sum(map(_count, parts)), _count(found[1] or found[2])
    room = window - taken
    # With less than that a shorter conversation serves better than a short answer.
    return room if room >= window * (1 - limits.COMPACT_ABOVE) else None


def _count(digits: str) -> int:
    return int(digits.replace(",", "") or 0)


def never_fits(said: str) -> bool:
    """Return whether one request is more than the provider takes in a whole minute, so that waiting does not help."""
    share = _SHARE.search(said)
    return share is not None and _count(share[2]) > _count(share[1])
