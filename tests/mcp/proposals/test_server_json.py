"""A registry's description of a server: what would run, what is to be filled in, and what cannot be had."""

from __future__ import annotations

import msgspec
import pytest

from pilothouse.mcp.proposals.filling import filled
from pilothouse.mcp.proposals.server_json import proposals_of
from pilothouse.types.errors import PilothouseError
from pilothouse.types.host import LOCAL_OWNER as ME
from pilothouse.types.json import JsonObject
from pilothouse.types.proposals import FilledProposal, Proposal
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.servers import OfficialSource, ServerInput
from tests.support.mcp_hosting import McpHost

SOURCE = OfficialSource(name="io.github.owner/server", version="1.2.3")


def described(**parts: object) -> JsonObject:
    return {"name": "io.github.owner/server", "description": "Does things.", "version": "1.2.3", **parts}


def package(kind: str = "npm", identifier: str = "@owner/server", **more: object) -> JsonObject:
    return described(
        packages=[
            {"registryType": kind, "identifier": identifier, "version": "1.2.3", "transport": {"type": "stdio"}, **more}
        ]
    )


def only(server: JsonObject) -> Proposal:
    (found,) = proposals_of(server, SOURCE)
    return found


def made(proposal: Proposal, values: JsonObject | None = None, **keys: str) -> ServerInput:
    given = {each.replace("__", ":", 1): KeyInput(value=value) for each, value in keys.items()}
    return filled(FilledProposal(proposal=proposal, values=values or {}, keys=given))


def server_of(proposal: Proposal) -> ServerInput:
    assert proposal.server is not None, proposal.problem
    return proposal.server


@pytest.mark.parametrize(
    ("kind", "identifier", "runs", "argv"),
    [
        ("npm", "@owner/server", "npm @owner/server 1.2.3", ("npx", "-y", "@owner/server@1.2.3")),
        ("pypi", "server-py", "PyPI server-py 1.2.3", ("uvx", "server-py==1.2.3")),
        ("oci", "ghcr.io/o/s", "docker ghcr.io/o/s:1.2.3", ("docker", "run", "-i", "--rm", "ghcr.io/o/s:1.2.3")),
    ],
)
def test_a_package_is_run_at_the_version_that_is_described(
    kind: str, identifier: str, runs: str, argv: tuple[str, ...]
) -> None:
    found = only(package(kind, identifier))
    server = server_of(found)
    assert (found.runs, (server.command, *server.args)) == (runs, argv)
    assert found.source == SOURCE


@pytest.mark.case("AUT-01", "REG-16")
@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GITHUB_PAT", "BRAVE_API_KEY"])
def test_a_secret_token_asks_for_a_key_by_its_label_and_says_where_to_get_it(name: str) -> None:
    variable = {"name": name, "isSecret": True, "isRequired": True, "description": "See https://example.com/keys."}
    found = only(package(environmentVariables=[variable]))
    (field,) = found.fields
    assert found.auth_type == "api_key"
    assert (field.id, field.secret, field.required) == (f"env:{name}", True, True)
    assert name not in field.label
    assert field.link.startswith("https://")
    assert made(found, {}, **{f"env__{name}": "k"}).keys == {f"env:{name}": KeyInput(value="k")}


@pytest.mark.case("AUT-02", "REG-16")
def test_a_client_id_and_secret_are_a_sign_in() -> None:
    names = [{"name": "SPOTIFY_CLIENT_ID"}, {"name": "SPOTIFY_CLIENT_SECRET", "isSecret": True}]
    found = only(package(environmentVariables=names))
    assert found.auth_type == "oauth"
    # One of them alone is a key like any other.
    assert only(package(environmentVariables=names[1:])).auth_type == "api_key"


@pytest.mark.case("AUT-03", "REG-16")
def test_a_description_without_secrets_asks_for_none() -> None:
    found = only(package(environmentVariables=[{"name": "LOG_LEVEL", "default": "info"}]))
    assert found.auth_type == "none"
    assert not any(each.secret for each in found.fields)


