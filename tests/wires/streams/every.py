"""The same words on every wire."""

from __future__ import annotations

from tests.wires.replies import Reply, Wire
from tests.wires.streams import anthropic, chat, gemini, ollama, responses


def every_wire(words: str, message_id: str = "msg_1") -> dict[Wire, Reply]:
    """Return the whole answer of these words, for each wire in its own form."""
    return {
        "anthropic": anthropic.answer(anthropic.text(words)),
        "chat": chat.answer(chat.text(words)),
        "responses": responses.answer(responses.message(message_id, words)),
        "gemini": gemini.answer([gemini.text(words)]),
        "ollama": ollama.answer(ollama.text(words)),
    }
