"""JSON with comments and trailing commas, as editors write it: read, and added to without losing a comment."""

from __future__ import annotations

import json
import re

from pilothouse.tools.arguments import BadArgument
from pilothouse.types.json import JsonObject
from pilothouse.types.jsonc import plain, without_comments

_PIECE = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|[\[\]{}]', re.DOTALL)


def read(text: str, name: str) -> JsonObject:
    """Return the object that a text holds; raise one sentence if it holds none."""
    try:
        found = json.loads(plain(text))
    except json.JSONDecodeError as error:
        raise BadArgument(f"{name} cannot be read: line {error.lineno}: {error.msg}.", "BAD_FILE") from None
    except RecursionError:
        raise BadArgument(f"{name} cannot be read: it is nested too deeply.", "BAD_FILE") from None
    if not isinstance(found, dict):
        raise BadArgument(f"{name} cannot be read: it is no object in braces.", "BAD_FILE")
    return found


def with_entry(text: str, key: str, entry: JsonObject, name: str) -> str:
    """Return the text with one more entry in the list `key` at its top; comments and order stay."""
    found = read(text, name)
    if not isinstance(found.get(key), list):
        found[key] = [entry]
        return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    without = without_comments(text)
    end = _end_of_list(without, key)
    bare = without[:end].rstrip()
    comma = "" if bare.endswith(("[", ",")) else ","
    indented = json.dumps(entry, indent=2, ensure_ascii=False).replace("\n", "\n    ")
    start = text.removeprefix("\ufeff")
    return f"{start[: len(bare)]}{comma}{start[len(bare) : end].rstrip()}\n    {indented}\n  {start[end:]}"


def _end_of_list(bare: str, key: str) -> int:
    """Return where the list of a key at the top of an object ends; the last one of that name counts, as in JSON."""
    depth, name, wanted, end = 0, "", -1, 0
    for match in _PIECE.finditer(bare):
        if match[1]:
            name = match[1] if depth == 1 else name
        elif match[0] in ("[", "{"):
            depth += 1
            wanted = depth if depth == 2 and match[0] == "[" and name == json.dumps(key) else wanted
        else:
            if depth == wanted:
                end, wanted = match.start(), -1
            depth -= 1
    return end
