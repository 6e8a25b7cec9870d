"""What OpenAI's Responses answer."""

from __future__ import annotations

from pilothouse.types.selection import NativeTools
from tests.wires.replies import Json, Reply, Wire
from tests.wires.scenario import PICTURE, READ, THOUGHT, TODOS, Scenario, body, both, calls, pictures, sources
from tests.wires.scenarios.early_ends import HALF, cut_answer, filtered_answer
from tests.wires.streams.responses import (
    answer,
    call,
    citation,
    erred,
    failed,
    incomplete,
    message,
    picture,
    reasoning,
    refusal,
    refusing,
    searched,
    shell,
    unheard_of,
)

WIRE: Wire = "responses"
SECOND = answer(message("msg_2", "Second."))
AGAIN = answer(message("msg_9", "Again."))


def _thinks_always(request: Json) -> Reply:
    if (request.get("reasoning") or {}).get("effort") == "none":
        words = (
            "Unsupported value: 'none' is not supported with the 'm' model. "
            "Supported values are: 'minimal', 'low', 'medium', and 'high'."
        )
        return refusal(400, words, "unsupported_value", "reasoning.effort")
    return answer(message("msg_1", "Adapted."))


SCENARIOS = (
    Scenario(
        "responses-thinks-speaks-and-calls-twice",
        WIRE,
        (
            answer(
                reasoning("rs_1", "One.", "Two."),
                message("msg_1", "Looking.", phase="commentary"),
                call("call_1", THOUGHT),
                call("call_2", READ, name=TODOS),
            ),
            answer(reasoning("rs_2"), message("msg_2", "Done.")),
            answer(message("msg_3", "Second.")),
        ),
        ("Looking.\n\nDone.", "Second."),
        check=calls("completed", "completed"),
        thinking=True,
    ),
    Scenario(
        "responses-searches-and-cites",
        WIRE,
        (
            answer(
                reasoning("rs_1", "One."),
                searched(),
                reasoning("rs_2", "Two."),
                message("msg_1", "At noon.", [citation("At noon.")]),
            ),
            SECOND,
        ),
        ("At noon.", "Second."),
        check=sources("https://harbour.example/tides"),
        thinking=True,
        native=NativeTools(web_search=True),
    ),
    Scenario(
        "responses-thinks-before-each-call",
        WIRE,
        (
            answer(
                reasoning("rs_1", "One."),
                call("call_1", THOUGHT),
                reasoning("rs_2", "Two."),
                call("call_2", READ, name=TODOS),
            ),
            SECOND,
        ),
        ("Second.",),
        check=calls("completed", "completed"),
        thinking=True,
    ),
    Scenario(
        "responses-speaks-between-calls",
        WIRE,
        (
            answer(
                message("msg_1", "First."),
                call("call_1", THOUGHT),
                message("msg_2", "Then."),
                call("call_2", READ, name=TODOS),
            ),
            answer(message("msg_3", "Done.")),
        ),
        ("First.\n\nThen.\n\nDone.",),
        check=calls("completed", "completed"),
    ),
    cut_answer(
        "responses-reaches-the-limit", WIRE, answer(message("msg_1", HALF), final=incomplete("max_output_tokens"))
    ),
    Scenario(
        "responses-reaches-the-limit-in-a-call",
        WIRE,
        (
            answer(
                reasoning("rs_1", "One."),
                call("call_1", '{"thou', status="incomplete"),
                final=incomplete("max_output_tokens"),
            ),
            answer(message("msg_1", "Smaller.")),
        ),
        ("Smaller.",),
        check=both(calls("failed"), body(1, lambda sent: "smaller" in str(sent["input"][-1]).lower())),
        thinking=True,
        verbatim=False,
    ),
    filtered_answer(
        "responses-is-filtered", WIRE, answer(message("msg_1", "I beg"), final=incomplete("content_filter"))
    ),
    Scenario(
        "responses-declines",
        WIRE,
        (answer(refusing("msg_1", "I can't.")), SECOND),
        ("I can't.", "Second."),
        tells=("refused",),
    ),
    Scenario("responses-fails", WIRE, (answer(final=failed("server_error", "The model crashed.")), AGAIN), ("Again.",)),
    Scenario(
        "responses-limits-the-rate",
        WIRE,
        (answer(final=failed("rate_limit_exceeded", "Rate limit reached. Please try again in 1.2s.")), AGAIN),
        ("Again.",),
    ),
    Scenario("responses-errs", WIRE, (erred("server_error", "Something broke."), AGAIN), ("Again.",)),
    Scenario(
        "responses-sends-what-nobody-knows",
        WIRE,
        (answer(unheard_of(), message("msg_1", "After.")), SECOND),
        ("After.", "Second."),
        unknown="quantum_call",
    ),
    Scenario(
        "responses-runs-a-shell", WIRE, (answer(shell(), message("msg_1", "After.")), SECOND), ("After.", "Second.")
    ),
    Scenario("responses-makes-a-picture", WIRE, (answer(picture(PICTURE)), SECOND), ("", "Second."), check=pictures(1)),
    Scenario(
        "responses-sees-a-picture",
        WIRE,
        (answer(message("msg_1", "A dot.")), SECOND),
        ("A dot.", "Second."),
        picture=True,
    ),
    Scenario("responses-always-thinks", WIRE, (_thinks_always, _thinks_always), ("Adapted.",), thinking=False),
)
