"""What a person fills in: one word, one part of an address, one line of a header, whatever is in it."""

from __future__ import annotations

import pytest

from pilothouse.mcp.proposals.filling import filled
from pilothouse.mcp.servers.entries import command_of
from pilothouse.mcp.servers.forms import drafted
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.proposals import FilledProposal, Proposal, ProposalField
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.servers import ManualSource, OfficialSource, ServerInput, SmitherySource, Source

TEXT: JsonObject = {"type": "string"}
HOSTILE = (
    "; rm -rf ~",
    "$(touch /tmp/x)",
    "`id`",
    "a b\tc",
    "--eval=x",
    "'\"\\",
    "${field:value:other}",
    "${secret:key}",
    "../../etc/passwd",
    "a\nb",
    "a&b=c#d?e/f",
    "%2e%2e",
)


def proposal(server: ServerInput | None, *fields: ProposalField, source: Source | None = None) -> Proposal:
    return Proposal(
        name="S", kind="command", runs="s", server=server, source=source or ManualSource(), fields=fields, problem="No."
    )


def field(name: str, schema: JsonObject | None = None, *, required: bool = False) -> ProposalField:
    return ProposalField(id=f"value:{name}", label=name.capitalize(), schema=schema or TEXT, required=required)


def secret(key_id: str, label: str, *, required: bool = False) -> ProposalField:
    return ProposalField(id=key_id, label=label, schema=TEXT, secret=True, required=required)


def made(given: Proposal, values: JsonObject | None = None, keys: dict[str, KeyInput] | None = None) -> ServerInput:
    return filled(FilledProposal(proposal=given, values=values or {}, keys=keys or {}))


def refusal(given: Proposal, values: JsonObject | None = None, keys: dict[str, KeyInput] | None = None) -> str:
    with pytest.raises(PilothouseError) as refused:
        made(given, values, keys)
    return refused.value.message


@pytest.mark.case("attack:REG-03")
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_value_is_one_word_and_nothing_in_it_is_carried_out(hostile: str) -> None:
    server = ServerInput(command="/bin/echo", args=("--one=${field:value:one}", "${field:value:one}", "end"))
    server = made(
        proposal(server, field("one"), field("other", {"type": "string", "default": "x"})), {"value:one": hostile}
    )
    assert server.args == (f"--one={hostile}", hostile, "end")
    # The same words reach the program: no shell has seen them.
    assert command_of(drafted(server, "a").entry)[1:] == server.args


@pytest.mark.case("attack:REG-03")
@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_value_is_one_part_of_an_address(hostile: str) -> None:
    there = ServerInput(url="https://example.com/${field:value:one}/mcp?a=${field:value:one}&b=2")
    url = made(proposal(there, field("one")), {"value:one": hostile}).url or ""
    path, _, query = url.partition("?")
    assert path.startswith("https://example.com/")
    assert path.endswith("/mcp")
    assert path.count("/") == 4
    assert query.count("&") == 1
    assert not set(" \n\"'<>`{}\\#") & set(url)


@pytest.mark.parametrize("bad", ["evil.example/x", "a@evil.example", "a.b:80x", "-a", "a b", "a\n", "[::1]"])
def test_what_leads_to_another_host_is_refused(bad: str) -> None:
    there = ServerInput(url="https://${field:value:one}.example.com/mcp")
    assert "name of a host" in refusal(proposal(there, field("one")), {"value:one": bad})


@pytest.mark.parametrize("dots", [".", ".."])
def test_a_step_up_is_no_part_of_an_address(dots: str) -> None:
    there = ServerInput(url="https://example.com/${field:value:one}/mcp")
    assert "part of an address" in refusal(proposal(there, field("one")), {"value:one": dots})


def test_the_beginning_of_an_address_is_one() -> None:
    there = ServerInput(url="${field:value:one}/mcp")
    assert made(proposal(there, field("one")), {"value:one": "https://a.example/b/"}).url == "https://a.example/b/mcp"
    for bad in ("file:///etc", "a.example", "https://a.example?x=", "https://u:p@a.example", "https://["):
        assert "not an address" in refusal(proposal(there, field("one")), {"value:one": bad})


@pytest.mark.case("attack:REG-03")
def test_a_header_is_one_line() -> None:
    there = ServerInput(url="https://example.com/mcp", plain_headers={"X-A": "v ${field:value:one}"})
    given = proposal(there, field("one"))
    assert made(given, {"value:one": "b"}).plain_headers == {"X-A": "v b"}
    assert "one line" in refusal(given, {"value:one": "b\r\nX-Evil: 1"})


