"""Private data on its way out: the person decides from where to where."""

from __future__ import annotations

import math

import msgspec
import pytest

from pilothouse.types import limits
from pilothouse.types.authority import Mode, Pattern, Seen
from pilothouse.types.json import JsonObject, convert
from pilothouse.types.ports import PermitNeeded
from tests.support.authorizers import (
    FILES_READ,
    ROOT,
    SERVER,
    TERMINAL,
    HeldRules,
    a_grant,
    a_rule,
    an_authorizer,
    command_access,
    decide,
    file_access,
    server_access,
    verdict,
)
from tests.support.tools import ToolOf

HEARD = Seen(frozenset({"files", "server:Web"}))
NOTHING_ALONG = Pattern(tool="files.read", sources=())


@pytest.mark.case("EXFIL-01")
@pytest.mark.parametrize("mode", ["ask", "auto_edit", "auto_approve"])
async def test_private_data_on_its_way_out_is_asked_about_with_where_from_and_where_to(mode: Mode) -> None:
    by = an_authorizer(
        a_grant(Pattern(tool="*")), a_grant(NOTHING_ALONG, "g_2"), rules=HeldRules(a_rule("allow", Pattern()))
    )
    found = await decide(server_access(payload=120), mode, by=by, tool=SERVER, seen=HEARD)
    assert verdict(found) == ("ask", "default", "leaving")
    assert isinstance(found, PermitNeeded)
    shown = found.data["access"]
    assert (shown["destination"], shown["payloadBytes"], shown["sentBefore"]) == ("Files", 120, 0)
    assert "It can take what was read from your files and the server Web to Files." in found.question
    assert [choice["id"] for choice in found.data["choices"]] == [
        "allow",
        "task",
        "while",
        "conversation",
        "always",
        "deny",
    ]


@pytest.mark.case("EXFIL-01")
async def test_what_is_allowed_for_a_pair_is_allowed_for_that_pair_only() -> None:
    found = await decide(server_access(), tool=SERVER, seen=FILES_READ)
    assert isinstance(found, PermitNeeded)
    pair = convert(found.data["proposal"], Pattern)
    assert pair.sources == ("files",)
    by = an_authorizer(a_grant(pair))
    assert verdict(await decide(server_access(), by=by, tool=SERVER, seen=FILES_READ))[:2] == ("allow", "grant")
    # What a command printed is of this machine, too; what another server told is not.
    assert verdict(await decide(server_access(), by=by, tool=SERVER, seen=Seen(frozenset({"terminal"}))))[0] == "allow"
    assert verdict(await decide(server_access(), by=by, tool=SERVER, seen=HEARD))[2] == "leaving"


async def test_what_is_allowed_pair_by_pair_is_allowed_together() -> None:
    one = Pattern(tool="files.*", sources=("files",))
    two = Pattern(tool="files.read", sources=("server:Web",))

    async def found(*patterns: Pattern) -> tuple[str, str, str]:
        rules = HeldRules(*(a_rule("allow", each, f"rule {number}") for number, each in enumerate(patterns)))
        return verdict(await decide(server_access(), by=an_authorizer(rules=rules), tool=SERVER, seen=HEARD))

    assert await found(one, two) == ("allow", "rule", "rule 0")
    assert (await found(one))[2] == (await found(two))[2] == "leaving"
    elsewhere = msgspec.structs.replace(two, tool="mail.*")
    assert (await found(one, elsewhere))[2] == "leaving"
    assert (await found(one, msgspec.structs.replace(two, destination="Mail")))[2] == "leaving"


@pytest.mark.parametrize(
    "seen",
    [
        Seen(),
        # What came from there goes back there.
        Seen(frozenset({"server:Files"})),
    ],
)
async def test_where_nothing_private_leaves_a_permission_for_the_tool_is_enough(seen: Seen) -> None:
    by = an_authorizer(a_grant(NOTHING_ALONG))
    assert verdict(await decide(server_access(), by=by, tool=SERVER, seen=seen)) == ("allow", "grant", "g_1")


