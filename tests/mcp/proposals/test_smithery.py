"""Smithery's details of a server, and the settings that it asks for by a schema."""

from __future__ import annotations

import pytest

from pilothouse.mcp.proposals.filling import filled
from pilothouse.mcp.proposals.smithery import proposals_of
from pilothouse.types.json import JsonObject
from pilothouse.types.proposals import FilledProposal, Proposal
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.servers import ServerInput, SmitherySource

SOURCE = SmitherySource(qualified_name="@owner/files")
SCHEMA: JsonObject = {
    "type": "object",
    "required": ["apiKey", "allowedPaths"],
    "properties": {
        "apiKey": {"type": "string", "description": "From https://example.com/keys"},
        "allowedPaths": {"type": "array", "title": "Allowed Paths", "items": {"type": "string"}},
        "depth": {"type": "integer", "default": 3},
        "mode": {"type": "string", "enum": ["fast", "safe"]},
        "hidden": {"type": ["boolean", "null"]},
        "auth": {"type": "object", "properties": {"phrase": {"type": "string", "format": "password"}}},
    },
}


def details(*connections: JsonObject, **more: object) -> JsonObject:
    return {
        "qualifiedName": "@owner/files",
        "displayName": "Files",
        "deploymentUrl": "https://server.example.com/@owner/files/mcp",
        "connections": list(connections),
        **more,
    }


def hosted(schema: JsonObject) -> Proposal:
    (found,) = proposals_of(details({"type": "http", "configSchema": schema}), SOURCE)
    assert found.server is not None, found.problem
    return found


def made(proposal: Proposal, values: JsonObject, keys: dict[str, str]) -> ServerInput:
    given = {each: KeyInput(value=value) for each, value in keys.items()}
    return filled(FilledProposal(proposal=proposal, values=values, keys=given))


@pytest.mark.case("AUT-04", "REG-16")
def test_secret_fields_of_a_schema_are_known_by_their_marks_and_names() -> None:
    found = hosted(SCHEMA)
    secret = {each.id: each for each in found.fields if each.secret}
    assert set(secret) == {"slot:apiKey", "slot:auth.phrase"}
    assert (secret["slot:apiKey"].label, secret["slot:apiKey"].link) == ("API key", "https://example.com/keys")
    assert found.auth_type == "api_key"
    assert hosted({"properties": {"city": {"type": "string"}}}).auth_type == "none"
    pair = {"properties": {"clientId": {"type": "string"}, "clientSecret": {"type": "string"}}}
    assert hosted(pair).auth_type == "oauth"


@pytest.mark.case("SRV-26")
def test_settings_of_a_schema_are_fields_and_a_list_of_folders_has_rows() -> None:
    found = hosted(SCHEMA)
    by_label = {each.label: each for each in found.fields}
    folders = by_label["Allowed Paths"]
    assert folders.schema == {"type": "array", "items": {"type": "string", "format": "path"}}
    assert folders.required
    assert by_label["Depth"].schema == {"type": "integer", "default": 3}
    assert by_label["Mode"].schema == {"type": "string", "enum": ["fast", "safe"]}
    assert by_label["Hidden"].schema == {"type": "boolean"}
    server = made(found, {folders.id: ["/a", "/b & c"], by_label["Hidden"].id: False}, {"slot:apiKey": "k"})
    assert server.url == (
        "https://server.example.com/@owner/files/mcp?apiKey=${secret:apiKey}"
        "&allowedPaths=%2Fa&allowedPaths=%2Fb%20%26%20c&depth=3&hidden=false"
    )


def test_a_server_that_runs_here_is_started_as_its_little_function_says() -> None:
    function = "config => ({command: 'npx', args: ['-y', '@owner/files', config.root], env: {API_KEY: config.apiKey}})"
    schema = {"properties": {"apiKey": {"type": "string"}, "root": {"type": "string", "format": "path"}}}
    (found,) = proposals_of(details({"type": "stdio", "stdioFunction": function, "configSchema": schema}), SOURCE)
    server = made(found, {"value:root": "/a; rm -rf /"}, {"env:API_KEY": "k"})
    assert (server.command, server.args) == ("npx", ("-y", "@owner/files", "/a; rm -rf /"))
    assert found.kind == "npm"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (details(deploymentUrl=""), "does not say how"),
        (details({"type": "http"}, deploymentUrl="http://far.example/mcp"), "not encrypted"),
        (details({"type": "http"}, deploymentUrl="javascript:alert(1)"), "not an address"),
        (details({"type": "stdio", "stdioFunction": "config => require('child_process')"}), "program of its own"),
        (details({"type": "stdio", "stdioFunction": "config => ({command: 'sh', args: ['-c', 'x']})"}), "sh"),
        (details({"type": "stdio", "bundleUrl": "https://x.example/a.mcpb"}), "drop the file"),
        (details({"type": "carrier pigeon"}), "carrier pigeon"),
    ],
)
def test_what_cannot_be_had_says_why(given: JsonObject, problem: str) -> None:
    (found,) = proposals_of(given, SOURCE)
    assert found.server is None
    assert problem in found.problem
