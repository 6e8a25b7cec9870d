"""What was said comes back as it was said: each request is the one before, the answer to it, and something new."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from tests.wires.replies import Json, Reply, Wire, plain

# Who says it, and what.
Said = tuple[str, Json]
_MODEL = ("assistant", "model")


def not_continued(wire: Wire, before: Json, reply: Reply, after: Json) -> list[str]:
    """Return where a request is not the one before with the answer added, block by block and in order."""
    flat = _FLAT[wire]
    old, new = flat(before), flat(after)
    for index, (one, other) in enumerate(zip(old, new, strict=False)):
        if one != other:
            return [f"what stood at {index} changed from {_short(one)} to {_short(other)}"]
    if len(new) < len(old):
        return ["something was left out of what had been sent"]
    back = [said for role, said in takewhile(lambda each: each[0] in _MODEL, new[len(old) :])]
    return _compared(_EXPECTED[wire](reply), _gemini_merged(back) if wire == "gemini" else back, wire)


def _compared(said: Sequence[Json], back: Sequence[Json], wire: Wire) -> list[str]:
    same = _SAME.get(wire, _equal)
    if len(said) == len(back) and all(same(one, other) for one, other in zip(said, back, strict=True)):
        return []
    return [f"the answer was {_short(said)} and came back as {_short(back)}"]


def _equal(said: Json, back: Json) -> bool:
    return said == back


def _short(value: object) -> str:
    return json.dumps(value)[:900]


def _full(value: Json, *without: str) -> Json:
    """Return an object without what is null or named."""
    return {key: inner for key, inner in value.items() if inner is not None and key not in without}


# --- Anthropic ------------------------------------------------------------------------------------


def _anthropic_flat(body: Json) -> list[Said]:
    return [
        (message["role"], _full(block, "cache_control")) for message in body["messages"] for block in message["content"]
    ]


def _anthropic_said(reply: Reply) -> list[Json]:
    blocks: list[Json] = []
    for event in map(plain, reply.events):
        if event["type"] == "content_block_start":
            blocks.append(dict(event["content_block"]))
        elif event["type"] == "content_block_delta":
            _anthropic_delta(blocks[event["index"]], event["delta"])
    said = []
    for block in blocks:
        pieces = block.pop("pieces", "")
        block["input"] = json.loads(pieces) if pieces else block.get("input")
        said.append(_full(block))
    return [block for block in said if block.get("text") != ""]


def _anthropic_delta(block: Json, delta: Json) -> None:
    match delta["type"]:
        case "text_delta":
            block["text"] += delta["text"]
        case "thinking_delta":
            block["thinking"] += delta["thinking"]
        case "signature_delta":
            block["signature"] += delta["signature"]
        case "citations_delta":
            block["citations"] = [*(block["citations"] or ()), delta["citation"]]
        case "input_json_delta":
            block["pieces"] = block.get("pieces", "") + delta["partial_json"]


# --- chat completions -----------------------------------------------------------------------------


def _chat_flat(body: Json) -> list[Said]:
    return [(message["role"], message) for message in body["messages"]]


def _chat_said(reply: Reply) -> list[Json]:
    text, calls = "", dict[int, Json]()
    for delta in (choice["delta"] for event in reply.events for choice in plain(event).get("choices", ())):
        text += delta.get("content") or ""
        for piece in delta.get("tool_calls", ()):
            function = piece.get("function", {})
            call = calls.setdefault(piece["index"], {"function": {"name": "", "arguments": ""}})
            call |= {key: value for key, value in piece.items() if key not in ("index", "function")}
            call["function"]["name"] += function.get("name", "")
            call["function"]["arguments"] += function.get("arguments", "")
    return [{"content": text, "tool_calls": list(calls.values())}]


def _chat_same(said: Json, back: Json) -> bool:
    """Fields beside text and calls are for the scenarios that know them."""
    texts = (said["content"] or "") == (back.get("content") or "")
    return texts and _read_calls(said["tool_calls"]) == _read_calls(back.get("tool_calls", ()))


def _read_calls(calls: Sequence[Json]) -> list[Json]:
    """Return calls with their arguments read: how they are spaced is nobody's business."""
    return [{**call, "function": _read(call["function"])} for call in calls]


