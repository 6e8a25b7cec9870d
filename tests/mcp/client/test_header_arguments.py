"""Arguments repeated as headers."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from pilothouse.mcp.client.header_arguments import header_text, mirrored, objection


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def marked(name: object, kind: str = "string") -> dict[str, object]:
    return {"type": kind, "x-mcp-header": name}


def test_only_marked_arguments_that_are_there_become_headers() -> None:
    wanted = schema(
        region=marked("Region"),
        count=marked("Count", "integer"),
        loud=marked("Loud", "boolean"),
        gone=marked("Gone"),
        empty=marked("Empty"),
        query={"type": "string"},
        place={"type": "object", "properties": {"zone": marked("Zone")}},
    )
    given = {"region": "us", "count": 3, "loud": False, "gone": None, "empty": "", "query": "q", "place": {"zone": "z"}}
    assert mirrored(wanted, given) == {
        "Mcp-Param-Region": "us",
        "Mcp-Param-Count": "3",
        "Mcp-Param-Loud": "false",
        "Mcp-Param-Empty": "",
        "Mcp-Param-Zone": "z",
    }
    assert objection(wanted) == ""


@pytest.mark.parametrize("value", [" padded ", "line\r\nInjected: yes", "\ttab", "Größe", "=?base64?eA==?="])
def test_a_value_that_a_header_cannot_carry_is_encoded_and_cannot_add_headers(value: str) -> None:
    sent = header_text(value)
    assert sent.isascii()
    assert sent.isprintable()
    assert base64.b64decode(sent.removeprefix("=?base64?").removesuffix("?=")).decode() == value


@pytest.mark.parametrize("value", ["plain", "with spaces inside", ""])
def test_a_plain_value_stays_as_it_is(value: str) -> None:
    assert header_text(value) == value


@pytest.mark.parametrize(
    "wanted",
    [
        schema(a=marked("")),
        schema(a=marked("My Region")),
        schema(a=marked("Region:Primary")),
        schema(a=marked("Région")),
        schema(a=marked("Region\t1")),
        schema(a=marked(7)),
        schema(a=marked("A", "number")),
        schema(a=marked("A", "object")),
        schema(a=marked("A", "null")),
        schema(a=marked("Region"), b=marked("region")),
        {"type": "object", "anyOf": [schema(a=marked("A"))]},
        schema(a={"type": "array", "items": marked("A")}),
    ],
)
def test_marks_that_cannot_be_followed_are_told(wanted: dict[str, Any]) -> None:
    assert objection(wanted)


def test_an_argument_may_be_called_like_the_mark() -> None:
    assert objection(schema(**{"x-mcp-header": {"type": "string"}})) == ""
