"""What servers of chat completions answer."""

from __future__ import annotations

from tests.wires.replies import Answer, Json, Reply, Wire, refused
from tests.wires.scenario import (
    PICTURE,
    TODOS,
    WRITTEN_READ,
    WRITTEN_THOUGHT,
    Fails,
    Outcome,
    Scenario,
    body,
    calls,
    pictures,
    sources,
)
from tests.wires.scenarios.early_ends import HALF, cut_answer, filtered_answer
from tests.wires.streams.chat import answer, broken, call, more, packed, refusal, text, whole
from tests.wires.streams.chat import calls as asks

WIRE: Wire = "chat"
DONE = answer(text("Done."))
SECOND = answer(text("Second."))
DETAILS: tuple[Json, ...] = (
    {"type": "reasoning.text", "text": "Hmm.", "id": "r_1", "format": "anthropic-claude-v1", "index": 0},
    {
        "type": "reasoning.text",
        "text": "",
        "signature": "proof",
        "id": "r_1",
        "format": "anthropic-claude-v1",
        "index": 0,
    },
    {"type": "reasoning.encrypted", "data": "sealed", "id": "r_2", "format": "anthropic-claude-v1", "index": 1},
)
BLOCKS = [{"type": "thinking", "thinking": "Hmm.", "signature": "proof"}]
CITED: Json = {
    "type": "url_citation",
    "url_citation": {"start_index": 0, "end_index": 5, "title": "Tides", "url": "https://harbour.example/tides"},
}


def _last_calls(request: Json) -> list[Json]:
    found: list[Json] = next(each for each in reversed(request["messages"]) if each.get("tool_calls"))["tool_calls"]
    return found


def _assistant(request: Json) -> Json:
    found: Json = next(each for each in reversed(request["messages"]) if each["role"] == "assistant")
    return found


def _proofs_come_back(outcome: Outcome) -> None:
    """The text, its signature, and what is sealed: in order, whether joined or piece by piece."""
    back = _assistant(outcome.bodies[1])["reasoning_details"]
    assert "".join(part.get("text", "") for part in back) == "Hmm."
    assert [part["signature"] for part in back if part.get("signature")] == ["proof"]
    assert back[-1] == DETAILS[-1]


def _without(field: str, refusing: Reply) -> tuple[Answer, ...]:
    def given(request: Json) -> Reply:
        return refusing if field in request else DONE

    return (given, given)