@pytest.mark.parametrize("pattern", [Pattern(tool="files.*"), Pattern(destination="Files")])
async def test_a_rule_of_the_persons_own_that_names_the_server_is_honoured(pattern: Pattern) -> None:
    by = an_authorizer(rules=HeldRules(a_rule("allow", pattern)))
    assert verdict(await decide(server_access(), by=by, tool=SERVER, seen=HEARD))[:2] == ("allow", "rule")


@pytest.mark.parametrize("allow", ["files.*", "net:Files", "net:*"])
async def test_what_came_with_the_message_covers_what_it_names_destinations_included(allow: str) -> None:
    found = await decide(server_access(), tool=SERVER, seen=HEARD, allow=(allow,))
    assert verdict(found) == ("allow", "run", allow)
    other = await decide(server_access(), tool=SERVER, seen=HEARD, allow=("mail.*", "net:Mail"))
    assert verdict(other)[2] == "leaving"


SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "units": {"enum": ["metric", "imperial"]},
        "days": {"type": "integer"},
        "more": {"type": "object", "properties": {"detail": {"default": "short"}}},
    },
}


@pytest.mark.parametrize(
    ("arguments", "leaves"),
    [
        ({}, False),
        ({"city": "Ulm"}, False),
        ({"city": "New York"}, False),
        ({"city": "Ulm", "units": "metric", "days": 3, "more": {"detail": "short"}}, False),
        ({"city": ""}, False),
        # Not the person's word, part of one, in another order.
        ({"city": "Bern"}, True),
        ({"city": "Ul"}, True),
        ({"city": "York New"}, True),
        # Hidden in a field's name, in a number, in many numbers.
        ({"Bern": 1}, True),
        ({"more": {"Bern": True}}, True),
        ({"days": 1234567890123}, True),
        ({"days": [1] * 20}, True),
        ({"days": 0.1234567890123456}, True),
        # Spelled with nothing but the person's words, with nothing at all, or by where nothing stands.
        ({"city": ["Ulm", "New York", "Ulm", "Ulm", "New York", "Ulm", "Ulm", "Ulm", "New York"]}, True),
        ({"city": ["", None, None, "", None, "", "", None, ""]}, True),
        ({"city": [[], [[]], [], [[], [[]]], [[]]]}, True),
        ({"city": ["Ulm", "New York"], "days": 48.3984, "units": None}, False),
    ],
)
async def test_the_persons_own_words_and_the_schemas_values_take_nothing_along(
    arguments: JsonObject, leaves: bool
) -> None:
    tool = ToolOf("files__read", server="Files", effects=SERVER.effects, schema=SCHEMA)
    by = an_authorizer(a_grant(NOTHING_ALONG))
    typed = ("How is the weather in Ulm, and in New York?", "And then?")
    found = await decide(server_access(), by=by, tool=tool, seen=HEARD, arguments=arguments, typed=typed)
    assert verdict(found)[2] == ("leaving" if leaves else "g_1")


NUMBERS = {"type": "object", "properties": {name: {"type": "integer"} for name in "abcdefgh"}}
TELLING = ToolOf("files__read", server="Files", effects=SERVER.effects, schema=NUMBERS)


@pytest.mark.case("EXFIL-03")
async def test_numbers_that_could_spell_a_key_are_asked_about_in_one_call_or_in_many() -> None:
    by = an_authorizer(a_grant(NOTHING_ALONG))

    async def found(bits: int, **numbers: int) -> tuple[str, int]:
        seen = Seen(frozenset({"files"}), bits={"Files": bits})
        decided = await decide(server_access(), by=by, tool=TELLING, seen=seen, arguments=numbers)
        return verdict(decided)[2], decided.decision.bits

    dense = await decide(server_access(), tool=TELLING, seen=FILES_READ, arguments=dict.fromkeys("abcdefgh", 987654321))
    assert "Numbers and choices have added up that could spell it." in dense.decision.why
    assert (await found(0, **dict.fromkeys("abcdefgh", 987654321)))[0] == "leaving"
    rule, bits = await found(0, a=12, b=345678)
    assert (rule, 26 < bits <= limits.CALL_BITS_UNASKED) == ("g_1", True)
    assert (await found(limits.BITS_UNASKED - bits, a=12, b=345678))[0] == "g_1"
    assert (await found(limits.BITS_UNASKED - bits + 1, a=12, b=345678))[0] == "leaving"


