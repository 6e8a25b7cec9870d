"""Answers that end before they are complete."""

from __future__ import annotations

from tests.wires.replies import Answer, Wire
from tests.wires.scenario import Scenario

# The words of an answer that ends in the middle.
HALF = "Half an ans"


def cut_answer(name: str, wire: Wire, answer: Answer) -> Scenario:
    """A scenario of an answer that ends in the middle, which the person is told."""
    return Scenario(name, wire, (answer,), (HALF,), tells=("cut_short",))


def filtered_answer(name: str, wire: Wire, answer: Answer) -> Scenario:
    """A scenario of an answer that the provider stops at “I beg”, which the person is told."""
    return Scenario(name, wire, (answer,), ("I beg",), tells=("refused",))