def test_what_is_missing_is_named_by_its_label() -> None:
    there = ServerInput(command="x", args=("${field:value:city}",))
    given = proposal(there, field("city", required=True), secret("env:A_TOKEN", "A token", required=True))
    assert refusal(given, {"value:city": " "[:0]}, {"env:A_TOKEN": KeyInput(value="k")}) == "City is missing."
    assert refusal(given, {"value:city": "Rome"}) == "A token is missing."
    assert refusal(given, {"value:city": "Rome"}, {"env:A_TOKEN": KeyInput(value="  ")}) == "A token is missing."


def test_what_does_not_fit_its_field_is_told() -> None:
    there = ServerInput(command="x", args=("${field:value:one}",))
    number = proposal(there, field("one", {"type": "integer"}))
    assert made(number, {"value:one": 3.0}).args == ("3",)
    assert refusal(number, {"value:one": 3.5}) == "One is a whole number."
    assert refusal(number, {"value:one": "3"}) == "One is a number."
    assert refusal(proposal(there, field("one", {"type": "boolean"})), {"value:one": "yes"}) == "One is yes or no."
    choice = proposal(there, field("one", {"type": "string", "enum": ["a", "b"]}))
    assert refusal(choice, {"value:one": "c"}) == "One is one of: a, b."
    assert refusal(proposal(there, field("one")), {"value:one": {"a": 1}}) == "One is a text."
    assert "null character" in refusal(proposal(there, field("one")), {"value:one": "a\0b"})
    assert "called “value:two”" in refusal(proposal(there, field("one")), {"value:two": "x"})
    rows = proposal(there, field("one", {"type": "array", "items": TEXT}))
    assert "at most" in refusal(rows, {"value:one": ["x"] * 1_000})


def test_a_secret_is_given_as_a_key_and_never_as_a_value() -> None:
    given = proposal(ServerInput(command="x"), secret("env:A_TOKEN", "A token"))
    assert "called" in refusal(given, {"value:A_TOKEN": "k"})
    assert "called" in refusal(given, {"env:A_TOKEN": "k"})
    key = KeyInput(file="~/token")
    assert made(given, {}, {"env:A_TOKEN": key}).keys == {"env:A_TOKEN": key}


def test_a_secret_that_is_not_given_takes_its_words_with_it() -> None:
    there = ServerInput(
        command="x", args=("${with:slot:key}--key", "${secret:key}", "a"), plain_env={"K": "${secret:key}"}
    )
    given = proposal(there, secret("slot:key", "Key"))
    assert made(given).args == ("a",)
    assert made(given).plain_env == {}
    assert made(given, {}, {"slot:key": KeyInput(value="k")}).args == ("--key", "${secret:key}", "a")


@pytest.mark.case("REG-06")
def test_nothing_is_added_without_something_that_can_be() -> None:
    assert refusal(proposal(None)) == "No."


@pytest.mark.case("REG-15")
@pytest.mark.parametrize(
    "source",
    [OfficialSource(name="io.github.o/s", version="1"), SmitherySource(qualified_name="@o/s"), ManualSource()],
)
def test_a_server_keeps_where_it_was_found_and_a_typed_one_its_line(source: Source) -> None:
    body = made(proposal(ServerInput(command="/bin/echo", args=("a b",)), source=source))
    kept = drafted(body, "a").entry.source
    assert kept == (ManualSource(url="/bin/echo 'a b'") if isinstance(source, ManualSource) else source)


@pytest.mark.case("REG-15")
def test_a_server_out_of_a_link_keeps_its_line_and_which_program_the_link_is_for() -> None:
    there = ServerInput(command="/bin/echo", args=("--api-key", "sk-proj-Ab3dE5gH7jK9mN1pQ3rS5tU7vW9xY1z"))
    body = made(proposal(there, source=ManualSource(imported_from="Cursor")))
    kept = drafted(body, "a").entry.source
    assert kept == ManualSource(url="/bin/echo --api-key '${secret:api-key}'", imported_from="Cursor")


@pytest.mark.parametrize("host", ["10.0.0.1", "127.0.0.1:8080", "[::1]", "printer", "router.lan"])
def test_a_public_registry_leads_nobody_into_their_own_network(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    for source in (OfficialSource("x", "1"), SmitherySource("x")):
        offered = proposal(ServerInput(name="S", url=f"http://{host}/mcp"), source=source)
        with pytest.raises(PilothouseError, match="inside of your own network"):
            made(offered)
    # What the person types may be their own, a registry in their network may name what is there, and so may they.
    typed = proposal(
        ServerInput(name="S", url="http://${field:value:host}/mcp"), field("host"), source=OfficialSource("x", "1")
    )
    assert made(typed, {"value:host": "10.0.0.1"}).url == "http://10.0.0.1/mcp"
    assert made(proposal(ServerInput(name="S", url=f"http://{host}/mcp"))).url == f"http://{host}/mcp"
    monkeypatch.setenv("PILOTHOUSE_REGISTRIES", "official=http://127.0.0.1:9")
    assert made(proposal(ServerInput(name="S", url=f"http://{host}/mcp"), source=OfficialSource("x", "1"))).url