@pytest.mark.case("EXFIL-03")
async def test_which_of_many_fields_values_tools_or_words_is_chosen_tells_something_too() -> None:
    by = an_authorizer(a_grant(NOTHING_ALONG))

    async def bits(tool: ToolOf, arguments: JsonObject, typed: str = "", tools: tuple[ToolOf, ...] = ()) -> int:
        around = {"typed": (typed,), "tools": tools}
        found = await decide(server_access(), "ask", by=by, tool=tool, seen=FILES_READ, arguments=arguments, **around)
        return found.decision.bits if verdict(found)[0] == "allow" else limits.BITS_UNASKED

    def wide(**schema: object) -> ToolOf:
        return ToolOf("files__read", server="Files", effects=SERVER.effects, schema={"type": "object", **schema})

    many = {f"field {number}": {"type": "boolean"} for number in range(1_000)}
    assert await bits(wide(properties=many), {"field 1": True}) > 10
    offered = {"x": {"enum": [f"value {number}" for number in range(1_000)]}}
    assert await bits(wide(properties=offered), {"x": "value 7"}) > 10
    plain = wide(properties={"x": {"type": "string"}}, required=["x"])
    assert await bits(plain, {"x": "word7"}, typed=" ".join(f"word{number}" for number in range(1_000))) > 10
    assert await bits(plain, {"x": "word7"}, typed="word7") < 4
    assert await bits(plain, {}, tools=(SERVER,) * 64) > 6
    # That there is a call at all tells something, too: one says yes, none says no.
    assert await bits(plain, {}, tools=(SERVER,)) == 1
    assert await bits(plain, {}) == 0


@pytest.mark.case("EXFIL-03")
async def test_what_spells_without_being_seen_is_counted_too() -> None:
    """The order of fields, words without blanks between them, what kind of nothing is given, how long a number is."""
    by = an_authorizer(a_grant(NOTHING_ALONG))

    async def bits(schema: JsonObject, arguments: JsonObject, typed: str = "") -> int:
        tool = ToolOf("files__read", server="Files", effects=SERVER.effects, schema={"type": "object", **schema})
        found = await decide(
            server_access(), "ask", by=by, tool=tool, seen=FILES_READ, arguments=arguments, typed=(typed,)
        )
        return found.decision.bits if verdict(found)[0] == "allow" else limits.BITS_UNASKED

    names = [*"abcdefgh"]
    needed: JsonObject = {"properties": {name: {} for name in names}, "required": names}
    # Each of 40,320 orders, each of six values eight times.
    assert await bits(needed, dict.fromkeys(names, True)) >= 15 + 8 * 2.5
    # One of four names wherever an object stands in another.
    inner: JsonObject = {"a": {"b": {"c": {"d": {}}}}}
    assert await bits({"properties": {name: {} for name in "abcd"}, "required": ["a"]}, inner) >= 3 * 2 + 4 * 2.5
    one: JsonObject = {"properties": {"x": {}}, "required": ["x"]}
    packed = ",".join(f"word{number}" for number in range(1_000))
    assert await bits(one, {"x": "word7"}, packed) > 10
    assert await bits(one, {"x": "word7,word8,word9,word10"}, packed) > 13
    assert await bits(one, {"x": 7}) > math.log2(10) + 1


