"""The parts beside the loop: thinking, permits, results."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from pilothouse.permissions.authorizer import PersonAuthorizer
from pilothouse.tools.think import Think
from pilothouse.types.access import Access
from pilothouse.types.authority import Approval
from pilothouse.types.ports import CallContext, Permit, PermitNeeded, PermitRefused
from tests.support.authorizers import an_authorizer
from tests.support.tools import Silent, ToolOf

THINK = Think()
WRITES = Access(operation="write", effects=frozenset({"writes"}))
WRITER = ToolOf("write", effects=frozenset({"writes"}))


def a_context(*earlier: str, call_id: str = "i_1", run_id: str = "r_1") -> CallContext:
    return CallContext("c_1", run_id, call_id, None, earlier, False, access=WRITES)


@pytest.mark.case("UTL-01")
async def test_thinking_is_noted_and_tells_which_tools_there_are() -> None:
    context = msgspec.structs.replace(a_context(), tools=(THINK, ToolOf("read_file")))
    output = await THINK.execute({"thoughts": "plan", "requested_tools": ["read_file", "fly"]}, context, Silent())
    assert output.error is None
    assert output.text == "Noted. Now act. Available: read_file. Not available: fly."


@pytest.mark.case("UTL-01")
def test_thoughts_are_shown_as_progress_on_one_line() -> None:
    assert THINK.shown({"thoughts": "First this.\nThen that."}).summary == "Thinking: First this."
    assert len(THINK.shown({"thoughts": "x" * 500}).summary) < 140
    assert THINK.shown({}).summary == "Thinking"
    assert THINK.effects == frozenset()


@pytest.mark.case("UTL-02")
@pytest.mark.parametrize(("earlier", "allowed"), [((), True), (("think",), False), (("think", "read_file"), True)])
async def test_an_action_must_follow_thinking(earlier: Sequence[str], allowed: bool) -> None:
    output = await THINK.execute({"thoughts": "more"}, a_context(*earlier), Silent())
    assert (output.error is None) == allowed


async def permit(authorizer: PersonAuthorizer) -> Permit:
    asked = await authorizer.decide(WRITER, {"path": "a"}, a_context(), None)
    assert isinstance(asked, PermitNeeded)
    given = await authorizer.decide(WRITER, {"path": "a"}, a_context(), Approval("allow", asked.decision.call_hash))
    assert not isinstance(given, PermitNeeded | PermitRefused)
    return given


async def test_a_permit_holds_for_exactly_the_call_it_was_given_for() -> None:
    authorizer = an_authorizer()
    assert not await authorizer.redeem(await permit(authorizer), WRITER, {"path": "a"}, a_context())
    other = msgspec.structs.replace(a_context(), access=Access(operation="write", effects=frozenset({"runs"})))
    for tool, arguments, context in (
        (WRITER, {"path": "b"}, a_context()),
        (WRITER, {"path": "a", "force": True}, a_context()),
        (ToolOf("erase"), {"path": "a"}, a_context()),
        (WRITER, {"path": "a"}, a_context(call_id="i_2")),
        (WRITER, {"path": "a"}, a_context(run_id="r_2")),
        (WRITER, {"path": "a"}, other),
    ):
        assert await authorizer.redeem(await permit(authorizer), tool, arguments, context)


async def test_a_permit_is_used_once() -> None:
    authorizer = an_authorizer()
    given = await permit(authorizer)
    assert not await authorizer.redeem(given, WRITER, {"path": "a"}, a_context())
    assert await authorizer.redeem(given, WRITER, {"path": "a"}, a_context())


async def test_a_permit_of_another_authorizer_or_of_nobody_is_worth_nothing() -> None:
    authorizer = an_authorizer()
    real = await permit(authorizer)
    assert await authorizer.redeem(await permit(an_authorizer()), WRITER, {"path": "a"}, a_context())
    assert await authorizer.redeem(Permit(real.decision, maker=object()), WRITER, {"path": "a"}, a_context())


@pytest.mark.parametrize("answer", ["deny", "", "Allow"])
async def test_any_answer_but_allow_is_a_refusal(answer: str) -> None:
    authorizer = an_authorizer()
    asked = await authorizer.decide(WRITER, {}, a_context(), None)
    assert isinstance(asked, PermitNeeded)
    given = await authorizer.decide(WRITER, {}, a_context(), Approval(answer, asked.decision.call_hash))
    assert isinstance(given, PermitRefused)


async def test_a_tool_that_touches_something_is_asked_about_each_time() -> None:
    needed = await an_authorizer().decide(WRITER, {}, a_context(), None)
    assert isinstance(needed, PermitNeeded)
    assert needed.question == "Allow Using write? It changes files."
