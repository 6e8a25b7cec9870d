"""What Gemini answers."""

from __future__ import annotations

from pilothouse.types.selection import NativeTools
from tests.wires.replies import Json, Reply, Wire
from tests.wires.scenario import PICTURE, READ, THOUGHT, TODOS, Scenario, calls, pictures, sources
from tests.wires.scenarios.early_ends import HALF, cut_answer, filtered_answer
from tests.wires.streams.gemini import (
    SIGNATURE,
    answer,
    call,
    chunk,
    code,
    grounding,
    output,
    picture,
    refusal,
    stream,
    text,
    thought,
)

WIRE: Wire = "gemini"
SECOND = answer([text("Second.")])
AGAIN = answer([text("Again.")])


def _one_side(request: Json) -> Reply:
    """As models before the third generation have it."""
    if len(request.get("tools", ())) > 1:
        words = (
            "Built-in tools ({google_search}) and Function Calling cannot be combined in the same request. "
            "Please choose one."
        )
        return refusal(400, words)
    return answer([text("One of them.")])


def _stopped(reason: str, message: str = "") -> Reply:
    told = {"finishMessage": message} if message else {}
    return stream({"candidates": [{"content": {}, "finishReason": reason, "index": 0, **told}]})


SCENARIOS = (
    Scenario(
        "gemini-thinks-speaks-and-calls-twice",
        WIRE,
        (
            answer(
                [thought("Hmm.")],
                [text("Looking.")],
                [call(THOUGHT, "fc_1", SIGNATURE), call(READ, "fc_2", name=TODOS)],
            ),
            answer([text("Done.")], [text("", SIGNATURE)]),
            SECOND,
        ),
        ("Looking.\n\nDone.", "Second."),
        check=calls("completed", "completed"),
        thinking=True,
    ),
    Scenario(
        "gemini-gives-its-calls-no-ids",
        WIRE,
        (answer([call(THOUGHT, "", SIGNATURE), call(READ, name=TODOS)]), answer([text("Done.")])),
        ("Done.",),
        check=calls("completed", "completed"),
    ),
    Scenario(
        "gemini-signs-its-text",
        WIRE,
        (answer([text("Signed. ", SIGNATURE)], [text("Plain.")]), SECOND),
        ("Signed. Plain.", "Second."),
    ),
    filtered_answer("gemini-is-stopped-for-safety", WIRE, answer([text("I beg")], [], stop="SAFETY")),
    Scenario(
        "gemini-does-not-take-the-prompt",
        WIRE,
        (stream({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 5}}),),
        ("",),
        tells=("refused",),
    ),
    Scenario(
        "gemini-may-not-make-this-picture",
        WIRE,
        (answer([], stop="IMAGE_PROHIBITED_CONTENT"),),
        ("",),
        tells=("refused",),
    ),
    Scenario(
        "gemini-gives-two-candidates",
        WIRE,
        (
            stream(
                {
                    "candidates": [
                        {"content": {"role": "model", "parts": [text(words)]}, "index": index, "finishReason": "STOP"}
                        for index, words in enumerate(("First.", "Other."))
                    ]
                }
            ),
            SECOND,
        ),
        ("First.", "Second."),
    ),
    Scenario(
        "gemini-writes-a-call-that-nobody-can-read",
        WIRE,
        (_stopped("MALFORMED_FUNCTION_CALL", "Malformed function call: print(x"), AGAIN),
        ("Again.",),
        tells=("malformed_call",),
        verbatim=False,
    ),
    Scenario(
        "gemini-calls-what-it-was-not-given",
        WIRE,
        (_stopped("UNEXPECTED_TOOL_CALL"), AGAIN),
        ("Again.",),
        tells=("malformed_call",),
        verbatim=False,
    ),
    Scenario("gemini-makes-a-picture", WIRE, (answer([picture(PICTURE)]), SECOND), ("", "Second."), check=pictures(1)),
    Scenario(
        "gemini-signs-a-picture",
        WIRE,
        (answer([text("Here."), picture(PICTURE, SIGNATURE)]), SECOND),
        ("Here.", "Second."),
        check=pictures(1),
    ),
    Scenario(
        "gemini-runs-code",
        WIRE,
        (answer([text("Before. ")], [code("print(1)", SIGNATURE)], [output("1")], [text("After.")]), SECOND),
        ("Before. After.", "Second."),
        native=NativeTools(code_execution=True),
    ),
    Scenario(
        "gemini-searches-and-cites",
        WIRE,
        (stream(chunk([text("cited")], "STOP", groundingMetadata=grounding())), SECOND),
        ("cited", "Second."),
        check=sources("https://harbour.example/tides"),
        native=NativeTools(web_search=True),
    ),
    Scenario(
        "gemini-of-old-takes-functions-or-its-own-tools",
        WIRE,
        (_one_side,),
        ("One of them.",),
        tells=("left_out",),
        native=NativeTools(web_search=True),
        model={"model": "gemini-2.5-flash"},
    ),
    Scenario(
        "gemini-turns-out-to-take-one-side-only",
        WIRE,
        (_one_side, _one_side),
        ("One of them.",),
        tells=("left_out",),
        native=NativeTools(web_search=True),
    ),
    cut_answer("gemini-reaches-the-limit", WIRE, answer([text(HALF)], stop="MAX_TOKENS")),
    Scenario(
        "gemini-reaches-the-limit-while-it-thinks",
        WIRE,
        (answer([thought("Hmm.")], [], stop="MAX_TOKENS"),),
        ("",),
        tells=("cut_short",),
        thinking=True,
    ),
    Scenario("gemini-sees-a-picture", WIRE, (answer([text("A dot.")]), SECOND), ("A dot.", "Second."), picture=True),
)