@pytest.mark.case("AUT-05", "REG-16")
def test_a_secret_of_an_unknown_kind_is_offered_as_a_key() -> None:
    assert only(package(environmentVariables=[{"name": "THING", "isSecret": True}])).auth_type == "api_key"
    # Nobody says that it is a secret, but its name does.
    (field,) = (found := only(package(environmentVariables=[{"name": "SOME_SECRET"}]))).fields
    assert (found.auth_type, field.secret) == ("api_key", True)
    # Who says that it is none is believed.
    assert only(package(environmentVariables=[{"name": "MAX_TOKEN", "isSecret": False}])).auth_type == "none"


def test_arguments_are_words_of_their_own_and_left_out_when_nothing_is_given() -> None:
    arguments = [
        {"type": "positional", "value": "serve"},
        {"type": "named", "name": "--port", "format": "number", "default": "8080"},
        {"type": "named", "name": "--mode", "choices": ["fast", "safe"]},
        {"type": "named", "name": "--verbose", "format": "boolean"},
        {"type": "named", "name": "--cache", "format": "boolean", "default": "true"},
        {"type": "named", "name": "--key", "isSecret": True},
        {"type": "positional", "valueHint": "folders", "format": "filepath", "isRepeated": True, "isRequired": True},
    ]
    found = only(package(packageArguments=arguments))
    bare = made(found, {"value:folders": ["/a", "/b c"]})
    assert bare.args[2:] == ("serve", "--port", "8080", "--cache", "/a", "/b c")
    full = made(
        found,
        {"value:folders": ["/a"], "value:mode": "safe", "value:verbose": True, "value:cache": False, "value:port": 9},
        slot__key="k",
    )
    assert full.args[2:] == (
        *("serve", "--port", "9", "--mode", "safe", "--verbose", "--cache=false", "--key", "${secret:key}", "/a"),
    )
    assert full.keys == {"slot:key": KeyInput(value="k")}


def test_a_repeated_option_stands_before_each_of_its_rows() -> None:
    found = only(package(packageArguments=[{"type": "named", "name": "--dir", "isRepeated": True}]))
    assert made(found, {"value:dir": ["a", "b"]}).args[2:] == ("--dir", "a", "--dir", "b")
    assert made(found).args[2:] == ()


def test_an_image_is_given_its_variables_and_what_its_runtime_needs() -> None:
    mount = {
        "type": "named",
        "name": "--mount",
        "value": "type=bind,src={source},dst=/work",
        "variables": {"source": {"isRequired": True, "format": "filepath", "description": "What it may see"}},
    }
    variables = [{"name": "API_KEY", "isSecret": True, "isRequired": True}]
    found = only(package("oci", "ghcr.io/o/s:9", runtimeArguments=[mount], environmentVariables=variables))
    args = made(found, {"value:source": "/data/me, x"}, env__API_KEY="k").args
    assert args == (
        *("run", "-i", "--rm", "--mount", "type=bind,src=/data/me, x,dst=/work", "-e", "API_KEY", "ghcr.io/o/s:9"),
    )


def test_an_address_has_its_variables_and_headers_filled_in() -> None:
    remote = {
        "type": "streamable-http",
        "url": "https://{tenant}.example.com/{project}/mcp",
        "variables": {"tenant": {"isRequired": True}, "project": {"default": "main"}},
        "headers": [
            {"name": "X-Api-Key", "isSecret": True, "isRequired": True},
            {"name": "Authorization", "value": "Bearer {token}", "variables": {"token": {"isSecret": True}}},
            {"name": "X-Region", "choices": ["eu", "us"], "default": "eu"},
        ],
    }
    found = only(described(remotes=[remote]))
    server = made(found, {"value:tenant": "acme", "value:project": "a/b?c"}, **{"header__X-Api-Key": "k"})
    assert server.url == "https://acme.example.com/a%2Fb%3Fc/mcp"
    # The token was not given: the header that needs it is left out.
    assert server.plain_headers == {"X-Region": "eu"}
    assert server.wire == "streamable"
    assert "header:X-Api-Key" in server.keys


