"""The OpenAPI document, made from the route table: `python -m pilothouse.web.openapi` prints it."""

from __future__ import annotations

import json
import re
import sys
from typing import Any, get_origin

import msgspec
from msgspec import inspect

from pilothouse import __version__
from pilothouse.types.api import Problem, SocketCommand, SocketFrame
from pilothouse.types.authority import PendingApproval
from pilothouse.types.events import Event
from pilothouse.types.item_data import QuestionData
from pilothouse.types.items import KINDS, QUESTIONS, ItemOf
from pilothouse.types.json import encode
from pilothouse.types.terminals import TerminalCommand, TerminalFrame
from pilothouse.web.routes import ROUTES
from pilothouse.web.routing import AnyRoute, NoQuery

Schema = dict[str, Any]

_REF = "#/components/schemas/{name}"
# What msgspec calls an item of whatever kind.
_ANY_ITEM = b'ItemOf_ItemData_"'
# Unions that a client wants by name; msgspec names only structs.
_UNIONS: dict[str, Any] = {"Event": Event, "SocketFrame": SocketFrame, "SocketCommand": SocketCommand}
_UNIONS |= {"TerminalCommand": TerminalCommand, "TerminalFrame": TerminalFrame}


def document() -> Schema:
    """Return the document for this version of the API."""
    replies = [route.reply for route in ROUTES if route.kind == "json"]
    kinds = [*replies, *(kind for route in ROUTES for kind in (route.body, route.query))]
    types = [*_UNIONS.values(), Problem, *KINDS.values(), *QUESTIONS.values()]
    types += [kind for kind in kinds if kind is not type(None)]
    made = encode(msgspec.json.schema_components(types, ref_template=_REF))
    schemas, components = msgspec.json.decode(made.replace(_ANY_ITEM, b'Item"'))
    for struct in _structs(types):
        _mark_required(struct, components["Item" if struct is ItemOf else struct.__name__])
    for name, schema in zip(_UNIONS, schemas, strict=False):
        components[name] = schema
    _tell_items_apart(components)
    _open_objects(components)
    queries = {route.query.__name__ for route in ROUTES}
    paths: Schema = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, components)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Pilothouse", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {name: components[name] for name in sorted(components) if name not in queries},
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    }


def _tell_items_apart(components: Schema) -> None:
    """Say what each kind of item carries, and each kind of question; one of a newer version may be neither."""
    item = components.pop("Item")
    for kind, carried in KINDS.items():
        own = {"kind": {"enum": [kind]}, "data": {"$ref": _REF.format(name=carried.__name__)}}
        about = {"title": _item_name(kind), "description": carried.__doc__, "properties": item["properties"] | own}
        components[_item_name(kind)] = item | about
    components["Item"] = _one_of({kind: _item_name(kind) for kind in KINDS})
    names = {kind: carried.__name__ for kind, carried in QUESTIONS.items()}
    for name in names.values():
        # What tells them apart is always there.
        components[name]["required"] = ["kind"]
    components[QuestionData.__name__] = _one_of(names)
    # What waits is told with what the question carries.
    components[PendingApproval.__name__]["properties"]["data"] = {"$ref": _REF.format(name=QuestionData.__name__)}


def _item_name(kind: str) -> str:
    return f"{kind.title().replace('_', '')}Item"


def _one_of(names: dict[str, str]) -> Schema:
    """Return a union whose members are told apart by their `kind`."""
    refs = {value: _REF.format(name=name) for value, name in names.items()}
    return {
        "oneOf": [{"$ref": ref} for ref in refs.values()],
        "discriminator": {"propertyName": "kind", "mapping": refs},
    }


def _structs(types: list[Any]) -> set[type[msgspec.Struct]]:
    """Return every struct that the types mention, however deep."""
    found: set[type[msgspec.Struct]] = set()
    todo: list[Any] = list(inspect.multi_type_info(types))
    while todo:
        node = todo.pop()
        if isinstance(node, inspect.StructType):
            struct = get_origin(node.cls) or node.cls
            if struct in found:
                continue
            found.add(struct)
        if isinstance(node, inspect.Type | inspect.Field):
            todo += [getattr(node, name) for name in node.__struct_fields__]
        elif isinstance(node, tuple):
            todo += node
    return found


def _mark_required(struct: type[msgspec.Struct], schema: Schema) -> None:
    """Say what is always there: in what we send, all of it; in what we take, what has no default."""
    config = struct.__struct_config__
    if config.forbid_unknown_fields or config.omit_defaults:
        for field in schema["properties"].values():
            field.pop("default", None)
    else:
        schema["required"] = list(schema["properties"])


def _open_objects(node: object) -> None:
    """Say of every free-form object that it is one; generators take silence for an empty object."""
    if isinstance(node, list):
        for part in node:
            _open_objects(part)
    elif isinstance(node, dict):
        if node.get("type") == "object" and "properties" not in node:
            node.setdefault("additionalProperties", True)
        for part in node.values():
            _open_objects(part)


def _operation(route: AnyRoute, components: Schema) -> Schema:
    """Describe one row of the table."""
    operation: Schema = {"operationId": route.name, "summary": route.summary}
    parameters = _parameters(route, components)
    if parameters:
        operation["parameters"] = parameters
    if route.upload:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        }
    elif route.body is not type(None):
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": _ref(route.body)}}}
    if route.public:
        operation["security"] = []
    operation["responses"] = {
        str(route.status): _answer(route),
        "default": {
            "description": "What went wrong.",
            "content": {"application/json": {"schema": _ref(Problem)}},
        },
    }
    return operation


def _parameters(route: AnyRoute, components: Schema) -> list[Schema]:
    found: list[Schema] = []
    for name in re.findall(r"{(\w+)}", route.path):
        kind = {"type": "integer", "minimum": 0} if name == "index" else {"type": "string"}
        found.append({"name": name, "in": "path", "required": True, "schema": kind})
    if route.query is not NoQuery:
        infos = msgspec.structs.fields(route.query)
        properties = components[route.query.__name__]["properties"]
        found += [
            {"name": info.encode_name, "in": "query", "required": info.required, "schema": properties[info.encode_name]}
            for info in infos
        ]
    if route.kind == "events":
        found.append({"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "integer"}})
    if route.has_key:
        found.append({"name": "Idempotency-Key", "in": "header", "required": False, "schema": {"type": "string"}})
    return found


def _answer(route: AnyRoute) -> Schema:
    """Describe what a route answers when all is well."""
    if route.name == "terminal_socket":
        return {"description": "Text frames: TerminalCommand, TerminalFrame. Binary frames: output as it is."}
    if route.kind == "socket":
        return {"description": "Text frames: SocketCommand from the client, SocketFrame from the server."}
    if route.kind == "empty":
        return {"description": "Done."}
    if route.kind == "file":
        content = {"application/octet-stream": {"schema": {"type": "string", "contentMediaType": "*/*"}}}
        return {"description": "The bytes, with their own type.", "content": content}
    media = "text/event-stream" if route.kind == "events" else "application/json"
    schema = {"$ref": _REF.format(name="Event")} if route.kind == "events" else _ref(route.reply)
    return {"description": "All is well.", "content": {media: {"schema": schema}}}


def _ref(kind: Any) -> Schema:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {"$ref": _REF.format(name=kind.__name__)}
    return {"type": "object", "additionalProperties": True}


if __name__ == "__main__":
    json.dump(document(), sys.stdout, indent=2)
    sys.stdout.write("\n")
