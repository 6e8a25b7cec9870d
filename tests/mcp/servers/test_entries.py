"""Servers as `config.json` keeps them and as a form sends them."""

from __future__ import annotations

from typing import Any

import pytest

from pilothouse.mcp.servers.entries import (
    address_of,
    command_of,
    derived_name,
    parse_entries,
    parse_entry,
    secret_origin,
    written,
)
from pilothouse.mcp.servers.forms import drafted
from pilothouse.mcp.servers.names import qualified_name, slug, slugs, wire_name
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.servers import ManualSource, OfficialSource, Package, ServerInput, SmitherySource

GITHUB: dict[str, Any] = {
    "id": "550e8400-e29b-41d4-a716-446655440000",
    "name": "GitHub",
    "enabled": True,
    "source": {"type": "official", "name": "github/github-mcp-server", "version": "0.28.1"},
    "package": {"type": "npm", "identifier": "@github/mcp-server", "runtime_hint": "npx"},
    "transport": "stdio",
    "auth_type": "api_key",
    "keyfile_path": None,
    "config": {},
}


@pytest.mark.case("SRV-01", "SRV-02", "SRV-04", "SRV-05", "SRV-06", "SRV-07", "SRV-08", "SRV-09", "SRV-19", "TST-07")
def test_an_entry_of_the_file_is_read_with_all_its_fields() -> None:
    smithery = {
        **GITHUB,
        "id": "two",
        "name": "Hosted",
        "enabled": False,
        "source": {"type": "smithery", "qualified_name": "@owner/server"},
        "package": {"type": "http", "identifier": "https://example.com/mcp"},
        "transport": "http",
        "auth_type": "keyfile",
        "keyfile_path": "~/.token",
    }
    entries = parse_entries([GITHUB, smithery])
    github, hosted = entries.good
    assert not entries.bad
    assert github.source == OfficialSource(name="github/github-mcp-server", version="0.28.1")
    assert github.package == Package(type="npm", identifier="@github/mcp-server", runtime_hint="npx")
    assert hosted.source == SmitherySource(qualified_name="@owner/server")
    assert (hosted.enabled, hosted.transport, hosted.auth_type) == (False, "http", "keyfile")
    assert hosted.config.url == "https://example.com/mcp"
    assert (github.id, github.name, github.enabled) == (GITHUB["id"], "GitHub", True)
    assert (github.transport, github.auth_type) == ("stdio", "api_key")
    # What is not set is not written.
    assert written(github) == {key: value for key, value in GITHUB.items() if value is not None}
    assert written(hosted)["keyfile_path"] == "~/.token"


@pytest.mark.case("SRV-05", "SRV-06", "SRV-07", "SRV-08")
@pytest.mark.parametrize(
    ("field", "values"),
    [
        (
            "source",
            [
                {"type": "official", "name": "n", "version": "1"},
                {"type": "smithery", "qualified_name": "@a/b"},
                {"type": "manual", "url": "https://example.com"},
            ],
        ),
        ("package", [{"type": kind, "identifier": "i"} for kind in ("npm", "pypi", "docker", "command")]),
        ("package", [{"type": "http", "identifier": "https://example.com/mcp"}]),
        ("transport", ["stdio", "http"]),
        ("auth_type", ["none", "api_key", "keyfile", "oauth"]),
    ],
)
def test_an_entry_says_one_of_the_known_words_and_no_other(field: str, values: list[Any]) -> None:
    for value in values:
        again = written(parse_entry({**GITHUB, field: value}))
        # "none" goes without saying.
        assert again.get(field, "none") == value
    pigeon = {**values[0], "type": "pigeon"} if isinstance(values[0], dict) else "pigeon"
    with pytest.raises(BadField, match="pigeon"):
        parse_entry({**GITHUB, field: pigeon})


@pytest.mark.case("SRV-09")
@pytest.mark.parametrize("auth_type", ["none", "api_key", "oauth"])
def test_the_path_of_a_key_file_is_kept_only_where_the_key_is_in_a_file(auth_type: str) -> None:
    entry = parse_entry({**GITHUB, "auth_type": auth_type, "keyfile_path": "~/.token"})
    assert "keyfile_path" not in written(entry)


@pytest.mark.case("SRV-03", "SRV-13")
@pytest.mark.parametrize(
    ("endpoint", "name"),
    [
        ("ws://gateway.local:8080/mcp", "gateway.local"),
        ("wss://tools.example.com", "tools.example.com"),
        ("https://example.com/sse", "example.com"),
    ],
)
def test_the_oldest_form_takes_its_name_from_the_endpoint(endpoint: str, name: str) -> None:
    entry = parse_entry({"endpoint": endpoint, "authToken": "t0ken"})
    assert entry.name == name
    assert entry.config.url == endpoint
    assert entry.config.headers == {"Authorization": "Bearer t0ken"}
    assert parse_entry({"endpoint": endpoint}).id == parse_entry({"endpoint": endpoint}).id
    assert parse_entry({"name": "Mine", "endpoint": endpoint}).name == "Mine"


