"""Whatever is typed or pasted is recognised, or is words to search for; what is broken is one sentence."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest

from pilothouse.mcp.proposals.recognising import Asked, PackageNamed, Reading, read
from pilothouse.mcp.proposals.repositories import Repository
from pilothouse.types.errors import PilothouseError
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import ManualSource, ServerInput

ENTRY = {"command": "npx", "args": ["-y", "@x/y"], "env": {"BRAVE_API_KEY": "YOUR_KEY", "MODE": "quiet"}}
PACKED = base64.b64encode(json.dumps(ENTRY).encode()).decode()
REMOTE = {
    "name": "gh",
    "type": "http",
    "url": "https://api.example.com/mcp/",
    "headers": {"Authorization": "Bearer ${input:token}"},
    "inputs": [{"id": "token", "type": "promptString", "description": "GitHub PAT", "password": True}],
}
WRITTEN = quote(json.dumps(REMOTE))
TOKEN = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"


def reading(text: str) -> Reading:
    return read(Asked(text=text, home="/somewhere/me"))


def one(text: str) -> tuple[Proposal, ServerInput]:
    (found,) = reading(text).proposals
    assert found.server is not None, found.problem
    return found, found.server


def argv(server: ServerInput) -> str:
    return " ".join((server.command or "", *server.args))


def asked(proposal: Proposal) -> dict[str, str]:
    return {each.id: each.label for each in proposal.fields}


def refusal(text: str) -> str:
    with pytest.raises(PilothouseError) as refused:
        reading(text)
    return refused.value.message


@pytest.mark.case("REG-01")
@pytest.mark.parametrize(
    ("text", "kind", "started"),
    [
        ("npx -y @scope/server --port 80", "npm", "npx -y @scope/server --port 80"),
        ("npx server", "npm", "npx -y server"),
        ("$ npx -y \\\n  server  a", "npm", "npx -y server a"),
        ("```bash\nuvx mcp-server-fetch\n```", "pypi", "uvx mcp-server-fetch"),
        ("uvx --from git+https://x.example/r prog", "command", "uvx --from git+https://x.example/r prog"),
        ("cmd /c npx -y server", "npm", "npx -y server"),
        ("docker run -i --rm mcp/fetch", "docker", "docker run -i --rm mcp/fetch"),
        ("docker run -it mcp/fetch --x", "docker", "docker run -i --rm mcp/fetch --x"),
        ("docker run --rm -i -v /a:/b -d x/y:1", "docker", "docker run -i --rm -v /a:/b x/y:1"),
        ("ghcr.io/x/y", "docker", "docker run -i --rm ghcr.io/x/y"),
        ("mcp/fetch", "docker", "docker run -i --rm mcp/fetch"),
        ("owner/image:1.2", "docker", "docker run -i --rm owner/image:1.2"),
        (f"owner/image@sha256:{'a' * 64}", "docker", f"docker run -i --rm owner/image@sha256:{'a' * 64}"),
        ("localhost.test:5000/a/b", "docker", "docker run -i --rm localhost.test:5000/a/b"),
        ("/opt/server --stdio", "command", "/opt/server --stdio"),
    ],
)
def test_a_command_or_an_image_is_what_would_run(text: str, kind: str, started: str) -> None:
    found, server = one(text)
    assert (found.kind, argv(server)) == (kind, started)
    assert reading(text).words == ""


@pytest.mark.case("REG-01")
@pytest.mark.parametrize("url", ["https://example.com/mcp", "http://127.0.0.1:8080", "wss://example.com/ws?a=b"])
def test_an_address_is_one(url: str) -> None:
    found, server = one(url)
    assert (found.kind, server.url, server.wire) == ("http", url, "auto")


@pytest.mark.parametrize(
    ("text", "package", "words"),
    [
        ("@scope/x", PackageNamed(name="@scope/x", kinds=("npm",)), ""),
        ("@scope/x@1.2.3", PackageNamed(name="@scope/x", kinds=("npm",), version="1.2.3"), ""),
        ("mcp-server-git==1.0", PackageNamed(name="mcp-server-git", kinds=("pypi",), version="1.0"), ""),
        ("server@2.0.0", PackageNamed(name="server", kinds=("npm", "pypi"), version="2.0.0"), ""),
        ("server-everything", PackageNamed(name="server-everything", kinds=("npm", "pypi")), "server-everything"),
        ("npm install -g @scope/x", PackageNamed(name="@scope/x", kinds=("npm",)), ""),
        ("pip install mcp-server-time", PackageNamed(name="mcp-server-time", kinds=("pypi",)), ""),
    ],
)
def test_a_package_is_known_by_its_name(text: str, package: PackageNamed, words: str) -> None:
    found = reading(text)
    assert (found.package, found.words) == (package, words)


@pytest.mark.parametrize(
    "text", ["weather in berlin", "git issues", "owner/thing", "what's up?", "io.github.owner/server", "a, b", "天気"]
)
def test_anything_else_is_words_to_search_for(text: str) -> None:
    found = reading(text)
    assert (found.words, found.proposals, found.package) == (text, (), None)


@pytest.mark.parametrize(
    ("text", "repository"),
    [
        ("https://github.com/o/r", Repository(host="github.com", kind="github", path="o/r")),
        ("git@github.com:o/r.git", Repository(host="github.com", kind="github", path="o/r")),
        (
            "https://github.com/o/r/tree/main/src/a",
            Repository(host="github.com", kind="github", path="o/r", branch="main", folder="src/a"),
        ),
        (
            "https://github.com/o/r/blob/main/src/README.md",
            Repository(host="github.com", kind="github", path="o/r", branch="main", folder="src"),
        ),
        ("https://gitlab.com/g/s/r", Repository(host="gitlab.com", kind="gitlab", path="g/s/r")),
        ("https://codeberg.org/o/r/", Repository(host="codeberg.org", kind="codeberg", path="o/r")),
        ("https://bitbucket.org/o/r", Repository(host="bitbucket.org", kind="bitbucket", path="o/r")),
    ],
)
def test_a_repository_is_one(text: str, repository: Repository) -> None:
    assert reading(text).repository == repository


@pytest.mark.parametrize(
    "text", ["https://gitlab.com/api/v4/mcp", "https://github.com/o", "https://api.github.com/a/b"]
)
def test_what_a_git_host_serves_itself_is_an_address(text: str) -> None:
    assert reading(text).repository is None
    assert one(text)[1].url == text


def test_a_line_for_claude_is_taken_with_its_options() -> None:
    line = "claude mcp add -s user --transport sse notion https://mcp.example.com/sse --header"
    found, server = one(f"{line} 'Authorization: Bearer YOUR_TOKEN'")
    assert (server.name, server.url, server.wire) == ("notion", "https://mcp.example.com/sse", "sse")
    assert asked(found) == {"header:Authorization": "Token"}
    assert found.source == ManualSource(imported_from="Claude Code")
    assert found.notes == ("“-s user” was left out: it means something to Claude Code only.",)


def test_variables_of_a_line_are_asked_for_kept_as_secrets_or_readable() -> None:
    given = f"--env AIRTABLE_API_KEY=YOUR_KEY -e GITHUB_TOKEN={TOKEN} -e MODE=quiet"
    found, server = one(f"claude mcp add air {given} -- npx -y air-server --x")
    assert asked(found) == {"env:AIRTABLE_API_KEY": "Airtable API key"}
    assert found.fields[0].link == "https://airtable.com/create/tokens"
    assert (server.env, server.plain_env) == ({"GITHUB_TOKEN": TOKEN}, {"MODE": "quiet"})
    assert argv(server) == "npx -y air-server --x"


LINES = {
    "gemini mcp add -s user -e K=v srv npx -y foo --flag": ("srv", "npx -y foo --flag"),
    "codex mcp add ctx --env A=b -- npx -y foo --flag": ("ctx", "npx -y foo --flag"),
    "claude mcp add ctx npx foo": ("ctx", "npx -y foo"),
    'claude mcp add-json gh \'{"command": "npx", "args": ["-y", "x"]}\'': ("gh", "npx -y x"),
    'code --add-mcp \'{"name": "pw", "command": "npx", "args": ["x@1"]}\'': ("pw", "npx -y x@1"),
    "goose://extension?cmd=npx&arg=-y&arg=%40x%2Fy&name=G": ("G", "npx -y @x/y"),
}


@pytest.mark.parametrize("line", LINES)
def test_lines_and_links_of_other_programs_are_taken(line: str) -> None:
    _, server = one(line)
    assert (server.name, argv(server)) == LINES[line]


@pytest.mark.parametrize(
    "link",
    [
        f"cursor://anysphere.cursor-deeplink/mcp/install?name=brave&config={quote(PACKED)}",
        f"cursor://anysphere.cursor-deeplink/mcp/install?name=brave&config={PACKED}",
        f"https://cursor.com/install-mcp?name=brave&config={PACKED}",
        f"https://cursor.com/en/install-mcp?name=brave&config={PACKED.rstrip('=')}",
        f"lmstudio://add_mcp?name=brave&config={PACKED}",
        f"https://insiders.vscode.dev/redirect/mcp/install?name=brave&config={quote(json.dumps(ENTRY))}",
    ],
)
def test_an_install_link_carries_a_server(link: str) -> None:
    found, server = one(link)
    assert (server.name, argv(server), server.plain_env) == ("brave", "npx -y @x/y", {"MODE": "quiet"})
    assert asked(found) == {"env:BRAVE_API_KEY": "Brave API key"}


@pytest.mark.parametrize(
    "link",
    [
        f"vscode:mcp/install?{WRITTEN}",
        f"vscode-insiders:mcp/install?{WRITTEN}",
        f"https://vscode.dev/redirect?url={quote(f'vscode:mcp/install?{WRITTEN}', safe='')}",
        f"https://insiders.vscode.dev/redirect?url={quote(f'vscode-insiders:mcp/install?{WRITTEN}')}",
    ],
)
def test_a_link_for_vs_code_carries_its_inputs(link: str) -> None:
    found, server = one(link)
    assert (server.name, server.plain_headers) == ("gh", {"Authorization": "Bearer ${secret:token}"})
    assert asked(found) == {"slot:token": "GitHub PAT"}


@pytest.mark.parametrize(
    "link",
    [
        "cursor://anysphere.cursor-deeplink/mcp/install?name=x&config=!!!",
        f"cursor://anysphere.cursor-deeplink/mcp/install?name=x&config={PACKED[:-9]}",
        f"cursor://anysphere.cursor-deeplink/mcp/install?name=x&config={base64.b64encode(b'[1, 2]').decode()}",
        "cursor://anysphere.cursor-deeplink/mcp/install",
        "vscode:mcp/install?%7Bbroken",
        "vscode:mcp/install",
        "https://vscode.dev/redirect?url=https://evil.example/x",
        "https://cursor.com/install-mcp?name=x",
        "goose://extension?name=x",
        f"cursor://x?config={base64.b64encode(b'{' * 50_000).decode()}",
    ],
)
def test_a_link_with_a_broken_payload_is_one_sentence(link: str) -> None:
    assert "broken" in refusal(link)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"mcpServers": {"brave": ENTRY}}),
        json.dumps({"mcp": {"servers": {"brave": ENTRY}}}),
        json.dumps({"context_servers": {"brave": ENTRY}}),
        json.dumps({"brave": ENTRY}),
        json.dumps({"name": "brave", **ENTRY}),
        f'"brave": {json.dumps(ENTRY)},',
        "// settings\n" + json.dumps({"servers": {"brave": ENTRY}}).replace("}}", "},}"),
    ],
)
def test_a_snippet_of_any_host_is_understood(text: str) -> None:
    found, server = one(text)
    assert (server.name, argv(server), server.plain_env) == ("brave", "npx -y @x/y", {"MODE": "quiet"})
    assert asked(found) == {"env:BRAVE_API_KEY": "Brave API key"}


def test_what_a_snippet_leaves_open_is_filled_in() -> None:
    entry = {
        "command": "npx",
        "args": ["-y", "x", "${workspaceFolder}", "--city=${input:city}", "${userHome}/a"],
        "env": {"T": "${env:GITHUB_TOKEN}", "U": "${SOME_USER:-me}"},
        "envFile": "/etc/passwd",
    }
    inputs = [{"id": "city", "type": "pickString", "description": "City", "options": ["Rome", "Bern"]}]
    found, server = one(json.dumps({"servers": {"a": entry}, "inputs": inputs}))
    assert server.args[2:] == ("${field:value:workspaceFolder}", "--city=${field:value:city}", "/somewhere/me/a")
    assert server.plain_env == {"T": "${secret:GITHUB_TOKEN}", "U": "${field:value:SOME_USER}"}
    fields = {each.id: each for each in found.fields}
    assert fields["slot:GITHUB_TOKEN"].label == "GitHub token"
    assert fields["value:city"].schema["enum"] == ["Rome", "Bern"]
    assert fields["value:SOME_USER"].schema["default"] == "me"
    assert any("was not read" in note for note in found.notes)


@pytest.mark.case("SRV-26")
def test_folders_that_a_line_leaves_open_are_a_list_with_rows() -> None:
    found, server = one("npx -y @modelcontextprotocol/server-filesystem /absolute/path/to/one /path/to/other")
    assert server.args == ("-y", "@modelcontextprotocol/server-filesystem", "${field:value:folders}")
    assert found.fields[0].schema == {"type": "array", "items": {"type": "string", "format": "path"}}


def test_a_container_asks_for_the_variables_that_it_only_names() -> None:
    found, server = one(
        f"docker run -i --rm -e GITHUB_TOKEN -e MODE -e A=b -e K_TOKEN={TOKEN} --network=host ghcr.io/o/s x"
    )
    assert asked(found) == {"env:GITHUB_TOKEN": "GitHub token", "value:MODE": "Mode"}
    assert server.env == {"K_TOKEN": TOKEN}
    assert argv(server) == ("docker run -i --rm -e GITHUB_TOKEN -e MODE -e A -e K_TOKEN --network=host ghcr.io/o/s x")


def test_several_servers_are_several_proposals_and_a_bad_one_says_why() -> None:
    text = json.dumps({"mcpServers": {"a": {"command": "npx", "args": ["x"]}, "b": {}, "c": {"url": "nonsense"}}})
    found = reading(text).proposals
    assert [(each.name, each.server is not None) for each in found] == [("a", True), ("b", False), ("c", False)]
    assert all(each.problem for each in found[1:])


def test_a_description_of_the_registry_is_understood() -> None:
    text = json.dumps({"server": {"name": "io.github.o/s", "packages": [{"registryType": "npm", "identifier": "x"}]}})
    assert argv(one(text)[1]) == "npx -y x"


@pytest.mark.case("REG-06")
@pytest.mark.parametrize("text", ["", "   \n\t ", "\ufeff"])
def test_nothing_typed_is_nothing_to_add(text: str) -> None:
    assert refusal(text).startswith("Type what you look for")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('{"a":', "cannot be read"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 200 + "]" * 200, "nested too deeply"),
        ('{"a": 1}', "There are no MCP servers in this JSON"),
        ('{"manifest_version": "0.3", "server": {"type": "node"}}', "drop the .mcpb file"),
        ('npx "unclosed', "quotation mark"),
        ("claude mcp add notion", "names no command"),
        ("claude mcp add --transport", "has no value"),
        ("claude mcp add --fancy x y -- z", "not known here"),
        ("claude mcp add-json x", "JSON of the server is missing"),
        ("code --add-mcp", "JSON behind --add-mcp is missing"),
        ("docker run -i --rm", "names no image"),
        ("docker run -e A-B=1 x", "cannot be the name"),
        ("https://", "Words"),
        ("A=1 B=2", "Words"),
        ("ftp://example.com/mcp", "is not an address; it begins with http://"),
    ],
)
def test_what_is_broken_is_one_sentence(text: str, sentence: str) -> None:
    if sentence == "Words":
        assert reading(text).words
    else:
        assert sentence in refusal(text)
