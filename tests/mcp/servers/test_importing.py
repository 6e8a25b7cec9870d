"""Other programs' settings files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from pilothouse.mcp.servers import importing
from pilothouse.mcp.servers.importing import Found, read
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.servers import ImportQuestion, ServerInput

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


def taken(text: str, answers: Mapping[str, str | None] | None = None, **environ: str) -> list[Found]:
    return importing.taken(read(text), answers or {}, environ)


def asked(text: str, **environ: str) -> dict[str, ImportQuestion]:
    return {each.id: each for each in importing.questions(read(text), environ)}


def one(entry: object, answers: Mapping[str, str | None] | None = None, **environ: str) -> tuple[ServerInput, str]:
    """Return the only server of a file, and what is said of it."""
    (found,) = taken(json.dumps({"mcpServers": {"it": entry}}), answers, **environ)
    assert found.body is not None, found.problem
    return found.body, " ".join(found.notes)


def test_claude_desktop_and_its_secrets() -> None:
    files, github = taken(DESKTOP)
    assert files.body is not None
    assert (files.name, files.body.command, files.body.args[-1]) == ("filesystem", "npx", "/home/me")
    assert github.body is not None
    assert github.body.env == {"TOKEN": "abcdefgh"}
    assert github.body.plain_env == {}


def test_claude_code_with_projects_and_blanks() -> None:
    local, sentry = taken(CODE)
    assert local.name == "local"
    assert sentry.body is not None
    assert sentry.body.plain_headers == {"Authorization": "Bearer ${secret:SENTRY_TOKEN}"}
    assert sentry.body.secrets == {"SENTRY_TOKEN": None}
    assert "needs a value for SENTRY_TOKEN" in " ".join(sentry.notes)
    assert sentry.body.enabled is False


def test_vs_code_with_comments_inputs_and_folders() -> None:
    perplexity, events, here = taken(VS_CODE, {"input:key": "pplx-1"})
    assert perplexity.body is not None
    assert perplexity.body.env == {"URL": "https://example.com//x"}
    assert perplexity.body.plain_env == {"API_KEY": "${secret:key}"}
    assert perplexity.body.secrets == {"key": "pplx-1"}
    assert events.body is not None
    assert events.body.wire == "sse"
    assert here.body is None
    assert "workspaceFolder" in here.problem
    assert asked(VS_CODE)["workspaceFolder"].servers == ("here",)
    *_, here = taken(VS_CODE, {"workspaceFolder": "/srv/project"})
    assert here.body is not None
    assert here.body.command == "/srv/project/server"


def test_cursor_and_its_byte_order_mark() -> None:
    (remote,) = taken(CURSOR)
    assert remote.body is not None
    assert remote.body.url == "https://example.com/mcp"


def test_what_stands_around_a_blank_stays() -> None:
    entry = {"url": "https://example.com/mcp?key=${input:k}", "headers": {"Authorization": "Bearer ${input:t}"}}
    body, _ = one(entry, {"input:t": "abc", "input:k": "def"})
    assert body.plain_headers == {"Authorization": "Bearer ${secret:t}"}
    assert body.secrets["t"] == "abc"
    # What is no secret stands there as it is.
    assert body.url == "https://example.com/mcp?key=def"


def test_a_secret_input_in_the_arguments_is_asked_for_and_stays_a_secret() -> None:
    text = json.dumps(
        {
            "inputs": [
                {"type": "promptString", "id": "key", "description": "API key", "password": True},
                {"type": "pickString", "id": "level", "options": ["low", {"label": "High", "value": "high"}]},
                {"type": "command", "id": "made", "command": "ext.make"},
            ],
            "servers": {"s": {"command": "x", "args": ["--key=${input:key}", "${input:level}", "${input:made}"]}},
        }
    )
    questions = asked(text)
    assert (questions["input:key"].label, questions["input:key"].secret) == ("API key", True)
    assert questions["input:level"].options == ("low", "high")
    assert "ext.make" in questions["input:made"].label
    (found,) = taken(text, {"input:key": "k-1", "input:level": "high"})
    assert found.body is not None
    assert found.body.args == ("--key=${secret:key}", "high", "${secret:made}")
    assert found.body.secrets == {"key": "k-1", "made": None}
    assert "needs a value for made" in " ".join(found.notes)


def test_what_is_known_here_is_filled_in() -> None:
    entry = {"command": "${userHome}/x", "args": ["a${/}b", "a${pathSeparator}b", "${workspaceFolderBasename}"]}
    body, said = one(entry, {"workspaceFolder": "/srv/project"})
    assert (body.command, body.args) == (f"{Path.home()}/x", ("a/b", "a/b", "project"))
    assert said == ""


def test_a_variable_of_the_environment_is_taken_only_when_the_person_says_so() -> None:
    entry = {
        "command": "x",
        "env": {"A": "${env:MY_TOKEN}", "B": "$MY_TOKEN", "C": "pa$$WORD"},
        "args": ["${PORT:-80}"],
    }
    body, said = one(entry, MY_TOKEN="from-here")
    assert body.secrets == {"MY_TOKEN": None}
    assert body.args == ("80",)
    assert "needs a value for MY_TOKEN" in said
    question = asked(json.dumps({"mcpServers": {"it": entry}}), MY_TOKEN="from-here")["env:MY_TOKEN"]
    assert question.is_set
    assert "from-here" not in str(question)
    body, said = one(entry, {"env:MY_TOKEN": None}, MY_TOKEN="from-here")
    assert body.secrets == {"MY_TOKEN": "from-here"}
    assert body.plain_env == {"A": "${secret:MY_TOKEN}", "B": "${secret:MY_TOKEN}"}
    assert body.env == {"C": "pa$$WORD"}
    assert said == ""


def test_an_answer_is_not_read_for_blanks_again() -> None:
    body, _ = one({"command": "x", "env": {"A": "${input:a}"}}, {"input:a": "$HOME ${env:HOME}"})
    assert body.env == {"A": "$HOME ${env:HOME}"}


def test_the_variables_of_a_file_are_taken_and_said(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text("# keys\nexport KEY='a b'\nPORT=80 # note\n\nnonsense\nEMPTY=\n")
    body, said = one({"command": "x", "envFile": str(file), "env": {"PORT": "81"}})
    assert body.env == {"KEY": "a b", "PORT": "81", "EMPTY": ""}
    assert f"3 variables were taken from {file}" in said
    # What the entry itself says counts, also where a secret stands inside it.
    body, _ = one({"command": "x", "envFile": str(file), "env": {"KEY": "Bearer ${input:token}"}})
    assert (body.plain_env, "KEY" in body.env) == ({"KEY": "Bearer ${secret:token}"}, False)


@pytest.mark.parametrize("path", ["/nowhere/.env", ".env", "/dev/zero", "${workspaceFolder}/.env"])
def test_a_file_of_variables_that_cannot_be_read_is_named(path: str) -> None:
    body, said = one({"command": "x", "envFile": path}, {"workspaceFolder": "/nowhere"})
    assert body.env == {}
    assert ".env are missing" in said or "/dev/zero are missing" in said


@pytest.mark.parametrize(
    ("entry", "seconds"),
    [
        ({"timeout": 30000}, 30),
        ({"timeout": 60}, 60),
        ({"timeout": 1800, "alwaysAllow": []}, 1800),
        ({"timeout": 5000}, 5),
    ],
)
def test_a_timeout_is_taken_over_in_seconds(entry: dict[str, object], seconds: float) -> None:
    body, said = one({"command": "x", **entry})
    assert body.times.total == seconds
    assert f"{seconds} s" in said


def test_trust_is_named_and_not_taken_over_and_unknown_keys_are_named() -> None:
    entry = {
        "command": "x",
        "alwaysAllow": ["a"],
        "trust": True,
        "disabledTools": ["b"],
        "oauth": {},
        "headers": {"a": "b"},
    }
    body, said = one(entry)
    assert body.off_tools == ("b",)
    assert "“alwaysAllow” and “trust” was not taken over" in said
    assert "Left out, because it means nothing here: “oauth”, “headers”." in said


def test_other_programs_have_other_shapes() -> None:
    zed = '{"context_servers": {"z": {"source": "custom", "command": {"path": "p", "args": ["a"], "env": {"E": "1"}}}}}'
    opencode = (
        '{"mcp": {"o": {"type": "local", "command": ["p", "a"], "environment": {"E": "{env:X}"}, "enabled": false}}}'
    )
    gemini = '{"mcp": {"allowed": ["g"]}, "mcpServers": {"g": {"httpUrl": "https://example.com/mcp"}}}'
    windsurf = '{"mcpServers": {"w": {"serverUrl": "https://example.com/mcp", "disabled": true}}}'
    (found,) = taken(zed)
    assert found.body is not None
    assert (found.body.command, found.body.args, found.body.env) == ("p", ("a",), {"E": "1"})
    (found,) = taken(opencode, {"env:X": "2"})
    assert found.body is not None
    assert (found.body.command, found.body.args, found.body.env, found.body.enabled) == ("p", ("a",), {"E": "2"}, False)
    for text in (gemini, windsurf):
        (found,) = taken(text)
        assert found.body is not None
        assert found.body.url == "https://example.com/mcp"
    assert found.was_off


def test_a_secret_cannot_be_the_host_of_an_address() -> None:
    for answers in ({}, {"env:HOST_TOKEN": "evil.example"}):
        (found,) = taken('{"mcpServers": {"it": {"url": "https://${env:HOST_TOKEN}/mcp"}}}', answers)
        assert found.body is None
        assert "${env:HOST_TOKEN}" in found.problem


def test_more_servers_than_a_file_may_have_are_told_in_one_sentence() -> None:
    many = {f"s{number}": {"command": "x"} for number in range(limits.IMPORT_SERVERS + 1)}
    with pytest.raises(PilothouseError, match=f"at most {limits.IMPORT_SERVERS}"):
        read(json.dumps({"mcpServers": many}))


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"mcpServers": []}', "x" * 2_000_000, "[" * 100_000])
def test_a_file_without_servers_is_told_in_one_sentence(text: str) -> None:
    with pytest.raises(PilothouseError) as error:
        read(text)
    assert error.value.code == "bad_request"
    assert "\n" not in error.value.message


def test_one_bad_server_does_not_spoil_the_others() -> None:
    found = taken('{"mcpServers": {"bad": 7, "worse": {"args": []}, "good": {"command": "x"}}}')
    assert [each.body is None for each in found] == [True, True, False]
