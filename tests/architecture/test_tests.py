"""What the tests promise about themselves."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.source import ROOT, FunctionNode, Module, called_name, modules

SLEEPS = {"time.sleep", "asyncio.sleep", "anyio.sleep"}
# Longer than any test runs: not a wait, but a stand-in for something that hangs.
HANGS = 60


def files_with_tests() -> Iterator[Module]:
    """Yield the files with tests in them."""
    yield from (module for module in modules(ROOT / "tests") if module.path.name.startswith("test_"))


def test_every_test_is_named_by_a_sentence() -> None:
    short = [
        f"{module.place}::{node.name}"
        for module in files_with_tests()
        for node in module.functions()
        if node.name.startswith("test_") and node.name.count("_") < 3
    ]
    assert not short, "\n".join(short)


def test_no_test_sleeps_to_wait_for_something() -> None:
    wrong = [
        f"{module.place}:{node.lineno}"
        for module in files_with_tests()
        for node in module.nodes
        if isinstance(node, ast.Call) and called_name(node) in SLEEPS and node.args
        for length in [node.args[0]]
        if isinstance(length, ast.Constant) and isinstance(length.value, int | float) and 0 < length.value < HANGS
    ]
    assert not wrong, "wait for what you expect, with a bound (tests/support/waiting.py):\n" + "\n".join(wrong)


def test_two_tests_of_a_file_never_share_a_name() -> None:
    twice = []
    for module in files_with_tests():
        for body in [module.tree.body, *(node.body for node in module.tree.body if isinstance(node, ast.ClassDef))]:
            names = [node.name for node in body if isinstance(node, FunctionNode)]
            twice += [f"{module.place}::{name}" for name in set(names) if names.count(name) > 1]
    assert not twice, f"the second hides the first: {twice}"