def _read(function: Json) -> Json:
    return {**function, "arguments": json.loads(function["arguments"])}


# --- responses ------------------------------------------------------------------------------------


def _responses_flat(body: Json) -> list[Said]:
    spoken = ("reasoning", "function_call")
    return [(item.get("role") or _role(item.get("type", "message"), spoken), _full(item)) for item in body["input"]]


def _role(kind: str, spoken: Sequence[str]) -> str:
    return "assistant" if kind in spoken or (kind.endswith("_call") and kind != "function_call_output") else "tool"


def _responses_said(reply: Reply) -> list[Json]:
    done = [plain(event) for event in reply.events if plain(event)["type"] == "response.output_item.done"]
    return [_full(event["item"]) for event in done]


def _responses_same(said: Json, back: Json) -> bool:
    match said["type"]:
        case "function_call":
            kept = all(said.get(key) == value for key, value in back.items() if key != "arguments")
            return kept and json.loads(said["arguments"]) == json.loads(back.get("arguments", "null"))
        case "reasoning":
            # Whether it is complete is the server's business.
            return _full(said, "status") == _full(back, "status")
        case "message":
            parts = [[_full(part, "logprobs") for part in item["content"]] for item in (said, back)]
            return parts[0] == parts[1] and _full(said, "content") == _full(back, "content")
    return said == back


# --- Gemini ---------------------------------------------------------------------------------------


def _gemini_flat(body: Json) -> list[Said]:
    return [(content["role"], part) for content in body["contents"] for part in content["parts"]]


def _gemini_said(reply: Reply) -> list[Json]:
    parts: list[Json] = []
    for event in map(plain, reply.events):
        # There may be more candidates than were asked for; the first is the answer.
        for candidate in event.get("candidates", ())[:1]:
            parts += candidate["content"].get("parts", ())
    return _gemini_merged(part for part in parts if not part.get("thought"))


def _gemini_merged(parts: Iterable[Json]) -> list[Json]:
    """Return parts with neighbouring plain texts as one: where a stream cuts them means nothing."""
    merged: list[Json] = []
    for part in parts:
        plain_text = set(part) == {"text"}
        if plain_text and merged and set(merged[-1]) == {"text"}:
            merged[-1] = {"text": merged[-1]["text"] + part["text"]}
        elif not plain_text or part["text"]:
            merged.append(dict(part))
    return merged


def _gemini_same(said: Json, back: Json) -> bool:
    if "functionCall" not in said:
        return said == back
    # Calls without an id get one, so that their results can be told apart.
    called = {**back.get("functionCall", {}), **said["functionCall"]}
    return {**said, "functionCall": called} == back


# --- Ollama ---------------------------------------------------------------------------------------


def _ollama_said(reply: Reply) -> list[Json]:
    messages = [plain(event).get("message", {}) for event in reply.events]
    calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    whole: Json = {"content": "".join(message.get("content", "") for message in messages)}
    if calls:
        whole["thinking"] = "".join(message.get("thinking", "") for message in messages)
        whole["calls"] = [(call["name"], call["arguments"]) for call in calls]
    return [whole]


def _ollama_same(said: Json, back: Json) -> bool:
    calls = [(call["function"]["name"], call["function"]["arguments"]) for call in back.get("tool_calls", ())]
    thinking = said.get("thinking", "") == (back.get("thinking", "") if calls else "")
    return thinking and (said["content"], said.get("calls", [])) == (back["content"], calls)


_FLAT: dict[Wire, Callable[[Json], list[Said]]] = {
    "anthropic": _anthropic_flat,
    "chat": _chat_flat,
    "responses": _responses_flat,
    "gemini": _gemini_flat,
    "ollama": _chat_flat,
}
_EXPECTED: dict[Wire, Callable[[Reply], list[Json]]] = {
    "anthropic": _anthropic_said,
    "chat": _chat_said,
    "responses": _responses_said,
    "gemini": _gemini_said,
    "ollama": _ollama_said,
}
_SAME: dict[Wire, Callable[[Json, Json], bool]] = {
    "chat": _chat_same,
    "responses": _responses_same,
    "gemini": _gemini_same,
    "ollama": _ollama_same,
}
