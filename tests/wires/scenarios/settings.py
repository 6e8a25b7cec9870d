"""What a person can set, on every wire: the form of a request changes, and stays one that its maker knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.wires.replies import Reply, Wire
from tests.wires.scenario import Scenario
from tests.wires.streams import anthropic, chat, gemini, ollama, responses

SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "thinking-on": {"thinking": True},
    "thinking-off": {"thinking": False},
    "a-temperature": {"temperature": 0.5},
    "a-longest-answer": {"model": {"maxTokens": 7_000}},
    "calls-in-lines-of-text": {"model": {"toolCalls": "text"}},
    "calls-in-enforced-json": {"model": {"toolCalls": "constrained"}},
}


def _said(words: str) -> Mapping[Wire, Reply]:
    return {
        "anthropic": anthropic.answer(anthropic.text(words)),
        "chat": chat.answer(chat.text(words)),
        "responses": responses.answer(responses.message("msg_1", words)),
        "gemini": gemini.answer([gemini.text(words)]),
        "ollama": ollama.answer(ollama.text(words)),
    }


def _scenarios() -> Iterator[Scenario]:
    for what, fields in SETTINGS.items():
        enforced = "enforced" in what
        for wire, reply in _said('{"say": "Fine."}' if enforced else "Fine.").items():
            # What was said in an enforced form is told to the model in words.
            yield Scenario(
                f"{wire}-with-{what}", wire, (reply, reply), ("Fine.", "Fine."), verbatim=not enforced, **fields
            )


SCENARIOS = tuple(_scenarios())
