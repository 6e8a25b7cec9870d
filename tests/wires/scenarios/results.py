"""What tools give back, on every wire: a picture beside a failure, with all tools of a folder offered."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.wires.replies import Reply, Wire
from tests.wires.scenario import PICTURE, Scenario, body, both
from tests.wires.scenario import calls as ended
from tests.wires.streams import anthropic, chat, gemini, ollama, responses
from tests.wires.streams.every import every_wire

TOOL = "file_operations"
LOOK = {"operation": "read_file", "filePath": "picture.png"}
MISS = {"operation": "read_file", "filePath": "gone.png"}
ASKED: Mapping[Wire, Reply] = {
    "anthropic": anthropic.answer(
        anthropic.call("toolu_1", LOOK, TOOL), anthropic.call("toolu_2", MISS, TOOL), stop="tool_use"
    ),
    "chat": chat.answer(
        chat.calls(chat.call(0, "call_1", json.dumps(LOOK), TOOL), chat.call(1, "call_2", json.dumps(MISS), TOOL)),
        stop="tool_calls",
    ),
    "responses": responses.answer(responses.call("call_1", LOOK, name=TOOL), responses.call("call_2", MISS, name=TOOL)),
    "gemini": gemini.answer([gemini.call(LOOK, "fc_1", gemini.SIGNATURE, TOOL), gemini.call(MISS, "fc_2", name=TOOL)]),
    "ollama": ollama.answer(ollama.calls(file_operations=LOOK)),
}
SEEN = every_wire("A dot.")
# Earlier ones know pictures only beside results.
MODELS: tuple[tuple[Wire, str], ...] = (
    *((wire, "m") for wire in ASKED),
    ("gemini", "gemini-2.5-flash"),
    ("gemini", "gemini-3-pro"),
)
SCENARIOS = tuple(
    Scenario(
        f"{wire}-{model}-looks-at-a-picture-in-a-result",
        wire,
        (ASKED[wire], SEEN[wire]),
        ("A dot.",),
        check=both(
            ended("completed", *(["failed"] if wire != "ollama" else [])),
            body(1, lambda sent: PICTURE in json.dumps(sent)),
        ),
        folder=True,
        model={"model": model},
    )
    for wire, model in MODELS
)
