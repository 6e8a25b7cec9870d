"""What Ollama answers."""

from __future__ import annotations

from tests.wires.replies import Wire
from tests.wires.scenario import READ, THOUGHT, Scenario
from tests.wires.scenario import calls as ended
from tests.wires.scenarios.early_ends import HALF, cut_answer
from tests.wires.streams.ollama import answer, broken, calls, text, thought

WIRE: Wire = "ollama"
AGAIN = answer(text("Again."))
SECOND = answer(text("Second."))
SCENARIOS = (
    Scenario(
        "ollama-thinks-speaks-and-calls-twice",
        WIRE,
        (
            answer(thought("Hmm."), text("Looking."), calls(think=THOUGHT, todo_operations=READ), text(" More.")),
            answer(text("Done.")),
            SECOND,
        ),
        ("Looking. More.\n\nDone.", "Second."),
        check=ended("completed", "completed"),
        thinking=True,
    ),
    Scenario("ollama-only-loads-the-model", WIRE, (answer(stop="load"),), ("",), tells=("empty_answer",)),
    cut_answer("ollama-reaches-the-limit", WIRE, answer(text(HALF), stop="length")),
    Scenario(
        "ollama-fails-in-the-middle",
        WIRE,
        (broken(text("Begun"), error="an error was encountered while running the model: CUDA"), AGAIN),
        ("Again.",),
    ),
    Scenario("ollama-unloads-the-model", WIRE, (answer(text("Said."), stop="unload"),), ("Said.",)),
    Scenario("ollama-sees-a-picture", WIRE, (answer(text("A dot.")), SECOND), ("A dot.", "Second."), picture=True),
)
