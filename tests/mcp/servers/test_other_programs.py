"""What other programs on this machine have configured: listed when asked, taken over in part, in every form."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path, PureWindowsPath

import pytest

from pilothouse.mcp.servers import importing
from pilothouse.mcp.servers.importing import Found, read
from pilothouse.mcp.servers.other_files import Folders, candidates, folders
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.servers import ImportRequest, ServerInput
from tests.support.mcp_hosting import McpHost

KEY = "sk-a-key-of-mine-0123456789"
SERVER = {"command": "/usr/bin/server", "args": ["--stdio"]}
GOOSE = """
GOOSE_PROVIDER: openai
extensions:
  developer: {enabled: true, type: builtin, name: developer, bundled: true, timeout: 300}
  github:
    enabled: true
    type: stdio
    name: GitHub
    cmd: npx
    args: [-y, "@x/github"]
    envs: {LEVEL: info}
    env_keys: [GITHUB_TOKEN]
    timeout: 1200
  far:
    enabled: false
    type: streamable_http
    uri: https://mcp.example/mcp
    headers: {X-Room: "7"}
  old:
    enabled: true
    config: {type: stdio, name: old, cmd: /usr/bin/old, args: []}
"""
CODEX = """
model = "o4"
date = 2026-01-01

[mcp_servers.local]
command = "npx"
args = ["-y", "@x/docs@1.2.3"]
env = { LEVEL = "info" }
env_vars = ["DOCS_TOKEN"]
tool_timeout_sec = 90
disabled_tools = ["drop"]

[mcp_servers.far]
url = "https://mcp.example/mcp"
bearer_token_env_var = "FAR_TOKEN"
http_headers = { "X-Room" = "7" }
env_http_headers = { "X-Key" = "ROOM_KEY" }
"""
CHERRY = json.dumps(
    {
        "mcpServers": {
            "c1": {"name": "Notes", "type": "stdio", "isActive": False, **SERVER},
            "c2": {"name": "Far", "type": "streamableHttp", "isActive": True, "baseUrl": "https://mcp.example/mcp"},
            "c3": {"name": "@cherry/memory", "type": "inMemory", "isActive": True},
        }
    }
)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder of a person who has other programs."""
    folder = tmp_path / "person"
    folder.mkdir()
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.chdir(folder)
    return folder


