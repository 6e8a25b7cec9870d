"""Results that are not what their tool promised, and refusals that send the person somewhere first."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from pilothouse.mcp.client.content import checked_output, to_output
from pilothouse.mcp.client.session import InputRequired, RpcError
from tests.mcp.client.scripted_sessions import open_session, text_of

SCHEMA = {"type": "object", "properties": {"total": {"type": "integer"}}, "required": ["total"]}


def fault(structured: Any, schema: Any = SCHEMA) -> Any:
    result = {"content": [{"type": "text", "text": "3"}], "structuredContent": structured}
    output = asyncio.run(checked_output(result, schema))
    # Whatever is wrong with it, the result is passed on.
    assert output.error is None
    assert "3" in output.text
    return output.data.get("serverFault", "")


@pytest.mark.parametrize(
    ("texts", "structured", "is_shown"),
    [
        (['{"total": 3}'], {"total": 3}, False),
        (["3"], {"result": 3}, False),
        (["# Notes\n"], {"content": "# Notes\n"}, False),
        (["one", "two"], {"result": ["one", "two"]}, False),
        (["3"], {"total": 4}, True),
        (["one"], {"result": ["one", "two"]}, True),
        (["3"], {"total": 3, "unit": "m"}, True),
        ([], {"result": []}, True),
    ],
)
def test_data_that_the_text_says_already_is_not_said_twice(texts: list[str], structured: Any, is_shown: bool) -> None:
    content = [{"type": "text", "text": text} for text in texts]
    parts = to_output({"content": content, "structuredContent": structured}).parts
    assert [part.kind for part in parts] == ["text"] * len(texts) + ["json"] * is_shown


@pytest.mark.case("TOOL-10")
def test_a_result_that_breaks_its_promise_is_passed_on_and_noted() -> None:
    assert not fault({"total": 3})
    assert "“total”" in fault({"total": "three"})
    assert "required" in fault({})
    assert "gave none" in fault(None)
    # A pattern that is made to take for ever takes no time.
    assert "“total”" in fault({"total": "a" * 40 + "!"}, {"properties": {"total": {"pattern": "(a+)+$"}}})


@pytest.mark.case("TOOL-10")
def test_content_that_nobody_knows_and_an_error_that_is_called_none_are_passed_on_as_text() -> None:
    odd: list[Any] = [{"type": "hologram", "data": [1]}, "bare", 7, {"no": "type"}]
    output = to_output({"content": odd, "isError": False})
    assert [(part.kind, part.text) for part in output.parts] == [
        ("text", '{"type":"hologram","data":[1]}'),
        ("text", "bare"),
        ("text", "7"),
        ("text", '{"no":"type"}'),
    ]
    assert '{"type":"hologram","data":[1]}' in output.text
    failed = to_output({"content": [{"type": "text", "text": "Error: no such city"}], "isError": False})
    assert (failed.error, failed.text) == (None, "Error: no such city")


@pytest.mark.case("TOOL-10")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "banana"},
        {"$ref": "#/nowhere"},
        {"$ref": "http://127.0.0.1:9/schema"},
        {"properties": {"total": {"$ref": "#"}}, "$ref": "#"},
        {"properties": {"total": {"pattern": "(unclosed"}}},
    ],
)
def test_a_schema_that_cannot_be_used_proves_nothing(schema: Any) -> None:
    assert not fault({"total": "a" * 40 + "!"}, schema)


REFUSED = {
    "code": -32042,
    "message": "Sign in first.",
    "data": {
        "elicitations": [{"mode": "url", "elicitationId": "e1", "url": "https://example.com/in", "message": "Go"}]
    },
}


async def test_a_refusal_that_sends_the_person_to_an_address_is_a_question_and_then_the_call_again() -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": "$ID", "error": REFUSED}).replace('"$ID"', "$ID")
    async with open_session() as talked:
        paused = await talked.session.call_tool("raw", {"line": line})
        assert isinstance(paused, InputRequired)
        (ask,) = paused.asks
        assert (ask.id, ask.kind, ask.url, ask.message) == ("e1", "url", "https://example.com/in", "Go")
        accepted = {ask.id: {"action": "accept"}}
        assert text_of(await talked.session.resume_call("echo", {"text": "in"}, paused.state, accepted)) == "in"
        with pytest.raises(RpcError, match="did not open"):
            await talked.session.resume_call("echo", {"text": "in"}, paused.state, {ask.id: {"action": "decline"}})


@pytest.mark.parametrize("data", [None, {}, {"elicitations": "x"}, {"elicitations": [1]}])
async def test_a_refusal_that_names_no_address_is_a_refusal(data: Any) -> None:
    error = {**REFUSED, "data": data}
    line = json.dumps({"jsonrpc": "2.0", "id": "$ID", "error": error}).replace('"$ID"', "$ID")
    async with open_session() as talked:
        with pytest.raises(RpcError, match="Sign in first"):
            await talked.session.call_tool("raw", {"line": line})
