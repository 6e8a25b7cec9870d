"""The manifest of a bundle: what would start, and what is to be filled in."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pilothouse.mcp.proposals.filling import filled
from pilothouse.mcp.proposals.mcpb import proposal_of
from pilothouse.types.json import JsonObject
from pilothouse.types.proposals import FilledProposal
from pilothouse.types.server_keys import KeyInput

SHA = "a" * 64
USER_CONFIG: JsonObject = {
    "folders": {"type": "directory", "title": "Allowed folders", "multiple": True, "required": True,
                "default": ["${HOME}/Desktop"]},
    "api_key": {"type": "string", "title": "API key", "sensitive": True, "required": True},
    "limit": {"type": "number", "title": "Limit", "default": 10},
    "loud": {"type": "boolean", "title": "Loud", "default": False},
    "rules": {"type": "file", "title": "Rules"},
}  # fmt: skip


def manifest(config: JsonObject | None = None, **more: object) -> JsonObject:
    server: JsonObject = {"type": "node", "entry_point": "server/index.js"}
    if config is not None:
        server["mcp_config"] = config
    return {
        "manifest_version": "0.3", "name": "files", "display_name": "Files", "version": "1.0.0",
        "description": "Reads files.", "server": server, "user_config": USER_CONFIG, **more,
    }  # fmt: skip


def test_a_bundle_asks_for_what_its_manifest_wants() -> None:
    config = {
        "command": "node",
        "args": ["${__dirname}/server/index.js", "--limit=${user_config.limit}", "${user_config.folders}"],
        "env": {"API_KEY": "${user_config.api_key}", "LOUD": "${user_config.loud}", "RULES": "${user_config.rules}"},
    }
    found = proposal_of(manifest(config), SHA, ("It is not signed.",))
    assert (found.kind, found.name, found.runs, found.problem) == ("mcpb", "Files", "the bundle Files 1.0.0", "")
    assert found.warnings == ("It is not signed.",)
    fields = {each.label: each for each in found.fields}
    assert fields["API key"].id == "env:API_KEY"
    assert fields["Allowed folders"].schema == {
        "type": "array",
        "items": {"type": "string", "format": "path"},
        "default": [str(Path.home() / "Desktop")],
    }
    assert found.auth_type == "api_key"
    body = filled(
        FilledProposal(
            proposal=found,
            values={"value:folders": ["/a", "/b c"], "value:loud": True},
            keys={"env:API_KEY": KeyInput(value="k")},
        )
    )
    assert (body.bundle, body.command) == (SHA, "node")
    assert body.args == ("${__dirname}/server/index.js", "--limit=10", "/a", "/b c")
    assert body.plain_env == {"LOUD": "true"}


def test_a_bundle_that_names_only_its_entry_point_is_started_in_the_usual_way() -> None:
    server = proposal_of(manifest(), SHA).server
    assert server is not None
    assert (server.command, server.args) == ("node", ("${__dirname}/server/index.js",))


def test_what_this_system_needs_counts_before_the_rest() -> None:
    own = {"command": "mine", "args": []}
    config = {"command": "node", "args": ["x"], "platform_overrides": {sys.platform: own}}
    server = proposal_of(manifest(config), SHA).server
    assert server is not None
    assert (server.command, server.args) == ("mine", ())


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (manifest({"command": "node", "args": ["${__dirname}/../../etc/x"]}), "leads out"),
        (manifest(server={"type": "node", "entry_point": "../x.js"}), "leads out"),
        (manifest(server={"type": "node", "entry_point": "/bin/sh"}), "leads out"),
        (manifest(server={}), "what to start"),
        (manifest({"command": "${user_config.rules}"}), "wants what it starts"),
        (manifest({"command": "node", "args": ["${user_config.unknown}"]}), "does not describe"),
        (manifest({"command": "node", "args": "x"}), "not a list"),
        (manifest({"command": 7}), "not a text"),
        (manifest({"command": "node", "env": {"A B": "x"}}), "names and texts"),
        (manifest(compatibility={"platforms": ["win32"]}), "made for win32"),
    ],
)
def test_a_bundle_that_cannot_be_used_says_why(given: JsonObject, problem: str) -> None:
    found = proposal_of(given, SHA)
    assert found.server is None
    assert problem in found.problem