@pytest.mark.parametrize(
    ("server", "problem"),
    [
        (described(), "neither what to run nor where"),
        (package("cargo", "x"), "cargo"),
        (package("nuget", "Some.Server"), ".NET"),
        (package("mcpb", "https://example.com/x.mcpb", fileSha256="a" * 64), f"x.mcpb#sha256={'a' * 64}"),
        (package("mcpb", "https://example.com/x.mcpb"), "without a hash"),
        (package("mcpb", "http://example.com/x.mcpb", fileSha256="a" * 64), "without an encrypted address"),
        (package("npm", "--eval=x"), "cannot be the name"),
        (package("npm", "x; rm -rf /"), "cannot be the name"),
        (package("oci", "-v/:/x"), "cannot be the name"),
        (package(version="1.0 || true"), "no exact version"),
        (package(transport={"type": "streamable-http", "url": "http://127.0.0.1:3000/mcp"}), "web server of its own"),
        (package(packageArguments=[{"type": "named", "name": "rm"}]), "does not begin with a dash"),
        (package(environmentVariables=[{"name": "A=B"}]), "cannot be one"),
        (described(remotes=[{"type": "smoke", "url": "https://x.example"}]), "smoke"),
        (described(remotes=[{"type": "sse", "url": "file:///etc/passwd"}]), "not an address"),
        (
            described(remotes=[{"type": "sse", "url": "https://{key}.x/", "variables": {"key": {"isSecret": True}}}]),
            "host",
        ),
        (described(packages="no list", remotes=[7, None]), "neither"),
    ],
)
def test_what_cannot_be_had_says_why_in_one_sentence(server: JsonObject, problem: str) -> None:
    found = only(server)
    assert found.server is None
    assert problem in found.problem
    with pytest.raises(PilothouseError) as refused:
        made(found)
    assert refused.value.message == found.problem


def test_a_description_of_the_first_months_is_understood() -> None:
    earlier = described(
        packages=[
            {
                "registry_type": "npm",
                "identifier": "x",
                "version": "1.0.0",
                "environment_variables": [{"name": "A_TOKEN", "is_secret": True, "is_required": True}],
            }
        ]
    )
    assert [each.id for each in only(earlier).fields] == ["env:A_TOKEN"]


@pytest.mark.case("attack:REG-05")
def test_texts_of_a_registry_are_one_line_with_nothing_hidden_in_it() -> None:
    nasty = "Nice\x1b]0;title\x07\u202eevil\u200b\n\n<script>alert(1)</script> " + "x" * 100_000
    variable = {"name": "A_TOKEN", "isSecret": True, "description": nasty}
    server = package(environmentVariables=[variable]) | {"title": nasty, "description": nasty}
    found = only(server)
    for text in (found.name, found.description, found.fields[0].about, found.runs):
        assert text.isprintable()
        assert len(text) <= 1_000
        assert "\u202e" not in text
        assert "\x1b" not in text
    # Markup stays what it is: text.
    assert "<script>" in found.description


@pytest.mark.case("attack:REG-03")
async def test_what_a_registry_proposes_starts_nothing(hosted: McpHost) -> None:
    found = only(package(environmentVariables=[{"name": "A_TOKEN", "isSecret": True, "isRequired": True}]))
    body = made(found, env__A_TOKEN="secret-value")
    assert hosted.supervisor.servers == {}
    view = await hosted.admin.add(ME, msgspec.structs.replace(body, command="/bin/echo"))
    # Kept, shown whole, and waiting for the person.
    assert view.state == "needs_consent"
    assert view.source == SOURCE
    assert view.process is None


@pytest.mark.parametrize(
    "hostile", [{"packages": [{"registryType": "npm"}]}, {"packages": [[[]]]}, {"remotes": {}}, {}]
)
def test_no_description_however_broken_raises(hostile: JsonObject) -> None:
    assert all(each.problem for each in proposals_of(hostile, SOURCE))


def test_a_description_nested_without_end_is_read_as_far_as_anyone_reads() -> None:
    deep: JsonObject = {}
    for _ in range(5_000):
        deep = {"packages": [deep]}
    assert proposals_of(deep, SOURCE)[0].problem


def test_a_flood_of_fields_is_one_sentence() -> None:
    many = [{"name": f"V{at}"} for at in range(5_000)]
    assert "more than" in only(package(environmentVariables=many)).problem
