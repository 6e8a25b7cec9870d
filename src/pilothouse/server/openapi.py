"""The OpenAPI document, made from the route table: `python -m pilothouse.server.openapi` prints it."""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
from msgspec import inspect

from pilothouse import __version__
from pilothouse.server.routes import ROUTES
from pilothouse.server.routing import AnyRoute, NoQuery
from pilothouse.types.api import Problem, SocketCommand, SocketFrame
from pilothouse.types.events import Event
from pilothouse.types.terminals import TerminalCommand, TerminalFrame

Schema = dict[str, Any]

_REF = "#/components/schemas/{name}"
# Unions that a client wants by name; msgspec names only structs.
_UNIONS: dict[str, Any] = {"Event": Event, "SocketFrame": SocketFrame, "SocketCommand": SocketCommand}
_UNIONS |= {"TerminalCommand": TerminalCommand, "TerminalFrame": TerminalFrame}


def document() -> Schema:
    """Return the document for this version of the API."""
    replies = [route.reply for route in ROUTES if route.kind != "file"]
    kinds = [*replies, *(kind for route in ROUTES for kind in (route.body, route.query))]
    types = [*_UNIONS.values(), Problem, *(kind for kind in kinds if kind is not type(None))]
    schemas, components = msgspec.json.schema_components(types, ref_template=_REF)
    for struct in _structs(types):
        _settle_fields(struct, components[struct.__name__])
    for name, schema in zip(_UNIONS, schemas, strict=False):
        components[name] = schema
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


def _structs(types: list[Any]) -> set[type[msgspec.Struct]]:
    """Return every struct that the types mention, however deep."""
    found: set[type[msgspec.Struct]] = set()
    todo: list[Any] = list(inspect.multi_type_info(types))
    while todo:
        node = todo.pop()
        if isinstance(node, inspect.StructType):
            if node.cls in found:
                continue
            found.add(node.cls)
        if isinstance(node, inspect.Type | inspect.Field):
            todo += [getattr(node, name) for name in node.__struct_fields__]
        elif isinstance(node, tuple):
            todo += node
    return found


def _settle_fields(struct: type[msgspec.Struct], schema: Schema) -> None:
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
    if "{id}" in route.path:
        found.append({"name": "id", "in": "path", "required": True, "schema": {"type": "string"}})
    if "{process}" in route.path:
        found.append({"name": "process", "in": "path", "required": True, "schema": {"type": "string"}})
    if "{index}" in route.path:
        found.append({"name": "index", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 0}})
    if route.query is not NoQuery:
        infos = msgspec.structs.fields(route.query)
        properties = components[route.query.__name__]["properties"]
        found += [
            {"name": info.encode_name, "in": "query", "required": info.required, "schema": properties[info.encode_name]}
            for info in infos
        ]
    if route.kind == "events":
        found.append({"name": "Last-Event-ID", "in": "header", "required": False, "schema": {"type": "integer"}})
    if route.name == "post_message":
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