@pytest.mark.case("SRV-13")
@pytest.mark.parametrize(
    ("endpoint", "name"),
    [("wss:///socket", "/socket"), ("ws://?room=7", "?room=7"), ("gateway.local:8080", "gateway.local:8080")],
)
def test_an_endpoint_without_a_host_gives_its_name_without_the_scheme(endpoint: str, name: str) -> None:
    assert derived_name(Package("http", endpoint)) == name


def test_one_bad_entry_is_told_and_the_others_work() -> None:
    twin = {**GITHUB, "name": "Twin"}
    entries = parse_entries(
        [
            GITHUB,
            {"id": "x", "name": "Broken", "package": {"type": "rocket", "identifier": "x"}},
            {"id": "y", "name": "Nowhere", "package": {"type": "http", "identifier": "not an address"}},
            twin,
            {"id": "z", "name": "Times", "package": {"type": "npm", "identifier": "p"}, "config": {"args": "no list"}},
        ]
    )
    assert [entry.name for entry in entries.good] == ["GitHub"]
    assert [bad.name for bad in entries.bad] == ["Broken", "Nowhere", "Twin", "Times"]
    assert all(bad.message.endswith(".") and bad.message.count("\n") == 0 for bad in entries.bad)


@pytest.mark.case("SRV-04")
def test_what_a_person_wrote_into_an_entry_by_hand_is_kept() -> None:
    raw = {**GITHUB, "note": "mine", "config": {"own": 1, "args": ["old"]}}
    entry = drafted(ServerInput(name="New", command_line="npx -y @github/mcp-server now"), "x", parse_entry(raw)).entry
    after = written(entry, raw)
    assert after["note"] == "mine"
    assert after["config"] == {"own": 1, "args": ["now"]}


@pytest.mark.case("PRC-01", "PRC-02", "PRC-03", "REG-15")
@pytest.mark.parametrize(
    ("line", "package", "command"),
    [
        ("npx -y @scope/server /folder", Package(type="npm", identifier="@scope/server"), None),
        ("npx server@1.2.3", Package(type="npm", identifier="server@1.2.3"), ("npx", "-y", "server@1.2.3")),
        ("uvx mcp-server-time --local", Package(type="pypi", identifier="mcp-server-time"), None),
        ("docker run -i --rm mcp/fetch:1", Package(type="docker", identifier="mcp/fetch:1"), None),
        ("uvx --with 'mcp<2' srv", Package(type="pypi", identifier="srv", requirements=("mcp<2",)), None),
        ("uvx --from pkg==1.2 tool", Package(type="pypi", identifier="pkg==1.2", program="tool"), None),
        ("npx -y --package=@a/b tool", Package(type="npm", identifier="@a/b", program="tool"), None),
        ("uvx --python 3.12 server", Package(type="command", identifier="uvx"), None),
        ("uvx --from git+https://host.example/x server", Package(type="command", identifier="uvx"), None),
        ("npx -c 'rm -rf /'", Package(type="command", identifier="npx"), None),
        ("docker run -i --rm -v /:/host image", Package(type="command", identifier="docker"), None),
        ("python 'my server.py' --x 'a b'", Package(type="command", identifier="python"), None),
    ],
)
def test_a_command_line_is_split_and_its_package_recognised(
    line: str, package: Package, command: tuple[str, ...] | None
) -> None:
    import shlex

    entry = drafted(ServerInput(command_line=line), "one").entry
    assert entry.package == package
    assert command_of(entry) == (command or tuple(shlex.split(line)))
    assert entry.source == ManualSource(url=line)
    assert entry.transport == "stdio"


@pytest.mark.case("PRC-01", "PRC-02", "SRV-06")
@pytest.mark.parametrize(
    ("package", "command"),
    [
        ({"type": "npm", "identifier": "@a/b"}, ("npx", "-y", "@a/b", "/folder")),
        ({"type": "npm", "identifier": "@a/b", "runtime_hint": "bunx"}, ("bunx", "-y", "@a/b", "/folder")),
        ({"type": "docker", "identifier": "mcp/x"}, ("docker", "run", "-i", "--rm", "mcp/x", "/folder")),
        (
            {"type": "docker", "identifier": "mcp/x", "runtime_hint": "podman"},
            ("podman", "run", "-i", "--rm", "mcp/x", "/folder"),
        ),
    ],
)
def test_a_package_is_run_by_its_usual_starter_or_by_the_one_it_names(
    package: dict[str, str], command: tuple[str, ...]
) -> None:
    assert command_of(parse_entry({**GITHUB, "package": package, "config": {"args": ["/folder"]}})) == command


@pytest.mark.case("PRC-03", "SRV-18", "REG-15")
def test_a_url_spawns_nothing_and_may_carry_headers_and_protocols() -> None:
    body = ServerInput(
        url="wss://example.com/ws",
        token="t0ken",
        headers={"X-Key": "k3y"},
        plain_headers={"X-Room": "7"},
        subprotocols=("mcp",),
    )
    draft = drafted(body, "one")
    assert draft.entry.source == ManualSource(url="wss://example.com/ws")
    assert draft.entry.transport == "http"
    assert draft.entry.config.wire == "websocket"
    assert draft.entry.config.subprotocols == ("mcp",)
    assert draft.entry.config.headers == {
        "X-Room": "7",
        "X-Key": "secret:mcp_one_header_X-Key",
        "Authorization": "secret:mcp_one_header_Authorization",
    }
    assert draft.secrets["mcp_one_header_Authorization"] == "Bearer t0ken"
    assert draft.entry.auth_type == "api_key"


