"""Servers that ask for what nobody should type into a conversation."""

from __future__ import annotations

import pytest

from pilothouse.mcp.servers.secret_detection import secret_asked
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask, ToolOutput, ToolPaused
from tests.mcp.conftest import Scripted
from tests.support.mcp_hosting import McpHost


def form(**fields: JsonObject) -> tuple[Ask, ...]:
    return (Ask(id="a", kind="form", message="Please", schema={"type": "object", "properties": fields}),)


@pytest.mark.case("EXFIL-07")
@pytest.mark.parametrize(
    "fields",
    [
        {"password": {"type": "string"}},
        {"x": {"type": "string", "title": "Your API key"}},
        {"accessToken": {"type": "string"}},
        {"card_number": {"type": "string"}},
        {"cvv": {"type": "integer"}},
        {"pin": {"type": "string"}},
        {"value": {"type": "string", "format": "password"}},
        {"name": {"type": "string"}, "privateKey": {"type": "string"}},
        {"otp": {"type": "string"}},
    ],
)
def test_a_field_that_asks_for_a_secret_is_recognised(fields: dict[str, JsonObject]) -> None:
    assert secret_asked(form(**fields)) in fields


@pytest.mark.case("EXFIL-07")
@pytest.mark.parametrize(
    "name",
    ["name", "email", "pinned", "opinion", "tokens", "keyboard", "compass", "card_colour", "spinner", "secretary"],
)
def test_an_honest_field_is_asked_for(name: str) -> None:
    assert secret_asked(form(**{name: {"type": "string", "description": "Never give your password here."}})) == ""


@pytest.mark.case("EXFIL-07")
@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_a_server_that_asks_for_a_password_gets_nothing_and_the_call_says_so(
    hosted: McpHost, scripted: Scripted, era: str
) -> None:
    await hosted.add(scripted(*(["--era", "modern"] if era == "modern" else []), name="Nosy"))
    schema = {"type": "object", "properties": {"password": {"type": "string"}}}
    refused = await hosted.call_when_known("nosy.ask", {"schema": schema})
    assert isinstance(refused, ToolOutput)
    assert refused.error is not None
    assert refused.error.code == "SECRET_ASKED"
    assert "“password”" in refused.error.message
    honest = await hosted.call("nosy.ask")
    assert isinstance(honest, ToolPaused), "the twin: an honest question is asked"
