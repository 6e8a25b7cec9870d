"""What Anthropic answers."""

from __future__ import annotations

from pilothouse.types.selection import NativeTools
from tests.wires.replies import Json, Reply, Wire
from tests.wires.scenario import READ, THOUGHT, TODOS, Scenario, body, both, calls, sources
from tests.wires.scenarios.early_ends import HALF, cut_answer, filtered_answer
from tests.wires.streams.anthropic import (
    answer,
    broken,
    call,
    citation,
    fetched,
    found,
    ran,
    redacted,
    refusal,
    search,
    text,
    thought,
    upload,
    used,
)

WIRE: Wire = "anthropic"
TIDES = "https://harbour.example/tides"
SEARCHES = NativeTools(web_search=True)
SECOND = answer(text("Second."))


def _without_budget(request: Json) -> Reply:
    if (request.get("thinking") or {}).get("type") == "enabled":
        words = (
            '"thinking.type.enabled" is not supported for this model. '
            'Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.'
        )
        return refusal(400, "invalid_request_error", words)
    return answer(thought("", "proof"), text("Adapted."))


def _always_thinking(request: Json) -> Reply:
    if (request.get("thinking") or {}).get("type") == "disabled":
        return refusal(400, "invalid_request_error", '"thinking.type.disabled" is not supported for this model.')
    return answer(text("Adapted."))


def _cool(request: Json) -> Reply:
    if request.get("temperature", 0) > 1:
        return refusal(400, "invalid_request_error", "temperature: range: 0..1")
    return answer(text("Cooler."))


def _without_temperature(request: Json) -> Reply:
    """As the newest of them have it."""
    if "temperature" in request:
        return refusal(400, "invalid_request_error", "temperature: Extra inputs are not permitted")
    return answer(text("Even."))


SCENARIOS = (
    Scenario(
        "anthropic-thinks-speaks-and-calls-twice",
        WIRE,
        (
            answer(
                thought("Hmm.", "proof 1"),
                text("Looking."),
                call("toolu_1", THOUGHT),
                call("toolu_2", READ, TODOS),
                stop="tool_use",
            ),
            answer(thought("Now.", "proof 2"), text("Done.")),
            SECOND,
        ),
        ("Looking.\n\nDone.", "Second."),
        check=calls("completed", "completed"),
        thinking=True,
    ),
    Scenario(
        "anthropic-redacts-its-thinking",
        WIRE,
        (
            answer(redacted("sealed"), thought("", "proof"), call("toolu_1", THOUGHT), stop="tool_use"),
            answer(text("Done.")),
        ),
        ("Done.",),
        thinking=True,
    ),
    Scenario(
        "anthropic-thinks-between-texts",
        WIRE,
        (
            answer(
                thought("One.", "proof 1"),
                text("A. "),
                thought("Two.", "proof 2"),
                text("B."),
                call("toolu_1", THOUGHT),
                stop="tool_use",
            ),
            answer(text("Done.")),
        ),
        ("A. B.\n\nDone.",),
        thinking=True,
    ),
    Scenario(
        "anthropic-searches-and-cites",
        WIRE,
        (
            answer(
                thought("Hmm.", "proof 1"),
                text("I will search. "),
                search(),
                thought("Now.", "proof 2"),
                text("High at noon.", citation()),
                text(" That is all."),
            ),
            SECOND,
        ),
        ("I will search. High at noon. That is all.", "Second."),
        check=sources(TIDES),
        thinking=True,
        native=SEARCHES,
    ),
    Scenario(
        "anthropic-searches-then-calls",
        WIRE,
        (answer(search(), call("toolu_1", THOUGHT), stop="tool_use"), answer(text("Done."))),
        ("Done.",),
        native=SEARCHES,
    ),
    Scenario(
        "anthropic-searches-twice-and-says-nothing",
        WIRE,
        (answer(search("srvtoolu_1"), search("srvtoolu_2")), SECOND),
        ("", "Second."),
        native=SEARCHES,
    ),
    Scenario(
        "anthropic-uses-two-tools-of-its-own-at-once",
        WIRE,
        (
            answer(
                used("srvtoolu_1", "web_search", {"query": "tides"}),
                used("srvtoolu_2", "web_search", {"query": "winds"}),
                found("srvtoolu_1"),
                found("srvtoolu_2"),
                text("Both."),
            ),
            SECOND,
        ),
        ("Both.", "Second."),
        native=SEARCHES,
    ),
    Scenario(
        "anthropic-reads-a-page-and-runs-code",
        WIRE,
        (answer(fetched(), text("It says noon. "), ran(), text("Two.")), SECOND),
        ("It says noon. Two.", "Second."),
        native=NativeTools(code_execution=True, url_context=True),
    ),
    Scenario(
        "anthropic-uploads-a-file",
        WIRE,
        (answer(text("Here."), upload("file_1")), SECOND),
        ("Here.", "Second."),
        native=NativeTools(code_execution=True),
    ),
    Scenario(
        "anthropic-pauses-and-is-asked-to-go-on",
        WIRE,
        (answer(text("Searching."), search(), stop="pause_turn"), answer(text("The rest.")), SECOND),
        ("Searching.The rest.", "Second."),
        native=SEARCHES,
    ),
    filtered_answer("anthropic-declines", WIRE, answer(text("I beg"), stop="refusal")),
    cut_answer("anthropic-fills-its-window", WIRE, answer(text(HALF), stop="model_context_window_exceeded")),
    cut_answer("anthropic-reaches-the-limit", WIRE, answer(text(HALF), stop="max_tokens")),
    Scenario(
        "anthropic-reaches-the-limit-in-a-call",
        WIRE,
        (answer(call("toolu_1", '{"thou'), stop="max_tokens"), answer(text("Smaller."))),
        ("Smaller.",),
        check=both(calls("failed"), body(1, lambda sent: "smaller" in str(sent["messages"][-1]).lower())),
        verbatim=False,
    ),
    Scenario("anthropic-is-overloaded-before-a-word", WIRE, (broken(), answer(text("Again."))), ("Again.",)),
    Scenario(
        "anthropic-is-overloaded-in-the-middle", WIRE, (broken(text("Begun")), answer(text("Again."))), ("Again.",)
    ),
    Scenario("anthropic-sees-a-picture", WIRE, (answer(text("A dot.")), SECOND), ("A dot.", "Second."), picture=True),
    Scenario(
        "anthropic-decides-itself-how-much-to-think",
        WIRE,
        (_without_budget, _without_budget, SECOND),
        ("Adapted.", "Second."),
        check=body(2, lambda sent: sent["thinking"]["type"] == "adaptive"),
        thinking=True,
    ),
    Scenario("anthropic-always-thinks", WIRE, (_always_thinking, _always_thinking), ("Adapted.",), thinking=False),
    Scenario(
        "anthropic-takes-no-such-temperature",
        WIRE,
        (_cool, _cool, SECOND),
        ("Cooler.", "Second."),
        tells=("temperature",),
        temperature=1.5,
    ),
    Scenario(
        "anthropic-takes-no-temperature",
        WIRE,
        (_without_temperature, _without_temperature, SECOND),
        ("Even.", "Second."),
        tells=("temperature",),
        check=body(2, lambda sent: "temperature" not in sent),
        temperature=0.5,
    ),
)
