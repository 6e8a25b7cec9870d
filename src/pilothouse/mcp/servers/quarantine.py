"""Looks at a listed tool before anyone is offered it: what is wrong is set aside with the reason, the rest works."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import msgspec

from pilothouse.json_schema.cost import Unforeseen, target
from pilothouse.mcp.client import header_arguments
from pilothouse.types import limits
from pilothouse.types.invisible import FLAGS
from pilothouse.types.json import JsonObject

_NAME = re.compile(rf"[A-Za-z0-9_.-]{{1,{limits.TOOL_NAME_CHARS}}}")
# Names with a meaning of their own to programs that keep tools in an object.
_RESERVED = {"__proto__", "prototype", "constructor", ".", ".."}
_TYPES = {"object", "array", "string", "number", "integer", "boolean", "null"}
_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
# These look at the same value again: a reference back through them alone never ends.
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")


class Unusable(Exception):
    """A tool that is not offered, and why in one sentence."""


def reasons(tools: Sequence[JsonObject]) -> list[str]:
    """Return for each tool why it is set aside; empty for a good one."""
    seen: set[str] = set()
    found: list[str] = []
    for tool in tools:
        try:
            check_name(tool.get("name"), seen)
            check_texts(tool)
            check_schema(tool.get("inputSchema"))
            check_execution(tool.get("execution"))
            found.append("")
        except Unusable as error:
            found.append(str(error))
    return found


def check_name(name: object, seen: set[str]) -> None:
    """Raise Unusable for a name that deceives or cannot be told from one seen before."""
    if not isinstance(name, str) or not name:
        raise Unusable("The tool has no name.")
    if len(name) > limits.TOOL_NAME_CHARS:
        raise Unusable(f"The name has {len(name)} characters; {limits.TOOL_NAME_CHARS} are allowed.")
    if not _NAME.fullmatch(name) or name in _RESERVED:
        raise Unusable("The name has characters other than letters, digits, dots, dashes and underscores.")
    if name.casefold() in seen:
        raise Unusable("Another tool of this server has the same name but for upper and lower case.")
    seen.add(name.casefold())


def check_texts(tool: JsonObject) -> None:
    """Raise Unusable for texts that are too long to be read by anyone."""
    for key in ("title", "description"):
        if isinstance(text := tool.get(key), str) and len(text) > limits.TOOL_TEXT_CHARS:
            raise Unusable(f"Its {key} has {len(text):,} characters; {limits.TOOL_TEXT_CHARS:,} are allowed.")


def check_schema(schema: object) -> None:
    """Raise Unusable for a schema that is none, is too large, or could keep us busy for ever."""
    if not isinstance(schema, dict):
        raise Unusable("Its parameters are not described by a JSON schema.")
    try:
        size = len(msgspec.json.encode(schema))
    except (RecursionError, OverflowError, ValueError, msgspec.MsgspecError):
        raise Unusable("The schema of its parameters is nested too deeply, or no JSON.") from None
    if size > limits.SCHEMA_BYTES:
        raise Unusable(f"The schema of its parameters has {size:,} bytes; {limits.SCHEMA_BYTES:,} are allowed.")
    if schema.get("type", "object") != "object":
        raise Unusable("The schema of its parameters is not that of an object.")
    # Pieces whose references were followed to their ends.
    done: set[int] = set()
    for piece in _pieces(schema):
        _check_piece(schema, piece, done)
    if why := header_arguments.objection(schema):
        raise Unusable(why)


def check_execution(execution: object) -> None:
    """Raise Unusable for a tool that can only be called as a task."""
    if isinstance(execution, dict) and execution.get("taskSupport") == "required":
        raise Unusable("It can only be called as a task, and tasks are not there yet.")


def _pieces(schema: JsonObject) -> Iterator[JsonObject]:
    """Yield every schema inside a schema, within bounds."""
    stack: list[tuple[Any, int]] = [(schema, 0)]
    count = 0
    while stack:
        piece, depth = stack.pop()
        count += 1
        if depth > limits.SCHEMA_DEPTH:
            raise Unusable("The schema of its parameters is nested too deeply.")
        if count > limits.SCHEMA_PIECES:
            raise Unusable("The schema of its parameters has too many parts.")
        if isinstance(piece, bool):
            continue
        if not isinstance(piece, dict):
            raise Unusable("Its parameters are not described by a valid JSON schema.")
        yield piece
        stack.extend((inner, depth + 1) for inner in _inside(piece))


def _inside(piece: JsonObject) -> Iterator[Any]:
    for key in _ONE:
        # Old schemas describe the places of a list one by one.
        if key == "items" and isinstance(piece.get(key), list):
            yield from piece[key]
        elif key in piece:
            yield piece[key]
    for key in _MANY:
        yield from _expected(piece, key, list)
    for key in _NAMED:
        yield from _expected(piece, key, dict).values()


def _expected(piece: JsonObject, key: str, kind: type[Any]) -> Any:
    value = piece.get(key, kind())
    if not isinstance(value, kind):
        raise Unusable(f"Its parameters are not described by a valid JSON schema: “{key}” has the wrong form.")
    return value


def _check_piece(root: JsonObject, piece: JsonObject, done: set[int]) -> None:
    types = piece.get("type")
    named = types if isinstance(types, list) else [types]
    if types is not None and not all(name in _TYPES for name in named if isinstance(name, str) or name is None):
        raise Unusable(f"Its parameters are not described by a valid JSON schema: there is no type “{types}”.")
    if not all(isinstance(name, str) for name in _expected(piece, "required", list)):
        raise Unusable("Its parameters are not described by a valid JSON schema: “required” has the wrong form.")
    patterns = [*(_expected(piece, "patternProperties", dict)), *([piece["pattern"]] if "pattern" in piece else [])]
    for pattern in patterns:
        if why := _objection(pattern):
            raise Unusable(f"In the schema of its parameters {why}.")
    for key in ("$ref", "$dynamicRef", "$recursiveRef"):
        if key in piece:
            _check_reference(root, piece, key, done)


def _objection(pattern: object) -> str:
    """Return why a pattern is not used; empty when there is nothing against it."""
    if not isinstance(pattern, str):
        return "a pattern is not text"
    if len(pattern) > limits.SCHEMA_PATTERN_CHARS:
        return "a pattern is too long"
    # Imported at the first pattern: most tools have none.
    from pilothouse.json_schema.validator import is_readable  # noqa: PLC0415

    return "" if is_readable(pattern) else "a pattern is not a regular expression that can be read here"


def _check_reference(root: JsonObject, piece: JsonObject, key: str, done: set[int]) -> None:
    reference = piece[key]
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise Unusable(f"The schema of its parameters refers to another place ({str(reference)[:100]}).")
    if key != "$ref":
        return
    _check_end(root, piece, (), done)


def _check_end(root: JsonObject, piece: Any, path: tuple[int, ...], done: set[int]) -> None:
    """Raise Unusable when references lead back to where they came from without going on in the value."""
    if not isinstance(piece, dict) or id(piece) in done:
        return
    if id(piece) in path:
        raise Unusable("The schema of its parameters refers to itself without an end.")
    if len(path) > limits.SCHEMA_DEPTH:
        raise Unusable("The schema of its parameters is nested too deeply.")
    path = (*path, id(piece))
    following = [_target(root, piece["$ref"])] if isinstance(piece.get("$ref"), str) else []
    for name in _IN_PLACE:
        inner = piece.get(name)
        following.extend(inner if isinstance(inner, list) else [inner])
    for each in following:
        _check_end(root, each, path, done)
    done.add(id(piece))


def _target(root: JsonObject, reference: str) -> Any:
    try:
        return target(root, reference)
    except Unforeseen:
        raise Unusable(
            f"The schema of its parameters refers to something it does not have ({reference[:100]})."
        ) from None


def texts(tool: JsonObject) -> Iterator[tuple[str, str]]:
    """Yield every text of a tool that reaches a model, with where it stands; of a very long one the beginning."""
    for key in ("title", "description"):
        if isinstance(text := tool.get(key), str):
            yield key, text[: limits.TOOL_TEXT_CHARS]
    stack: list[tuple[str, Any]] = [("parameters", tool.get("inputSchema"))]
    while stack:
        place, value = stack.pop()
        if isinstance(value, str):
            yield place, value[: limits.TOOL_TEXT_CHARS]
        elif isinstance(value, Mapping):
            stack.extend((f"{place}.{key}", inner) for key, inner in value.items())
            # Names are read by the model too.
            yield from ((place, str(key)) for key in value)
        elif isinstance(value, list):
            stack.extend((place, inner) for inner in value)


_HIDDEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\u00ad\U000e0000-\U000e007f\x00-\x08\x0b-\x1f\x7f]")
_PADDING = re.compile(r"(?<![ \t])[ \t]{60,}+\S|(?<!\n)\n{15,}+\S")
_ORDERS = re.compile(
    r"(?i)<\s*(important|system|secret|instructions?)\s*>|<!--"
    r"|\b(ignore|disregard|forget)\b.{0,30}\b(previous|prior|above|earlier|other)\b"
    r"|\b(do not|don't|never|without)\b.{0,30}\b(tell|telling|mention|inform|show|notify|asking)\b"
    r".{0,20}\b(user|person)\b"
    r"|\b(before|instead of|after)\b.{0,20}\b(using|calling|every|any)\b.{0,30}\btools?\b"
)


_SECRETS = re.compile(
    r"(?i)\b(system prompt|api[_ ]?keys?|private keys?|id_rsa|credentials|mcp\.json)\b|\.ssh\b|\.env\b"
)
_WARNED = re.compile(r"(?i)\b(do not|don't|never|avoid|without|no)\b.{0,100}$", re.DOTALL)


def warnings(tool: JsonObject) -> tuple[str, ...]:
    """Return what a careful reader would notice in a tool's texts."""
    found: dict[str, None] = {}
    for place, text in texts(tool):
        if _HIDDEN.search(FLAGS.sub("", text)):
            found[f"There are invisible characters in its {place}."] = None
        if _PADDING.search(text):
            found[f"There is text far out of sight in its {place}."] = None
        if order := _ORDERS.search(text):
            found[f"Its {place} seems to give orders to the model: “{order[0][:80]}”."] = None
        secret = _SECRETS.search(text)
        # Many descriptions ask to leave secrets out.
        if secret is not None and not _WARNED.search(text[: secret.start()]):
            found[f"Its {place} speaks of secrets: “{secret[0]}”."] = None
    if len(str(tool.get("description") or "")) > limits.TOOL_DESCRIPTION_CHARS:
        found["Its description is very long; the model gets only the beginning."] = None
    return tuple(found)


# What a name of a tool can stand in; one may end before a full stop.
_RUN = re.compile(r"[\w.-]+")


def mentions(tool: JsonObject, names: Set[str], own: Set[str] = frozenset()) -> tuple[str, ...]:
    """Return where a tool's texts speak of one of these tools, which are telling names, and not of an own one."""
    found = ((place, _mentioned(text, names, own)) for place, text in texts(tool))
    return tuple(
        dict.fromkeys(f"Its {place} speaks of another server's tool: {name}." for place, name in found if name)
    )


def _mentioned(text: str, names: Set[str], own: Set[str]) -> str:
    for run in _RUN.finditer(text):
        word = run[0]
        # No name with its server's is longer, so that a long run of dots costs no more than its length.
        ends = [at for at, char in enumerate(word[: 2 * limits.TOOL_NAME_CHARS]) if char == "."]
        for end in (*ends, len(word)):
            if (name := word[:end]) in names and name not in own:
                return name
    return ""
