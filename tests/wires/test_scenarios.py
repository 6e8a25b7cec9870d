"""Conversations with every wire, judged by the makers' own SDKs and by the order that they insist on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.wires.driving import play
from tests.wires.judging import Judge
from tests.wires.replays import not_continued
from tests.wires.replies import Reply
from tests.wires.rules import broken_rules
from tests.wires.scenario import Fails, Outcome, Scenario
from tests.wires.scenarios import anthropic, chat, gemini, ollama, refusals, responses, results, settings

TABLES = (anthropic, chat, responses, gemini, ollama, refusals, results, settings)
SCENARIOS = {scenario.name: scenario for table in TABLES for scenario in table.SCENARIOS}


@pytest.fixture(scope="module")
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What came of the scenarios that were chosen, all played at once."""
    names = {item.callspec.params.get("name") for item in request.session.items if hasattr(item, "callspec")}
    scenarios = [scenario for name, scenario in SCENARIOS.items() if name in names]
    return play(scenarios, tmp_path_factory.mktemp("wires") / "home")


def test_every_answer_is_one_that_the_makers_own_types_describe(judge: Judge) -> None:
    replies = [reply for scenario in SCENARIOS.values() for reply in scenario.answers if isinstance(reply, Reply)]
    wrong = judge.replies(replies)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_conversation_goes_as_its_maker_meant_it(name: str, judge: Judge, outcomes: dict[str, Outcome]) -> None:
    scenario, outcome = SCENARIOS[name], outcomes[name]
    wrong = [*_complaints(judge, scenario, outcome)]
    assert not wrong, "\n".join(wrong)
    assert [_short(got, wanted) for got, wanted in zip(outcome.turns, scenario.gives, strict=True)] == [*scenario.gives]
    assert len(outcome.asked) == scenario.requests
    assert outcome.notices() == list(scenario.tells)
    if scenario.check:
        scenario.check(outcome)


def _complaints(judge: Judge, scenario: Scenario, outcome: Outcome) -> Iterator[str]:
    """Say what is wrong with the requests, each and in their order, and with what was answered to them."""
    asked = outcome.asked
    told = judge.requests(scenario.wire, outcome.bodies)
    yield from (each for each in told if not scenario.unknown or scenario.unknown not in each)
    yield from judge.replies([one.reply for one in asked])
    for number, one in enumerate(asked):
        yield from (f"request {number}: {each}" for each in broken_rules(one.wire, one.headers, one.body))
    if scenario.verbatim:
        for number, (one, after) in enumerate(pairwise(asked)):
            if not one.reply.broken:
                wrong = not_continued(one.wire, one.body, one.reply, after.body)
                yield from (f"request {number + 1}: {each}" for each in wrong)


def _short(got: str | Fails, wanted: str | Fails) -> str | Fails:
    """Return a failure with no more of its words than are wanted."""
    if isinstance(got, Fails) and isinstance(wanted, Fails) and wanted.words in got.words:
        return Fails(got.code, wanted.words)
    return got
