"""A field that a request does not know is refused wherever it stands, so that a misspelt one is never ignored."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import msgspec
import pytest
from msgspec import inspect

from pilothouse.types.api import SocketCommand
from pilothouse.types.errors import BadField
from pilothouse.types.servers import ServerInput
from pilothouse.types.terminals import TerminalCommand
from pilothouse.web.bodies import check_fields
from pilothouse.web.routes import ROUTES
from pilothouse.web.routing import AnyRoute
from tests.support.in_process_server import BEARER, RunningServer

TAKING = [route for route in ROUTES if isinstance(route.body, type) and issubclass(route.body, msgspec.Struct)]
COMMANDS = [*get_args(SocketCommand), *get_args(TerminalCommand)]
MISSPELT = "toolz"


class _Object(dict[str, Any]):
    """An object whose fields its type names."""


def examples(info: inspect.Type, within: tuple[type, ...] = ()) -> Iterator[Any]:
    """Yield values of a type that together have each of its objects once."""
    if isinstance(info, inspect.StructType):
        if info.cls in within:
            return
        yield from _objects(info, (*within, info.cls))
    elif isinstance(info, inspect.UnionType):
        for choice in sorted(info.types, key=lambda each: isinstance(each, inspect.NoneType)):
            yield from examples(choice, within)
    elif isinstance(info, inspect.DictType):
        for value in examples(info.value_type, within):
            yield {"name": value}
    elif isinstance(info, inspect.TupleType):
        yield [next(examples(part, within)) for part in info.item_types]
    elif isinstance(info, inspect.CollectionType):
        for item in examples(info.item_type, within):
            yield [item] * max(1, info.min_length or 0)
    else:
        yield _plain(info)


def _objects(info: inspect.StructType, within: tuple[type, ...]) -> Iterator[Any]:
    variants = {field.encode_name: list(examples(field.type, within)) for field in info.fields}
    first = _Object({name: values[0] for name, values in variants.items() if values})
    if info.tag_field is not None:
        first[info.tag_field] = info.tag
    yield first
    for name, values in variants.items():
        for value in values[1:]:
            yield _Object({**first, name: value})


def _plain(info: inspect.Type) -> Any:
    if isinstance(info, inspect.IntType | inspect.FloatType):
        return info.ge if info.ge is not None else 1
    if isinstance(info, inspect.LiteralType):
        return info.values[0]
    if isinstance(info, inspect.EnumType):
        return next(iter(info.cls)).value
    if isinstance(info, inspect.BoolType):
        return True
    return None if isinstance(info, inspect.NoneType | inspect.AnyType) else "text"


def misspelt(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a value as often as it has objects, each time with a field in one of them that nobody knows; and where."""
    if isinstance(value, _Object):
        yield f"{at} of {sorted(value)}", {**value, MISSPELT: "x"}
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in parts:
        for place, changed in misspelt(inner, f"{at}.{key}"):
            copy = value.copy()
            copy[key] = changed
            yield place, copy


@pytest.mark.parametrize("route", TAKING, ids=lambda route: route.name)
async def test_a_field_that_a_request_does_not_know_is_refused_at_every_depth(
    server: RunningServer, route: AnyRoute
) -> None:
    path = re.sub(r"{\w+}", "1", route.path)
    bodies: dict[str, Any] = {}
    for example in examples(inspect.type_info(route.body)):
        assert msgspec.json.decode(json.dumps(example), type=route.body)
        bodies |= misspelt(example)
    assert bodies
    for place, body in bodies.items():
        answer = await server.http.request(route.method, path, json=body, headers=BEARER)
        assert answer.status_code == 400, place
        assert f"There is no field “{MISSPELT}”" in answer.json()["message"], place


@pytest.mark.parametrize("command", COMMANDS, ids=lambda kind: kind.__name__)
def test_a_command_over_a_socket_has_no_field_that_it_does_not_know(command: type[msgspec.Struct]) -> None:
    (example,) = examples(inspect.type_info(command))
    assert msgspec.json.decode(json.dumps(example), type=command)
    with pytest.raises(msgspec.ValidationError, match=MISSPELT):
        msgspec.json.decode(json.dumps(example | {MISSPELT: "x"}), type=command)


def test_what_a_person_names_freely_is_no_unknown_field() -> None:
    named = {"name": "n", "env": {"ANY": "x"}, "toolTimes": {"any tool": {"total": 5}}}
    check_fields(json.dumps(named).encode(), ServerInput)
    named["toolTimes"]["any tool"] |= {"totl": 5}  # type: ignore[index]
    with pytest.raises(BadField, match=r"There is no field “totl” in “toolTimes\.any tool”"):
        check_fields(json.dumps(named).encode(), ServerInput)
