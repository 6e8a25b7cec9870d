"""What providers refuse and no type says: the order of things, proofs, ids that match, nothing empty."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from tests.wires.replies import Json, Wire

Complaints = list[str]
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_GEMINI_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
_CACHE_MARKS = 4
# OpenAI takes no longer ids of calls.
_ID_CHARS = 40
_THOUGHTS = ("thinking", "redacted_thinking")


def broken_rules(wire: Wire, headers: Mapping[str, str], body: Json) -> Complaints:
    """Return the rules that a request breaks."""
    return _RULES[wire](headers, body)


def _names(names: Iterable[str], pattern: re.Pattern[str] = _NAME) -> Complaints:
    seen = list(names)
    bad = [f"{name!r} is no name for a tool" for name in seen if not pattern.fullmatch(name)]
    return bad + [f"two tools are named {name!r}" for name in set(seen) if seen.count(name) > 1]


def _alternate(roles: Sequence[str]) -> Complaints:
    pairs = enumerate(pairwise(roles), 1)
    return [f"message {at} is the second of {one} in a row" for at, (one, after) in pairs if one == after]


# --- Anthropic ------------------------------------------------------------------------------------


def _anthropic(headers: Mapping[str, str], body: Json) -> Complaints:
    found = [f"the header {name} is missing" for name in ("anthropic-version", "x-api-key") if not headers.get(name)]
    messages: list[Json] = body["messages"]
    found += _alternate([message["role"] for message in messages])
    if messages[0]["role"] != "user":
        found.append("the first message is not the person's")
    # Only what the provider paused in its own tools goes on from there.
    if messages[-1]["role"] != "user" and not any(
        part["type"] == "server_tool_use" for part in messages[-1]["content"]
    ):
        found.append("the last message is the assistant's: a prefill")
    if json.dumps(body).count('"cache_control"') > _CACHE_MARKS:
        found.append("there are more than four cache marks")
    thinking = body.get("thinking") or {}
    if thinking.get("budget_tokens", 0) >= body["max_tokens"]:
        found.append("the budget of thinking takes all of max_tokens")
    for index, message in enumerate(messages):
        after = messages[index + 1]["content"] if index + 1 < len(messages) else []
        said = _anthropic_message(message, after, thinking.get("type") == "enabled")
        found += [f"messages[{index}]: {each}" for each in said]
    return found + _names(tool["name"] for tool in body.get("tools", ()))


def _anthropic_message(message: Json, after: list[Json], thinks: bool) -> Complaints:
    content: list[Json] = message["content"]
    kinds = [block["type"] for block in content]
    if not content:
        return ["it is empty"]
    found = ["a text is empty" for block in content if block["type"] == "text" and not block["text"].strip()]
    if message["role"] == "user":
        results = [index for index, kind in enumerate(kinds) if kind == "tool_result"]
        return found + (["results do not stand first"] if results != list(range(len(results))) else [])
    asked = [block["id"] for block in content if block["type"] == "tool_use"]
    given = [block["tool_use_id"] for block in after if block["type"] == "tool_result"]
    if asked != given:
        found.append(f"calls {asked} are answered by {given}")
    if asked and kinds[-1] != "tool_use":
        found.append(f"something stands after the calls: {kinds}")
    if kinds[-1] in _THOUGHTS:
        found.append("it ends with thinking")
    if thinks and asked and kinds[0] not in _THOUGHTS:
        found.append(f"it calls tools and does not begin with thinking: {kinds}")
    return found + _own_tools(content)


def _own_tools(content: list[Json]) -> Complaints:
    """Each use of the provider's own tools stands right before its result."""
    open_: list[str] = []
    found = []
    for block in content:
        if block["type"] == "server_tool_use":
            open_.append(block["id"])
        elif "tool_use_id" in block:
            if block["tool_use_id"] not in open_:
                found.append(f"a {block['type']} stands before its use")
            else:
                open_.remove(block["tool_use_id"])
    return found + [f"the use {id} has no result" for id in open_]


# --- OpenAI ---------------------------------------------------------------------------------------


def _chat(headers: Mapping[str, str], body: Json) -> Complaints:
    found = [] if headers.get("authorization") else ["the header authorization is missing"]
    open_: list[str] = []
    for index, message in enumerate(body["messages"]):
        if message["role"] in ("tool", "function"):
            # The result of a call of old is known by the name of what was called.
            called = message.get("tool_call_id") or message["name"]
            if called in open_:
                open_.remove(called)
            else:
                found.append(f"messages[{index}] is the result of no call")
            continue
        found += [f"the call {id} has no result" for id in open_]
        open_ = [call["id"] for call in message.get("tool_calls", ())]
        open_ += [message["function_call"]["name"]] if "function_call" in message else []
        found += [f"messages[{index}]: {each}" for each in _chat_message(message)]
    found += [f"the call {id} has no result" for id in open_]
    return found + _names(tool["function"]["name"] for tool in body.get("tools", ()))


def _chat_message(message: Json) -> Complaints:
    calls = message.get("tool_calls", ())
    ids = [call["id"] for call in calls]
    found = [f"the id {id!r} is too long or empty" for id in ids if not 0 < len(id) <= _ID_CHARS]
    found += ["two calls have one id"] if len(set(ids)) < len(ids) else []
    for call in calls:
        if not isinstance(_parsed(call["function"]["arguments"]), dict):
            found.append("the arguments of a call are no object")
    if not message.get("content") and not calls and "function_call" not in message:
        found.append("it is empty")
    if message["role"] == "user" and isinstance(message["content"], list):
        found += ["a text is empty" for part in message["content"] if part["type"] == "text" and not part["text"]]
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


