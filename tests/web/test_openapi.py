"""The OpenAPI document, which the page is typed from."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import get_args

import pytest

from pilothouse.types.items import ItemKind
from pilothouse.web.openapi import document
from pilothouse.web.routes import ROUTES
from tests.support.in_process_server import BEARER, RunningServer


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


@pytest.mark.slow
def test_the_document_is_printed_without_a_server_or_a_core() -> None:
    command = [sys.executable, "-X", "importtime", "-m", "pilothouse.web.openapi"]
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
    assert schemas["ItemUpdated"]["properties"]["data"]["additionalProperties"] is True


def test_each_kind_of_item_and_of_question_has_a_type_for_what_it_carries() -> None:
    schemas = document()["components"]["schemas"]
    assert set(schemas["Item"]["discriminator"]["mapping"]) == set(get_args(ItemKind))
    for kind, ref in schemas["Item"]["discriminator"]["mapping"].items():
        item = schemas[ref.rpartition("/")[2]]
        assert item["properties"]["kind"] == {"enum": [kind]}
        assert set(item["required"]) == set(item["properties"])
    assert schemas["ToolCallItem"]["properties"]["data"] == {"$ref": "#/components/schemas/CallData"}
    assert schemas["CallData"]["properties"]["argumentBytes"] == {"type": "integer"}
    assert set(schemas["QuestionData"]["discriminator"]["mapping"]) == {
        "approval",
        "elicitation",
        "collaboration",
        "limit",
    }
    assert schemas["LimitData"]["required"] == ["kind"]


def test_every_name_is_spelled_one_way() -> None:
    schemas = document()["components"]["schemas"]
    found = {(name, field) for name, schema in schemas.items() for field in schema.get("properties", ())}
    assert len(found) > 500
    assert {place for place in found if "_" in place[1]} == set()