SCENARIOS = (
    Scenario(
        "chat-thinks-speaks-and-calls-twice",
        WIRE,
        (
            answer(
                {"reasoning_content": "Hm"},
                {"reasoning_content": "m."},
                text("Looking."),
                asks(call(0, "call_1")),
                asks(more(0, '{"thoughts":')),
                asks(more(0, '"a plan"}')),
                asks(call(1, "call_2", name=TODOS)),
                asks(more(1, WRITTEN_READ)),
                stop="tool_calls",
            ),
            DONE,
            SECOND,
        ),
        ("Looking.\n\nDone.", "Second."),
        check=body(1, lambda sent: _assistant(sent)["reasoning_content"] == "Hmm."),
        thinking=True,
    ),
    Scenario(
        "chat-numbers-its-calls-with-gaps",
        WIRE,
        (
            answer(
                asks(call(1, "call_1", WRITTEN_THOUGHT)),
                asks(call(4, "call_2", WRITTEN_READ, TODOS)),
                stop="tool_calls",
            ),
            DONE,
        ),
        ("Done.",),
        check=calls("completed", "completed"),
    ),
    Scenario(
        "chat-writes-two-calls-at-once",
        WIRE,
        (
            answer(
                asks(call(0, "call_1"), call(1, "call_2", name=TODOS)),
                asks(more(0, '{"thoughts"')),
                asks(more(1, '{"operation"')),
                asks(more(0, ':"one"}')),
                asks(more(1, ':"read"}')),
                stop="tool_calls",
            ),
            DONE,
        ),
        ("Done.",),
        check=calls("completed", "completed"),
    ),
    Scenario(
        "chat-gives-two-calls-one-number-and-no-id",
        WIRE,
        (
            answer(asks(call(0, "", WRITTEN_THOUGHT)), asks(call(0, "", WRITTEN_READ, TODOS)), stop="tool_calls"),
            DONE,
        ),
        ("Done.",),
        check=calls("completed", "completed"),
        verbatim=False,
    ),
    Scenario(
        "chat-calls-in-the-old-way",
        WIRE,
        (
            answer(
                {"function_call": {"name": "think", "arguments": ""}},
                {"function_call": {"arguments": WRITTEN_THOUGHT}},
                stop="function_call",
            ),
            DONE,
        ),
        ("Done.",),
        check=calls("completed"),
        verbatim=False,
    ),
    Scenario(
        "chat-declines",
        WIRE,
        (answer({"refusal": "I can't"}, {"refusal": " help."}),),
        ("I can't help.",),
        tells=("refused",),
    ),
    filtered_answer("chat-is-filtered", WIRE, answer(text("I beg"), stop="content_filter")),
    cut_answer("chat-reaches-the-limit", WIRE, answer(text(HALF), stop="length")),
    Scenario(
        "chat-reaches-the-limit-in-a-call",
        WIRE,
        (answer(asks(call(0, "call_1", '{"thou')), stop="length"), answer(text("Smaller."))),
        ("Smaller.",),
        check=body(1, lambda sent: "smaller" in str(sent["messages"][-1]).lower()),
        verbatim=False,
    ),
    Scenario(
        "chat-cites",
        WIRE,
        (answer(text("Noon.", annotations=[CITED])),),
        ("Noon.",),
        check=sources("https://harbour.example/tides"),
    ),
    Scenario("chat-ends-without-the-word", WIRE, (answer(text("Enough."), done=False),), ("Enough.",)),
    Scenario(
        "chat-fails-in-the-middle",
        WIRE,
        (broken(text("Begun"), error={"message": "Provider returned error", "code": 502}), DONE),
        ("Done.",),
    ),
    Scenario(
        "openrouter-proves-its-thinking",
        WIRE,
        (
            answer(
                {"reasoning": "Hmm.", "reasoning_details": [DETAILS[0]]},
                {"reasoning_details": [DETAILS[1]]},
                {"reasoning_details": [DETAILS[2]]},
                asks(call(0, "call_1", WRITTEN_THOUGHT)),
                stop="tool_calls",
                before=b": OPENROUTER PROCESSING\n\n",
            ),
            DONE,
        ),
        ("Done.",),
        check=_proofs_come_back,
    ),
    Scenario(
        "litellm-proves-its-thinking",
        WIRE,
        (
            answer(
                {"reasoning_content": "Hmm.", "thinking_blocks": [{"type": "thinking", "thinking": "Hmm."}]},
                {"reasoning_content": "", "thinking_blocks": [{**BLOCKS[0], "thinking": ""}]},
                asks(call(0, "call_1", WRITTEN_THOUGHT)),
                stop="tool_calls",
            ),
            DONE,
        ),
        ("Done.",),
        check=body(1, lambda sent: _assistant(sent)["thinking_blocks"] == BLOCKS),
    ),
    Scenario(
        "google-signs-a-call-in-chat-completions",
        WIRE,
        (
            answer(
                asks(call(0, "call_1", WRITTEN_THOUGHT, extra_content={"google": {"thought_signature": "c2lnbmVk"}})),
                stop="tool_calls",
            ),
            DONE,
        ),
        ("Done.",),
        check=body(
            1, lambda sent: _last_calls(sent)[0]["extra_content"] == {"google": {"thought_signature": "c2lnbmVk"}}
        ),
    ),
    Scenario(
        "chat-makes-a-picture",
        WIRE,
        (
            answer(text("", images=[{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}])),
            SECOND,
        ),
        ("", "Second."),
        check=pictures(1),
        verbatim=False,
    ),
    Scenario(
        "chat-answers-in-one-document", WIRE, (whole({"content": "All at once."}),), ("All at once.",), verbatim=False
    ),
    Scenario(
        "chat-calls-in-one-document",
        WIRE,
        (
            whole(
                {
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "call_1",
                            "type": "function",
                            "function": {"name": "think", "arguments": WRITTEN_THOUGHT},
                        }
                    ],
                },
                "tool_calls",
            ),
            DONE,
        ),
        ("Done.",),
        check=calls("completed"),
        verbatim=False,
    ),
    *(
        Scenario(f"chat-packs-its-answer-with-{name.replace(' ', '-')}", WIRE, (packed(DONE, name),), ("Done.",))
        for name in ("gzip", "deflate", "raw deflate")
    ),
    Scenario("chat-packs-its-answer-as-nobody-asked", WIRE, (packed(DONE, "br"),), (Fails("model_refused", "br"),)),
    Scenario(
        "chat-packs-its-error",
        WIRE,
        (packed(refusal(400, "That is wrong."), "gzip"),),
        (Fails("model_refused", "That is wrong."),),
    ),
    Scenario(
        "chat-speaks-old-http",
        WIRE,
        (Reply(DONE.wire, DONE.body, headers=DONE.headers, events=DONE.events, old=True),),
        ("Done.",),
    ),
    Scenario("chat-sees-a-picture", WIRE, (answer(text("A dot.")), SECOND), ("A dot.", "Second."), picture=True),
    Scenario(
        "chat-takes-no-temperature",
        WIRE,
        _without(
            "temperature",
            refusal(
                400,
                "Unsupported value: 'temperature' does not support 0.3 with this model. "
                "Only the default (1) value is supported.",
                "unsupported_value",
                "temperature",
            ),
        ),
        ("Done.",),
        tells=("temperature",),
        temperature=0.3,
    ),
    *(
        Scenario(
            f"{who}-takes-no-switch-for-thinking",
            WIRE,
            _without("chat_template_kwargs", reply),
            ("Done.",),
            thinking=True,
        )
        for who, reply in (
            (
                "mistral",
                refused(
                    422,
                    {
                        "object": "error",
                        "message": {
                            "detail": [
                                {
                                    "type": "extra_forbidden",
                                    "loc": ["body", "chat_template_kwargs"],
                                    "msg": "Extra inputs are not permitted",
                                    "input": {"enable_thinking": True},
                                }
                            ]
                        },
                        "type": "invalid_request_message_error",
                        "param": None,
                        "code": None,
                    },
                ),
            ),
            (
                "fastapi",
                refused(
                    422,
                    {
                        "detail": [
                            {
                                "type": "extra_forbidden",
                                "loc": ["body", "chat_template_kwargs"],
                                "msg": "Extra inputs are not permitted",
                                "input": {},
                            }
                        ]
                    },
                ),
            ),
            ("groq", refusal(400, "property 'chat_template_kwargs' is unsupported")),
            ("openai", refusal(400, "Unrecognized request argument supplied.", param="chat_template_kwargs")),
        )
    ),
)
