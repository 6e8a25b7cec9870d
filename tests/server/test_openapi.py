"""The OpenAPI document, which the page is typed from."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

from pilothouse.server.openapi import document
from pilothouse.server.routes import ROUTES
from tests.server.running import BEARER, RunningServer


def references(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            elif key == "mapping":
                yield from value.values()
            else:
                yield from references(value)
    elif isinstance(node, list):
        for part in node:
            yield from references(part)


def test_the_document_is_printed_without_a_server_or_a_core() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "pilothouse.server.openapi"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert json.loads(done.stdout) == json.loads(json.dumps(document()))
    assert not [name for name in ("uvicorn", "sqlalchemy") if f"| {name}\n" in done.stderr]


async def test_the_server_gives_the_same_document(server: RunningServer) -> None:
    answer = await server.http.get("/api/openapi.json", headers=BEARER)
    assert answer.json() == json.loads(json.dumps(document()))


def test_every_route_is_described_under_its_own_name() -> None:
    paths = document()["paths"]
    names = [paths[route.path][route.method.lower()]["operationId"] for route in ROUTES]
    assert len(set(names)) == len(ROUTES)


def test_every_reference_leads_somewhere() -> None:
    spec = document()
    names = {reference.removeprefix("#/components/schemas/") for reference in references(spec)}
    assert names <= set(spec["components"]["schemas"])


def test_unions_tell_their_members_apart() -> None:
    schemas = document()["components"]["schemas"]
    assert schemas["Event"]["discriminator"]["propertyName"] == "type"
    assert "item.delta" in schemas["Event"]["discriminator"]["mapping"]
    assert schemas["SocketFrame"]["discriminator"]["propertyName"] == "op"
    assert set(schemas["SocketCommand"]["discriminator"]["mapping"]) == {"subscribe", "unsubscribe"}


def test_what_is_sent_is_always_whole_and_what_is_taken_may_leave_out_defaults() -> None:
    schemas = document()["components"]["schemas"]
    assert set(schemas["Conversation"]["required"]) == set(schemas["Conversation"]["properties"])
    assert schemas["NewMessage"]["required"] == ["text"]
    assert schemas["Item"]["properties"]["data"]["additionalProperties"] is True
