"""A conversation that goes from provider to provider: each is told what it takes, and the first finds its own again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import pytest

from pilothouse import Host
from tests.wires.driving import configure, configured, said
from tests.wires.endpoint import Asked, Provider
from tests.wires.judging import Judge
from tests.wires.replays import not_continued
from tests.wires.replies import Answer, Json, Reply, Wire
from tests.wires.rules import broken_rules
from tests.wires.scenario import PICTURE, READ, THOUGHT, TODOS, WRITTEN_THOUGHT, Scenario
from tests.wires.streams import anthropic, chat, gemini, ollama, responses

WIRES: tuple[Wire, ...] = ("anthropic", "chat", "responses", "gemini", "ollama")
UNSIGNED = "Function call is missing a thought_signature in functionCall parts. This is required for tools to work."


def _signed(request: Json) -> Reply:
    """As the newest of them have it: the first of the calls at once wants a signature, whoever made them."""
    for content in request["contents"]:
        calls = [part for part in content["parts"] if "functionCall" in part]
        if calls and "thoughtSignature" not in calls[0]:
            return gemini.refusal(400, UNSIGNED)
    return gemini.answer([gemini.text("Heard.")])


# How a conversation begins: with all that its provider can put into an answer, and calls.
BEGINNINGS: dict[Wire, tuple[Answer, ...]] = {
    "anthropic": (
        anthropic.answer(
            anthropic.thought("Hmm.", "proof"),
            anthropic.search(),
            anthropic.text("High at noon.", anthropic.citation()),
            anthropic.call("toolu_1", THOUGHT),
            anthropic.call("toolu_2", READ, TODOS),
            stop="tool_use",
        ),
        anthropic.answer(anthropic.text("Begun.")),
    ),
    "chat": (
        chat.answer(
            {"reasoning_content": "Hmm."},
            chat.text("Looking."),
            chat.calls(
                chat.call(0, "call_1", WRITTEN_THOUGHT, extra_content={"google": {"thought_signature": "cA=="}})
            ),
            stop="tool_calls",
        ),
        chat.answer(chat.text("Begun.")),
    ),
    "responses": (
        responses.answer(
            responses.reasoning("rs_1", "Hmm."),
            responses.searched(),
            responses.picture(PICTURE),
            responses.message("msg_1", "At noon.", [responses.citation("At noon.")]),
            responses.call("call_1|fc.1", THOUGHT),
        ),
        responses.answer(responses.message("msg_2", "Begun.")),
    ),
    "gemini": (
        gemini.answer(
            [gemini.thought("Hmm."), gemini.text("Here."), gemini.picture(PICTURE, gemini.SIGNATURE)],
            [gemini.code("print(1)"), gemini.output("1")],
            [gemini.call(THOUGHT, "", gemini.SIGNATURE), gemini.call(READ, name=TODOS)],
        ),
        gemini.answer([gemini.text("Begun.")]),
    ),
    "ollama": (
        ollama.answer(ollama.thought("Hmm."), ollama.text("Looking."), ollama.calls(think=THOUGHT)),
        ollama.answer(ollama.text("Begun.")),
    ),
}
# What each says to whatever it hears.
HEARD: dict[Wire, Answer] = {
    "anthropic": anthropic.answer(anthropic.text("Heard.")),
    "chat": chat.answer(chat.text("Heard.")),
    "responses": responses.answer(responses.message("msg_9", "Heard.")),
    "gemini": _signed,
    "ollama": ollama.answer(ollama.text("Heard.")),
}


@dataclass(frozen=True)
class Journey:
    """What was asked of each provider on the way, in order, and what the last turn gave."""

    asked: list[Asked]
    given: list[object]


def _stops(first: Wire) -> list[Wire]:
    """Return the way: from the first to all others, and back."""
    return [first, *(wire for wire in WIRES if wire != first), first]


async def _travel(home: Path) -> dict[Wire, Journey]:
    answers: dict[str, tuple[Answer, ...]] = {}
    answers |= {f"{first}-{wire}": (HEARD[wire],) for first in WIRES for wire in WIRES if wire != first}
    answers |= {f"{first}-{first}": (*BEGINNINGS[first], HEARD[first]) for first in WIRES}
    async with Provider(answers) as provider:
        names = {f"{first}-{wire}": Scenario(f"{first}-{wire}", wire, (), ()) for first in WIRES for wire in WIRES}
        configure(home, {name: configured(scenario, provider.url_of(name)) for name, scenario in names.items()})
        async with Host(home) as host:
            journeys = await asyncio.gather(*(_journey(host, provider, first) for first in WIRES))
    return dict(zip(WIRES, journeys, strict=True))


async def _journey(host: Host, provider: Provider, first: Wire) -> Journey:
    chat = await host.start(model=f"{first}-{first}", system="Be brief.", title="A journey")
    asked: list[Asked] = []
    given: list[object] = []
    for wire in _stops(first):
        name = f"{first}-{wire}"
        before = len(provider.asked(name))
        given.append(await said(chat, f"To {wire}", model=name))
        asked += provider.asked(name)[before:]
    return Journey(asked, given)


@pytest.fixture(scope="module")
def journeys(tmp_path_factory: pytest.TempPathFactory) -> dict[Wire, Journey]:
    """What came of a conversation from each beginning."""
    return asyncio.run(_travel(tmp_path_factory.mktemp("journeys") / "home"))


@pytest.mark.parametrize("first", WIRES)
def test_a_conversation_goes_on_with_every_other_provider(
    first: Wire, judge: Judge, journeys: dict[Wire, Journey]
) -> None:
    journey = journeys[first]
    assert journey.given[1:] == ["Heard."] * len(WIRES)
    taken = [one for one in journey.asked if not one.reply.broken]
    wrong = [f"{one.wire}: {each}" for one in taken for each in judge.requests(one.wire, [one.body])]
    wrong += [f"{one.wire}: {each}" for one in taken for each in broken_rules(one.wire, one.headers, one.body)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("first", WIRES)
def test_who_began_a_conversation_finds_its_own_answer_again(first: Wire, journeys: dict[Wire, Journey]) -> None:
    own = [one for one in journeys[first].asked if one.wire == first and not one.reply.broken]
    wrong = not_continued(first, own[0].body, own[0].reply, own[-1].body)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("first", WIRES)
def test_what_was_said_is_told_to_everyone(first: Wire, journeys: dict[Wire, Journey]) -> None:
    for one in journeys[first].asked[2:]:
        assert "Begun." in str(one.body)
        assert "a plan" in str(one.body)
