"""Other programs' settings files."""

from __future__ import annotations

import pytest

from pilothouse.mcp.importing import read
from pilothouse.types.errors import PilothouseError

DESKTOP = """{"mcpServers": {
  "filesystem": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/me"]},
  "github": {"command": "docker", "args": ["run", "-i", "--rm", "ghcr.io/github/server"], "env": {"TOKEN": "abcdefgh"}}
}}"""
CODE = """{"projects": {"/p": {"mcpServers": {"sentry": {"type": "http", "url": "https://mcp.sentry.dev/mcp",
  "headers": {"Authorization": "Bearer ${SENTRY_TOKEN}"}}}}},
  "mcpServers": {"local": {"type": "stdio", "command": "/usr/bin/server", "args": []}}}"""
VS_CODE = """{
  // what to ask for
  "inputs": [{"type": "promptString", "id": "key", "password": true}],
  "servers": {
    "perplexity": {"type": "stdio", "command": "npx", "args": ["-y", "server-perplexity"],
      "env": {"API_KEY": "${input:key}", "URL": "https://example.com//x"}}, /* and one more */
    "events": {"type": "sse", "url": "https://example.com/sse"},
    "here": {"command": "${workspaceFolder}/server"},
  },
}"""
CURSOR = '\ufeff{"mcpServers": {"remote": {"url": "https://example.com/mcp", "headers": {"X-Key": "k"}}}}'


def test_claude_desktop_and_its_secrets() -> None:
    files, github = read(DESKTOP)
    assert files.body is not None
    assert (files.name, files.body.command, files.body.args[-1]) == ("filesystem", "npx", "/home/me")
    assert github.body is not None
    assert github.body.env == {"TOKEN": "abcdefgh"}
    assert github.body.plain_env == {}


def test_claude_code_with_projects_and_blanks() -> None:
    local, sentry = read(CODE)
    assert local.name == "local"
    assert sentry.body is not None
    assert sentry.body.headers == {"Authorization": None}
    assert sentry.body.enabled is False


def test_vs_code_with_comments_inputs_and_folders() -> None:
    perplexity, events, here = read(VS_CODE)
    assert perplexity.body is not None
    assert perplexity.body.env == {"API_KEY": None, "URL": "https://example.com//x"}
    assert events.body is not None
    assert events.body.wire == "sse"
    assert here.body is None
    assert "workspaceFolder" in here.problem


def test_cursor_and_its_byte_order_mark() -> None:
    (remote,) = read(CURSOR)
    assert remote.body is not None
    assert remote.body.url == "https://example.com/mcp"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"mcpServers": []}', "x" * 2_000_000, "[" * 100_000])
def test_a_file_without_servers_is_told_in_one_sentence(text: str) -> None:
    with pytest.raises(PilothouseError) as error:
        read(text)
    assert error.value.code == "bad_request"
    assert "\n" not in error.value.message


def test_one_bad_server_does_not_spoil_the_others() -> None:
    found = read('{"mcpServers": {"bad": 7, "worse": {"args": []}, "good": {"command": "x"}}}')
    assert [each.body is None for each in found] == [True, True, False]