def test_a_secret_that_is_not_sent_stays_and_one_that_is_left_out_goes() -> None:
    first = drafted(ServerInput(command_line="server", env={"A": "aaaa", "B": "bbbb"}), "one")
    second = drafted(ServerInput(command_line="server", env={"A": None}), "one", first.entry)
    assert second.entry.config.env == {"A": "secret:mcp_one_env_A"}
    assert second.secrets == {}
    assert second.dropped == ("mcp_one_env_B",)


def test_a_token_in_plain_text_moves_to_the_secrets_when_the_server_is_edited() -> None:
    before = parse_entry({"endpoint": "https://example.com/mcp", "authToken": "plain-token"})
    draft = drafted(ServerInput(url="https://example.com/mcp", headers={"Authorization": None}), before.id, before)
    assert "plain-token" not in str(written(draft.entry, {"endpoint": "x", "authToken": "plain-token"}))
    assert list(draft.secrets.values()) == ["Bearer plain-token"]


@pytest.mark.case("SECRET-05")
def test_secrets_are_bound_to_the_server_or_to_its_address() -> None:
    assert secret_origin(parse_entry(GITHUB)) == f"mcp:{GITHUB['id']}"
    assert secret_origin(parse_entry({"endpoint": "wss://example.com/x"})) == "https://example.com:443"


def test_an_address_is_shown_without_its_secrets() -> None:
    entry = parse_entry({"endpoint": "https://user:pass@example.com/mcp?api_key=12345678&x=1"})
    assert address_of(entry) == "https://example.com/mcp?api_key=…&x=…"


@pytest.mark.case("SRV-27")
@pytest.mark.parametrize(
    "body",
    [
        ServerInput(),
        ServerInput(url="ftp://example.com"),
        ServerInput(url="https://"),
        ServerInput(command_line="python 'never closed"),
        ServerInput(command_line="server", url="https://example.com"),
        ServerInput(command_line="server", env={"A=B": "x"}),
        ServerInput(url="https://example.com", headers={"X\r\nEvil": "x"}),
        ServerInput(url="https://example.com", plain_headers={"X": "a\r\nEvil: b"}),
        ServerInput(command_line="server", plain_env={"A": "secret:openai"}),
        ServerInput(command_line="server", name="x" * 200),
        ServerInput(command_line="server", roots=("some/folder",)),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence(body: ServerInput) -> None:
    with pytest.raises(PilothouseError) as error:
        drafted(body, "one")
    assert error.value.code == "bad_request"
    assert error.value.message.endswith(".")


@pytest.mark.case("NAM-01", "TST-07")
def test_a_server_gives_its_tools_a_prefix() -> None:
    assert slug("GitHub") == "github"
    assert slug("My  Server (2)") == "my_server_2"
    assert slug("a__b_") == "a_b"
    assert slug("Файлы").startswith("server_")
    assert slug("file_operations") == "file_operations_server"
    assert qualified_name("github", "read_file") == "github.read_file"
    assert wire_name("github", "read_file") == "github__read_file"


@pytest.mark.case("NAM-01", "NAM-02")
def test_a_long_or_odd_name_is_cut_and_marked_the_same_way_every_time() -> None:
    long, odd = wire_name("github", "x" * 100), wire_name("github", "files.read")
    assert len(long) == 64
    assert long == wire_name("github", "x" * 100) != wire_name("github", "x" * 101)
    assert odd.startswith("github__files_read_")
    assert odd != wire_name("github", "files_read")
    assert wire_name("github", "a.b_c") != wire_name("github", "a_b.c")


@pytest.mark.case("NAM-02")
def test_two_servers_never_share_a_prefix() -> None:
    one = parse_entry({**GITHUB, "id": "one", "name": "My Files"})
    two = parse_entry({**GITHUB, "id": "two", "name": "my_files"})
    made = slugs([one, two])
    assert made["one"] == "my_files"
    assert made["two"].startswith("my_files_")
    assert wire_name("a", "_b") != wire_name("a_", "b") or slug("a_") == "a"


@pytest.mark.case("SRV-14")
@pytest.mark.parametrize(
    ("package", "args", "name"),
    [
        (Package("command", "/usr/bin/python3"), ("/srv/weather.py", "--fast"), "weather"),
        (Package("command", "node"), ("--no-warnings", "dist/index.js"), "index"),
        (Package("command", "python3"), ("-m", "weather"), "weather"),
        (Package("command", "/opt/weatherd"), ("-v",), "weatherd"),
        (Package("npm", "@scope/server-weather@1.2"), (), "server-weather"),
    ],
)
def test_a_server_without_a_name_is_called_after_what_it_runs(
    package: Package, args: tuple[str, ...], name: str
) -> None:
    assert derived_name(package, args) == name
