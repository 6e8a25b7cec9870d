"""The forms in which other programs write a server down, made into the one that most of them use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pilothouse.mcp.client.key_labels import AUTHORIZATION
from pilothouse.types.json import JsonObject, an_object

# What the same thing is called elsewhere: goose, OpenCode, Codex, Cherry Studio.
_OTHERWISE = {
    "cmd": "command",
    "uri": "url",
    "baseUrl": "url",
    "envs": "env",
    "environment": "env",
    "http_headers": "headers",
}
# Those among the extensions of goose that are servers; the others are parts of goose.
_EXTENSIONS = ("stdio", "sse", "streamable_http")
_LONG = 1_000
_BRIDGE = re.compile(r"mcp-remote(@[\w.-]+)?")
_BRIDGED = {"http-only": "streamable-http", "http-first": "http", "sse-only": "sse", "sse-first": "http"}
_HEADER = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+):\s*(.*)", re.DOTALL)
_VARIABLE = re.compile(r"\$\{(\w+)\}")
BRIDGE_NOTE = "It is reached directly: mcp-remote is not needed here."


def extensions(raw: Any) -> Iterator[tuple[str, Any]]:
    """Yield the servers among the extensions of goose."""
    for name, each in an_object(raw).items():
        whole = _without_wrapping(each) if isinstance(each, Mapping) else {}
        if whole.get("type") in _EXTENSIONS and (whole.get("cmd") or whole.get("uri")):
            yield str(name), whole


def name_of(key: str, raw: Any) -> str:
    """Return what a server is called: Cherry Studio keeps it under a number, with its name inside."""
    named = raw.get("name") if isinstance(raw, Mapping) and "isActive" in raw else None
    return named if isinstance(named, str) and named.strip() else key


def plain_form(raw: JsonObject) -> JsonObject:
    """Return an entry in the form that most programs use: one command, its arguments beside it, or one address."""
    made = {_OTHERWISE.get(key, key): value for key, value in _without_wrapping(raw).items()}
    command = made.get("command")
    if isinstance(command, Mapping):
        made |= {"command": command.get("path"), "args": command.get("args") or [], "env": command.get("env") or {}}
    elif isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        made |= {"command": command[0], "args": [*command[1:], *(made.get("args") or [])]}
    if "isActive" in made:
        made["disabled"] = made.pop("isActive") is False
    _fill_in_references(made)
    _count_seconds(made)
    return made


def _without_wrapping(raw: Mapping[str, Any]) -> JsonObject:
    """Return an extension of goose as it is written today; it was once an object in an object."""
    inner = raw.get("config")
    if isinstance(inner, Mapping) and ("cmd" in inner or "uri" in inner):
        return {**inner, **{key: value for key, value in raw.items() if key != "config"}}
    return dict(raw)


def _fill_in_references(made: JsonObject) -> None:
    """Put what names a variable of the environment into the place where its value belongs."""
    env = {name: f"${{env:{name}}}" for key in ("env_keys", "env_vars") for name in _names(made.pop(key, None))}
    if env:
        made["env"] = {**env, **an_object(made.get("env"))}
    headers = {
        str(header): f"${{env:{name}}}"
        for header, name in an_object(made.pop("env_http_headers", None)).items()
        if isinstance(name, str)
    }
    bearer = made.pop("bearer_token_env_var", None)
    if isinstance(bearer, str) and bearer:
        headers[AUTHORIZATION] = f"Bearer ${{env:{bearer}}}"
    if headers:
        made["headers"] = {**an_object(made.get("headers")), **headers}


def _names(raw: Any) -> list[str]:
    """Return the names of variables, given as texts or as objects with a name."""
    listed = raw if isinstance(raw, list) else []
    named = [each.get("name") if isinstance(each, Mapping) else each for each in listed]
    return [name for name in named if isinstance(name, str) and re.fullmatch(r"\w+", name)]


def _count_seconds(made: JsonObject) -> None:
    """Spell a time that is surely in seconds as most programs do: a large number is thousandths."""
    seconds = made.pop("tool_timeout_sec", None)
    if seconds is None and made.get("type") in _EXTENSIONS and "enabled" in made:
        seconds = made.get("timeout")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool):
        made["timeout"] = seconds if seconds < _LONG else seconds * _LONG


def bridged(raw: JsonObject) -> JsonObject | None:
    """Return the address behind `npx mcp-remote URL`, which programs need that reach none themselves; else None."""
    args = raw.get("args")
    if raw.get("command") not in ("npx", "bunx", "pnpx") or not isinstance(args, list):
        return None
    words = [word for word in args if word not in ("-y", "--yes")]
    if len(words) < 2 or not all(isinstance(word, str) for word in words) or not _BRIDGE.fullmatch(words[0]):
        return None
    made: JsonObject = {key: value for key, value in raw.items() if key not in ("command", "args", "env", "type")}
    rest = _options(words[2:], an_object(raw.get("env")))
    return {**made, "url": words[1], **rest} if rest is not None and "://" in words[1] else None


def _options(words: Sequence[str], env: Mapping[str, Any]) -> JsonObject | None:
    """Return what the options of mcp-remote say; None for one that means something of its own."""
    made: JsonObject = {"headers": {}}
    left = iter(words)
    for word in left:
        value = "" if word == "--allow-http" else next(left, "")
        header = _HEADER.fullmatch(value)
        if word == "--header" and header:
            made["headers"][header[1]] = _VARIABLE.sub(lambda name: str(env.get(name[1], name[0])), header[2])
        elif word == "--transport" and value in _BRIDGED:
            made["type"] = _BRIDGED[value]
        elif word != "--allow-http":
            return None
    return made