@pytest.mark.case("AUTHZ-04")
async def test_a_source_is_the_server_that_it_was_and_not_another_one_of_its_name() -> None:
    old, new = "server:Web@000000000000", "server:Web@111111111111"
    asked = await decide(server_access(), tool=SERVER, seen=Seen(frozenset({old})))
    assert isinstance(asked, PermitNeeded)
    assert "from the server Web to Files." in asked.question
    by = an_authorizer(a_grant(convert(asked.data["proposal"], Pattern)))
    assert verdict(await decide(server_access(), by=by, tool=SERVER, seen=Seen(frozenset({old}))))[:2] == (
        "allow",
        "grant",
    )
    assert verdict(await decide(server_access(), by=by, tool=SERVER, seen=Seen(frozenset({new}))))[2] == "leaving"
    # Whoever writes a name means whoever has it, and forbids it for all of them.
    written = Pattern(tool="files.*", sources=("server:Web",))
    by = an_authorizer(rules=HeldRules(a_rule("allow", written)))
    assert verdict(await decide(server_access(), by=by, tool=SERVER, seen=Seen(frozenset({new}))))[:2] == (
        "allow",
        "rule",
    )
    for source in ("server:Web", old):
        forbidden = HeldRules(a_rule("deny", Pattern(destination="Files", sources=(source,))))
        found = await decide(
            server_access(), by=an_authorizer(rules=forbidden), tool=SERVER, seen=Seen(frozenset({new}))
        )
        assert verdict(found)[:2] == ("deny", "rule")


@pytest.mark.case("AUTHZ-04")
async def test_what_a_server_told_goes_back_only_to_where_it_was_then() -> None:
    by = an_authorizer(a_grant(NOTHING_ALONG))
    here = msgspec.structs.replace(server_access(), source="server:Files@000000000000")
    for told, rule in (("@000000000000", "g_1"), ("", "g_1"), ("@111111111111", "leaving")):
        seen = Seen(frozenset({f"server:Files{told}"}))
        assert verdict(await decide(here, by=by, tool=SERVER, seen=seen))[2] == rule


async def test_a_server_that_is_called_anywhere_is_not_where_commands_send() -> None:
    seen = Seen(frozenset({"server:anywhere"}))
    found = await decide(command_access("make", network=True), "auto_approve", tool=TERMINAL, seen=seen)
    assert "your files and the server anywhere to anywhere" in found.decision.why


async def test_what_stays_on_the_machine_is_no_way_out() -> None:
    assert verdict(await decide(file_access(f"{ROOT}/a"), "auto_edit", seen=HEARD))[0] == "allow"
    by = an_authorizer(a_grant(Pattern(tool="*", command=("make",))))
    assert verdict(await decide(command_access("make"), by=by, tool=TERMINAL, seen=HEARD))[0] == "allow"


@pytest.mark.case("EXFIL-02")
@pytest.mark.parametrize("seen", [Seen(), FILES_READ])
async def test_a_command_with_the_network_can_take_the_folder_along_also_as_the_first_call(seen: Seen) -> None:
    by = an_authorizer(a_grant(Pattern(tool="terminal_operations.run_command", command=("make",), sources=())))
    networked = command_access("make", network=True)
    assert verdict(await decide(networked, by=by, tool=TERMINAL, seen=seen))[2] == "leaving"
    assert verdict(await decide(networked, "auto_approve", tool=TERMINAL, seen=seen))[2] == "leaving"
    command = "terminal_operations.run_command"
    assert verdict(await decide(networked, tool=TERMINAL, seen=seen, allow=(command,)))[2] == "leaving"
    assert verdict(await decide(networked, tool=TERMINAL, seen=seen, allow=("net:*",)))[2] == "leaving"
    assert verdict(await decide(networked, tool=TERMINAL, seen=seen, allow=(command, "net:*")))[1] == "run"


async def test_always_is_offered_for_a_pair_or_for_the_very_command() -> None:
    for use, tool, label in (
        (server_access(), SERVER, "Always from your files to Files"),
        (command_access("make", network=True), TERMINAL, "Always for this pattern"),
    ):
        found = await decide(use, tool=tool, seen=FILES_READ)
        assert isinstance(found, PermitNeeded)
        assert {choice["id"]: choice["label"] for choice in found.data["choices"]}["always"] == label