_SPOKEN = (
    "message",
    "function_call",
    "tool_search_call",
    "web_search_call",
    "image_generation_call",
    "code_interpreter_call",
)


def _responses(headers: Mapping[str, str], body: Json) -> Complaints:
    found = [] if headers.get("authorization") else ["the header authorization is missing"]
    items: list[Json] = body["input"]
    open_: list[str] = []
    for index, item in enumerate(items):
        kind = item.get("type", "message")
        after = items[index + 1] if index + 1 < len(items) else {}
        if kind == "reasoning":
            found += [f"input[{index}]: {each}" for each in _reasoning(item, after)]
        elif kind == "function_call":
            open_.append(item["call_id"])
            if not isinstance(_parsed(item["arguments"]), dict):
                found.append(f"input[{index}]: the arguments of a call are no object")
        elif kind == "tool_search_call":
            open_.append(item["call_id"])
        elif kind in ("function_call_output", "tool_search_output"):
            if item["call_id"] not in open_:
                found.append(f"input[{index}] is the result of no call")
            else:
                open_.remove(item["call_id"])
        elif kind == "message":
            found += [f"input[{index}]: {each}" for each in _input_message(item, open_)]
    ids = [item["id"] for item in items if item.get("id")]
    found += ["two items have one id"] if len(set(ids)) < len(ids) else []
    found += [f"the call {id} has no result" for id in open_]
    return found + _names(tool["name"] for tool in body.get("tools", ()) if tool["type"] == "function")


def _reasoning(item: Json, after: Json) -> Complaints:
    kind = after.get("type", "message" if after else "")
    found = []
    if kind not in _SPOKEN or after.get("role") == "user":
        found.append(f"reasoning {item.get('id')} is not followed by what it led to, but by {kind or 'nothing'}")
    if not item.get("encrypted_content"):
        found.append(f"reasoning {item.get('id')} comes without its seal, and nothing is stored")
    return found


def _input_message(item: Json, open_: Sequence[str]) -> Complaints:
    content = item["content"]
    if not content:
        return ["it is empty"]
    if item["role"] == "user":
        return [f"the call {id} has no result before the person speaks" for id in open_]
    return ["a text is empty" for part in content if part["type"] == "output_text" and not part["text"]]


# --- Gemini ---------------------------------------------------------------------------------------


def _gemini(headers: Mapping[str, str], body: Json) -> Complaints:
    found = [] if headers.get("x-goog-api-key") else ["the header x-goog-api-key is missing"]
    contents: list[Json] = body["contents"]
    # Results stand alone, and what the person says after them stands alone, too.
    found += _alternate(["results" if _results(content) else content["role"] for content in contents])
    for index, content in enumerate(contents):
        after = contents[index + 1] if index + 1 < len(contents) else {"parts": []}
        found += [f"contents[{index}]: {each}" for each in _gemini_content(content, after)]
    tools: list[Json] = body.get("tools", [])
    both = len(tools) > 1 and any("functionDeclarations" in tool for tool in tools)
    if both and not (body.get("toolConfig") or {}).get("includeServerSideToolInvocations"):
        found.append("the provider's own tools stand beside functions without the flag that allows it")
    declared = (one for tool in tools for one in tool.get("functionDeclarations", ()))
    return found + _names((one["name"] for one in declared), _GEMINI_NAME)


def _results(content: Json) -> list[Json]:
    return [part["functionResponse"] for part in content["parts"] if "functionResponse" in part]


def _gemini_content(content: Json, after: Json) -> Complaints:
    parts: list[Json] = content["parts"]
    if not parts:
        return ["it is empty"]
    found = ["a text is empty" for part in parts if part.get("text") == "" and "thoughtSignature" not in part]
    calls = [part for part in parts if "functionCall" in part]
    if calls and not calls[0].get("thoughtSignature"):
        found.append("the first call is not signed")
    asked = [call["functionCall"].get("id") for call in calls]
    given = [result.get("id") for result in _results(after)]
    if asked != given and calls:
        found.append(f"calls {asked} are answered by {given}")
    if _results(content) and len(_results(content)) != len(parts):
        found.append("results stand beside other parts")
    kinds = [key for part in parts for key in part if key in ("executableCode", "codeExecutionResult")]
    if kinds != ["executableCode", "codeExecutionResult"] * (len(kinds) // 2):
        found.append(f"code and its output are out of order: {kinds}")
    return found


# --- Ollama ---------------------------------------------------------------------------------------


def _ollama(headers: Mapping[str, str], body: Json) -> Complaints:
    found = [] if body["options"].get("num_ctx") else ["no window is asked for"]
    waiting: list[str] = []
    for index, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            if message.get("tool_name") in waiting:
                waiting.remove(message["tool_name"])
            else:
                found.append(f"messages[{index}] is the result of no call")
            continue
        found += [f"the call of {name} has no result" for name in waiting]
        waiting = [call["function"]["name"] for call in message.get("tool_calls", ())]
        if not message.get("content") and not waiting and not message.get("images"):
            found.append(f"messages[{index}] is empty")
    found += [f"the call of {name} has no result" for name in waiting]
    return found + _names(tool["function"]["name"] for tool in body.get("tools", ()))


_RULES: dict[Wire, Callable[[Mapping[str, str], Json], Complaints]] = {
    "anthropic": _anthropic,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
    "ollama": _ollama,
}
