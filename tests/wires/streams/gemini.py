"""Answers in Gemini's format."""

from __future__ import annotations

from typing import Any

from tests.wires.replies import Event, Json, Reply, refused, sse

SIGNATURE = "c2lnbmVk"


def answer(*chunks: list[Json], stop: str = "STOP") -> Reply:
    """Return an answer; each chunk is a list of parts, and the last says why it ended."""
    last = len(chunks) - 1
    return stream(*(chunk(parts, stop if index == last else None) for index, parts in enumerate(chunks)))


def stream(*events: Event) -> Reply:
    head = {"content-type": "text/event-stream"}
    return Reply("gemini", sse(events, named=False), 200, head, events)


def chunk(parts: list[Json], finish: str | None = None, **more: Any) -> Json:
    candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
    if finish:
        candidate["finishReason"] = finish
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 17}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m", "responseId": "r"}


def refusal(status: int, message: str, word: str = "INVALID_ARGUMENT", *details: Json) -> Reply:
    """Return an error before the stream."""
    return refused(status, {"error": {"code": status, "message": message, "status": word, "details": list(details)}})


def text(words: str, signature: str = "") -> Json:
    return {"text": words, **_signed(signature)}


def thought(words: str) -> Json:
    return {"text": words, "thought": True}


def call(arguments: Json, id: str = "", signature: str = "", name: str = "think") -> Json:
    made: Json = {"name": name, "args": arguments, **({"id": id} if id else {})}
    return {"functionCall": made, **_signed(signature)}


def picture(data: str, signature: str = "") -> Json:
    return {"inlineData": {"mimeType": "image/png", "data": data}, **_signed(signature)}


def code(words: str, signature: str = "") -> Json:
    return {"executableCode": {"language": "PYTHON", "code": words}, **_signed(signature)}


def output(words: str) -> Json:
    return {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": words}}


def grounding() -> Json:
    """What an answer stands on, as the provider's search tells it beside the text."""
    web = {"uri": "https://harbour.example/tides", "title": "Tides"}
    support = {"segment": {"startIndex": 0, "endIndex": 5, "text": "cited"}, "groundingChunkIndices": [0]}
    return {"webSearchQueries": ["tides"], "groundingChunks": [{"web": web}], "groundingSupports": [support]}


def _signed(signature: str) -> Json:
    return {"thoughtSignature": signature} if signature else {}