@pytest.mark.case("EXFIL-02")
async def test_a_permission_for_a_command_is_none_for_the_network() -> None:
    asked = await decide(command_access("make"), tool=TERMINAL)
    assert isinstance(asked, PermitNeeded)
    said = convert(asked.data["proposal"], Pattern)
    networked = command_access("make", network=True)
    by = an_authorizer(a_grant(said))
    assert verdict(await decide(command_access("make"), by=by, tool=TERMINAL))[0] == "allow"
    assert verdict(await decide(networked, by=by, tool=TERMINAL))[2] == "leaving"
    written = Pattern(tool="terminal_operations.run_command", command=("make",))
    by = an_authorizer(rules=HeldRules(a_rule("allow", written)))
    assert verdict(await decide(networked, by=by, tool=TERMINAL))[2] == "leaving"
    anywhere = msgspec.structs.replace(written, destination="*")
    by = an_authorizer(rules=HeldRules(a_rule("allow", anywhere)))
    assert verdict(await decide(networked, by=by, tool=TERMINAL))[:2] == ("allow", "rule")


@pytest.mark.case("EXFIL-02")
async def test_a_command_that_nothing_holds_is_a_way_out() -> None:
    held = command_access("make")
    assert held.command is not None
    unheld = msgspec.structs.replace(held, command=msgspec.structs.replace(held.command, sandbox=""))
    by = an_authorizer(a_grant(Pattern(tool="*", command=("make",))))
    assert verdict(await decide(unheld, by=by, tool=TERMINAL))[2] == "leaving"
    by = an_authorizer(a_grant(Pattern(tool="terminal_operations.run_command", command=("make",))))
    assert verdict(await decide(unheld, by=by, tool=TERMINAL))[0] == "allow"


@pytest.mark.case("EXFIL-03")
async def test_many_small_payloads_add_up_until_they_are_looked_at() -> None:
    by = an_authorizer(a_grant(Pattern(tool="*")))
    little = Seen(sent={"Files": 200 * 1024})
    assert verdict(await decide(server_access(payload=1024), by=by, tool=SERVER, seen=little))[0] == "allow"
    found = await decide(server_access(payload=100 * 1024), by=by, tool=SERVER, seen=little)
    assert verdict(found) == ("ask", "default", "volume")
    assert isinstance(found, PermitNeeded)
    assert found.data["access"]["sentBefore"] == 200 * 1024


@pytest.mark.case("EXFIL-03")
async def test_very_many_tiny_payloads_are_looked_at_too() -> None:
    by = an_authorizer(a_grant(Pattern(tool="*")))
    often = Seen(sent={"Files": 10}, sends={"Files": limits.SENDS_UNASKED - 1})
    assert verdict(await decide(server_access(payload=1), by=by, tool=SERVER, seen=often))[0] == "allow"
    oftener = Seen(sent={"Files": 10}, sends={"Files": limits.SENDS_UNASKED})
    assert verdict(await decide(server_access(payload=1), by=by, tool=SERVER, seen=oftener))[2] == "volume"


@pytest.mark.case("EXFIL-03")
async def test_whoever_agreed_to_much_is_asked_again_after_as_much_and_not_at_each_call() -> None:
    by = an_authorizer(a_grant(Pattern(tool="*")))

    async def asks(sent: int, sends: int, payload: int = 1) -> bool:
        seen = Seen(sent={"Files": sent}, sends={"Files": sends})
        return verdict(await decide(server_access(payload=payload), by=by, tool=SERVER, seen=seen))[2] == "volume"

    most, often = limits.SENT_UNASKED, limits.SENDS_UNASKED
    assert await asks(most, 5)
    assert not await asks(most + 1, 5)
    assert await asks(2 * most, 5)
    assert await asks(most + 1, 5, payload=most)
    assert not await asks(10, often + 1)
    assert await asks(10, 2 * often)