def put(path: Path, content: object) -> Path:
    """Write a settings file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def taken(text: str, answers: Mapping[str, str | None] | None = None, **environ: str) -> dict[str, Found]:
    return {each.name: each for each in importing.taken(read(text), answers or {}, environ)}


def body(found: Found) -> ServerInput:
    assert found.body is not None, found.problem
    return found.body


async def test_what_other_programs_have_is_listed_by_program_path_and_name(hosted: McpHost, person: Path) -> None:
    config = person / ".config"
    put(config / "Claude" / "claude_desktop_config.json", {"mcpServers": {"one": SERVER}})
    projects = {"projects": {"/p": {"mcpServers": {"in-project": SERVER}}}, "mcpServers": {"mine": SERVER}}
    put(person / ".claude.json", projects)
    put(config / "Code" / "User" / "mcp.json", {"servers": {"two": SERVER}})
    put(config / "Code" / "User" / "profiles" / "-5a1" / "mcp.json", {"servers": {"of profile": SERVER}})
    put(
        config / "Code" / "User" / "settings.json",
        '{\n  // all else\n  "mcp": {"servers": {"older": {"command": "x"}}}\n}',
    )
    put(person / ".cursor" / "mcp.json", {"mcpServers": {"three": SERVER}})
    put(
        person / ".codeium" / "windsurf" / "mcp_config.json",
        {"mcpServers": {"four": {"serverUrl": "https://a.example"}}},
    )
    put(config / "zed" / "settings.json", {"context_servers": {"five": SERVER}})
    put(config / "goose" / "config.yaml", GOOSE)
    put(person / ".codex" / "config.toml", CODEX)
    put(person / ".gemini" / "settings.json", {"mcpServers": {"six": SERVER}})
    put(person / ".lmstudio" / "mcp.json", {"mcpServers": {"seven": SERVER}})
    put(config / "opencode" / "opencode.json", {"mcp": {"eight": {"type": "local", "command": ["x", "y"]}}})
    cline = config / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev" / "settings"
    put(cline / "cline_mcp_settings.json", {"mcpServers": {"nine": SERVER}})
    listed = (await hosted.other_programs.files(ME)).files
    assert [(each.program, each.servers) for each in listed] == [
        ("Claude Desktop", ("one",)),
        ("Claude Code", ("mine", "in-project")),
        ("VS Code", ("two",)),
        ("VS Code", ("of profile",)),
        ("VS Code", ("older",)),
        ("Cursor", ("three",)),
        ("Windsurf", ("four",)),
        ("Zed", ("five",)),
        ("goose", ("github", "far", "old")),
        ("Codex", ("local", "far")),
        ("Gemini CLI", ("six",)),
        ("LM Studio", ("seven",)),
        ("OpenCode", ("eight",)),
        ("Cline", ("nine",)),
    ]
    assert [each.problem for each in listed if each.problem or not each.path.startswith(str(person))] == []
    assert (await hosted.admin.list(ME)).servers == ()


async def test_a_file_that_cannot_be_read_is_told_and_the_others_are_listed(hosted: McpHost, person: Path) -> None:
    put(person / ".cursor" / "mcp.json", '{"mcpServers": {"a": ')
    put(person / ".codex" / "config.toml", f'[mcp_servers.x]\nenv = {{ KEY = "{KEY}"')
    put(person / ".config" / "goose" / "config.yaml", f"extensions:\n  - [{KEY}\n")
    put(person / ".lmstudio" / "mcp.json", {"mcpServers": {"good": SERVER}})
    put(person / ".gemini" / "settings.json", {"theme": "dark"})
    (person / ".claude.json").write_bytes(b"\xff\xfe{")
    (person / ".config" / "CherryStudio").mkdir()
    listed = (await hosted.other_programs.files(ME)).files
    assert [each.program for each in listed if each.servers] == ["LM Studio"]
    problems = {each.program: each.problem for each in listed if each.problem}
    assert list(problems) == ["Claude Code", "Cursor", "goose", "Codex", "Cherry Studio"]
    assert "is not UTF-8 text" in problems["Claude Code"]
    assert problems["Cursor"].startswith("The file is not JSON: ")
    assert problems["goose"] == "The file is not YAML: it goes wrong at line 3."
    assert problems["Codex"].startswith("The file is not TOML: it goes wrong at ") or problems["Codex"] == (
        "The file is not TOML."
    )
    assert "Edit JSON" in problems["Cherry Studio"]
    assert KEY not in str(listed)


async def test_the_files_of_a_project_are_listed_for_whoever_names_its_folder(hosted: McpHost, person: Path) -> None:
    project = person / "work" / "project"
    for name in (".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json", ".roo/mcp.json", ".gemini/settings.json"):
        put(
            project / name,
            {"servers" if "vscode" in name else "mcpServers": {"it": {"command": "${workspaceFolder}/x"}}},
        )
    assert (await hosted.other_programs.files(ME)).files == ()
    listed = (await hosted.other_programs.files(ME, folder=str(project))).files
    assert [each.program for each in listed] == ["Claude Code", "VS Code", "Cursor", "Roo Code", "Gemini CLI"]
    asked = (await hosted.other_programs.import_questions(ME, ImportRequest(file=listed[1].path))).questions
    assert [(each.id, each.default) for each in asked] == [("workspaceFolder", str(project))]
    with pytest.raises(PilothouseError, match="half a path"):
        await hosted.other_programs.files(ME, folder="work")
    # A name that no system takes has nothing in it, and hides nothing of the rest.
    assert (await hosted.other_programs.files(ME, folder=f"/{'a' * 300}")).files == ()


async def test_only_those_that_were_chosen_are_taken_from_a_file_that_is_named_by_its_path(
    hosted: McpHost, person: Path
) -> None:
    file = put(person / ".cursor" / "mcp.json", {"mcpServers": {"one": SERVER, "two": SERVER, "three": SERVER}})
    request = ImportRequest(file=str(file), only=("three", "one"))
    report = await hosted.other_programs.import_file(ME, request)
    assert [(each.name, each.outcome) for each in report.servers] == [("one", "added"), ("three", "added")]
    assert (await hosted.view("one")).source.imported_from == "Cursor"  # type: ignore[union-attr]
    with pytest.raises(PilothouseError, match="no server “four” in this file"):
        await hosted.other_programs.import_file(ME, ImportRequest(file=str(file), only=("four",)))


async def test_a_path_that_is_of_no_other_program_is_not_read(hosted: McpHost, person: Path) -> None:
    secret = put(person / "notes.json", {"mcpServers": {"one": SERVER}})
    for path in (str(secret), "mcp.json", f"{person}/.cursor/../notes.json", "/etc/passwd", "a\0b"):
        with pytest.raises(PilothouseError, match="none of the files"):
            await hosted.other_programs.import_file(ME, ImportRequest(file=path))
        with pytest.raises(PilothouseError, match="none of the files"):
            await hosted.other_programs.import_questions(ME, ImportRequest(file=path))
    for ask in (hosted.other_programs.files("guest"), hosted.other_programs.import_file("guest", ImportRequest())):
        with pytest.raises(PilothouseError, match="Only the owner"):
            await ask


def test_the_places_are_those_of_each_system(person: Path) -> None:
    def known(platform: str, **environ: str) -> dict[str, str]:
        found = candidates(person / "p", folders(platform, environ))
        return {program: str(path) for program, path in reversed(found) if "/p/" not in str(path)}

    mac, windows = known("darwin"), known("win32", APPDATA="/C/Roaming")
    support = f"{person}/Library/Application Support"
    assert mac["Claude Desktop"] == f"{support}/Claude/claude_desktop_config.json"
    assert mac["VS Code"] == f"{support}/Code/User/mcp.json"
    assert (mac["goose"], mac["Zed"]) == (f"{person}/.config/goose/config.yaml", f"{person}/.config/zed/settings.json")
    assert windows["goose"] == "/C/Roaming/Block/goose/config/config.yaml"
    assert (windows["Zed"], windows["Codex"]) == ("/C/Roaming/Zed/settings.json", f"{person}/.codex/config.toml")
    moved = known("linux", XDG_CONFIG_HOME="/x", CODEX_HOME="/codex", CLAUDE_CONFIG_DIR="/claude")
    assert (moved["goose"], moved["Codex"], moved["Claude Code"]) == (
        "/x/goose/config.yaml",
        "/codex/config.toml",
        "/claude/.claude.json",
    )
    assert PureWindowsPath(windows["Claude Desktop"]).name == "claude_desktop_config.json"
    assert isinstance(folders(), Folders)


def test_extensions_of_goose_are_servers_and_its_own_parts_are_not() -> None:
    found = taken(GOOSE, {"env:GITHUB_TOKEN": KEY})
    assert list(found) == ["github", "far", "old"]
    github, far = body(found["github"]), body(found["far"])
    assert (github.command, github.args, github.env) == ("npx", ("-y", "@x/github"), {"LEVEL": "info"})
    assert (github.plain_env, github.secrets) == (
        {"GITHUB_TOKEN": "${secret:GITHUB_TOKEN}"},
        {"GITHUB_TOKEN": KEY},
    )
    assert github.times.total == 1200
    assert (far.url, far.wire, far.headers) == ("https://mcp.example/mcp", "streamable", {"X-Room": "7"})
    assert found["far"].was_off
    assert body(found["old"]).command == "/usr/bin/old"
    (asked,) = importing.questions(read(GOOSE), {"GITHUB_TOKEN": "x"})
    assert (asked.id, asked.secret, asked.is_set, asked.servers) == ("env:GITHUB_TOKEN", True, True, ("github",))


def test_servers_of_codex_with_the_variables_that_they_name() -> None:
    asked = {each.id: each.secret for each in importing.questions(read(CODEX), {})}
    assert asked == {"env:DOCS_TOKEN": True, "env:ROOM_KEY": True, "env:FAR_TOKEN": True}
    found = taken(CODEX, {"env:DOCS_TOKEN": "d", "env:FAR_TOKEN": "f", "env:ROOM_KEY": "r"})
    local, far = body(found["local"]), body(found["far"])
    assert (local.args, local.off_tools, local.times.total) == (("-y", "@x/docs@1.2.3"), ("drop",), 90)
    assert local.secrets == {"DOCS_TOKEN": "d"}
    assert far.headers == {"X-Room": "7"}
    assert far.plain_headers == {"X-Key": "${secret:ROOM_KEY}", "Authorization": "Bearer ${secret:FAR_TOKEN}"}
    assert far.secrets == {"ROOM_KEY": "r", "FAR_TOKEN": "f"}


def test_what_cherry_studio_shows_as_json_is_understood() -> None:
    found = taken(CHERRY)
    assert list(found) == ["Notes", "Far", "@cherry/memory"]
    assert (found["Notes"].was_off, body(found["Notes"]).command) == (True, "/usr/bin/server")
    assert (body(found["Far"]).url, body(found["Far"]).wire) == ("https://mcp.example/mcp", "streamable")
    assert found["@cherry/memory"].problem == "It is a part of the other program, which runs only in there."


def test_an_address_behind_mcp_remote_is_reached_directly() -> None:
    args = ["-y", "mcp-remote@0.1.2", "https://mcp.example/sse", "--transport", "sse-only", "--header", "X-Key:${K}"]
    entry = {"command": "npx", "args": args, "env": {"K": "Bearer ${env:ROOM_KEY}"}}
    found = taken(json.dumps({"mcpServers": {"far": entry}}), {"env:ROOM_KEY": "r"})["far"]
    far = body(found)
    assert (far.url, far.wire, far.command) == ("https://mcp.example/sse", "sse", None)
    assert (far.plain_headers, far.secrets) == ({"X-Key": "Bearer ${secret:ROOM_KEY}"}, {"ROOM_KEY": "r"})
    assert "It is reached directly: mcp-remote is not needed here." in found.notes
    odd = {"command": "npx", "args": ["mcp-remote", "https://mcp.example/sse", "--resource", "x"]}
    kept = taken(json.dumps({"mcpServers": {"odd": odd}}))["odd"]
    assert body(kept).command == "npx"


def test_what_a_snippet_says_for_a_key_of_its_reader_is_asked_for() -> None:
    entry = {"command": "x", "args": ["--key", "<YOUR_API_KEY>"], "env": {"T": "YOUR_TOKEN", "NOT": "YOURS_TRULY"}}
    text = json.dumps({"mcpServers": {"it": entry}})
    asked = importing.questions(read(text), {})
    assert [(each.id, each.label, each.secret) for each in asked] == [
        ("your:TOKEN", "Token", True),
        ("your:API_KEY", "API key", True),
    ]
    it = body(taken(text, {"your:API_KEY": KEY})["it"])
    assert (it.args, it.env) == (("--key", "${secret:API_KEY}"), {"NOT": "YOURS_TRULY"})
    assert it.secrets == {"API_KEY": KEY, "TOKEN": None}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BOMB + "extensions: {x: {type: stdio, cmd: x, args: *i}}\n", "too much in it"),
        ("extensions: &e\n  x: *e\n", "too deeply"),
        ("extensions: " + "[" * 500 + "]" * 500, "too deeply"),
        ("x = " + "[" * 5000 + "]" * 5000, "too deeply"),
        ("[mcp_servers.a\n", "not TOML"),
        ("just words", "not JSON, YAML or TOML"),
        ("extensions: !!python/object/apply:os.system ['touch /tmp/never']\n", "not YAML: it goes wrong at line 1"),
        ("mcp_servers = 5\n", "no MCP servers"),
        ("extensions:\n  2026-01-01: {type: stdio, cmd: x}\n  7: {type: sse, uri: 5}\n", ""),
        ("<<: {extensions: {x: {type: stdio, cmd: x}}}\n", ""),
    ],
)
async def test_a_hostile_settings_file_is_one_sentence(hosted: McpHost, text: str, told: str) -> None:
    request = ImportRequest(text=text)
    if not told:
        report = await hosted.other_programs.import_file(ME, request)
        assert report.servers
        return
    with pytest.raises(PilothouseError) as refused:
        await hosted.other_programs.import_file(ME, request)
    assert told in refused.value.message
    assert len(refused.value.message) < 200
    assert "\n" not in refused.value.message
    assert (await hosted.admin.list(ME)).servers == ()


@pytest.mark.slow
async def test_a_file_that_takes_too_long_to_read_is_one_sentence(hosted: McpHost, person: Path) -> None:
    lines = "".join(f"k{number}: {{a: [1, 2, 3, {{b: c}}]}}\n" for number in range(60_000))
    put(person / ".config" / "goose" / "config.yaml", lines[: limits.IMPORT_BYTES - 10].rpartition("\n")[0])
    put(person / ".lmstudio" / "mcp.json", {"mcpServers": {"good": SERVER}})
    listed = (await hosted.other_programs.files(ME)).files
    assert [each.program for each in listed] == ["goose", "LM Studio"]
    assert listed[0].problem.startswith("The file cannot be read: ")
    assert listed[1].servers == ("good",)


async def test_names_with_hidden_characters_are_shown_as_they_are_and_can_be_chosen(
    hosted: McpHost, person: Path
) -> None:
    hostile = "files\u202ejs\x1b[31m\u200b"
    file = put(person / ".cursor" / "mcp.json", {"mcpServers": {hostile: SERVER, "x" * 5000: SERVER}})
    (listed,) = (await hosted.other_programs.files(ME)).files
    shown, long = listed.servers
    assert shown == "files\\u{202e}js\\u{001b}[31m\\u{200b}"
    assert len(long) <= limits.TITLE_CHARS
    report = await hosted.other_programs.import_file(ME, ImportRequest(file=str(file), only=(shown,)))
    assert len(report.servers) == 1


async def test_what_is_no_ordinary_file_is_passed_over(hosted: McpHost, person: Path) -> None:
    (person / ".cursor").mkdir()
    os.mkfifo(person / ".cursor" / "mcp.json")
    (person / ".lmstudio").mkdir()
    (person / ".lmstudio" / "mcp.json").symlink_to("/dev/zero")
    (person / ".claude.json").symlink_to(person / ".claude.json")
    assert (await hosted.other_programs.files(ME)).files == ()
    big = put(person / ".gemini" / "settings.json", " " * (limits.SETTINGS_FILE_BYTES + 1))
    (listed,) = (await hosted.other_programs.files(ME)).files
    assert (listed.path, "too large" in listed.problem) == (str(big), True)
