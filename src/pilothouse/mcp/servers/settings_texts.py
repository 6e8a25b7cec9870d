"""The text of a settings file made into plain data: JSON with comments, TOML or YAML, whichever it is.

Who wrote it may want to hold us up: this is done in the helper process.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

import msgspec
import yaml

from pilothouse.types import jsonc, limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import is_within

WHICH = "Choose the file that lists the MCP servers."
_JSON = re.compile(r"\ufeff?\s*(\{|//|/\*)")
# `name = …` or `[table]` in the first line that says something; YAML has neither.
_TOML = re.compile(r"\ufeff?(?:\s*+(?:#[^\n]*+\n)?)*+(?:\[|[\w.\"'-]++\s*+=)")
_TOO_MUCH = "The file cannot be read: there is too much in it, or it is nested too deeply."
# The one written in C where it is there: ten times as fast.
_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def data_in(text: str) -> Any:
    """Return what a settings file says; raise `bad_request`, one sentence, for what is no settings file."""
    if _JSON.match(text):
        return _json(text)
    return _toml(text) if _TOML.match(text) else _yaml(text.removeprefix("\ufeff"))


def too_much() -> PilothouseError:
    """Return why a file with too many or too deep things in it is refused."""
    return PilothouseError("bad_request", _TOO_MUCH, fix=WHICH)


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(jsonc.plain(text))
    except (msgspec.DecodeError, RecursionError) as error:
        raise _refused("JSON", str(error)) from None


def _toml(text: str) -> Any:
    try:
        return _plain(tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n")))
    except tomllib.TOMLDecodeError as error:
        # What stands there may be a key: only the place is told.
        place = re.search(r"at line \d+, column \d+", str(error))
        raise _refused("TOML", f"it goes wrong {place[0]}" if place else "") from None
    except RecursionError:
        raise too_much() from None


def _yaml(text: str) -> Any:
    try:
        _check_yaml(text)
        content = yaml.load(text, Loader=_Loader)  # noqa: S506  a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _refused("YAML", f"it goes wrong at line {mark.line + 1}" if mark else "") from None
    except (yaml.YAMLError, ValueError):
        raise _refused("YAML", "") from None
    except RecursionError:
        raise too_much() from None
    if not isinstance(content, dict):
        raise PilothouseError("bad_request", "The file is not JSON, YAML or TOML.", fix=WHICH)
    return _plain(content)


def _check_yaml(text: str) -> None:
    """Raise for a document that would grow: an alias of an alias of an alias stands for billions."""
    depth = aliases = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            aliases += 1
        if depth > limits.JSON_DEPTH or aliases > limits.YAML_ALIASES:
            raise too_much()


def _plain(content: Mapping[str, Any]) -> Any:
    """Return data with texts for dates and the like, and for the names of everything."""
    if not is_within(content, limits.JSON_DEPTH, limits.SETTINGS_PIECES):
        raise too_much()
    return msgspec.to_builtins(content, str_keys=True, enc_hook=str)


def _refused(kind: str, why: str) -> PilothouseError:
    message = f"The file is not {kind}: {why}." if why else f"The file is not {kind}."
    return PilothouseError("bad_request", message, fix=WHICH)
