"""Made whole: nothing is filled in after it was made, and what is imported late is a `Lazy`."""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from pilothouse.types.lazy import Lazy
from tests.support.source import Module, modules

LAZY = "pilothouse.types.lazy"
# What `from pilothouse import …` names comes from modules that are loaded for it.
LATE_NAMES = {"pilothouse"}
LOOKS = {"__getattr__", "__getattribute__"}


def is_of_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"


def is_of(node: ast.Attribute, owner: str, name: str) -> bool:
    return node.attr == name and isinstance(node.value, ast.Name) and node.value.id == owner


def test_no_class_stands_for_another_by_any_name_that_it_is_asked_for() -> None:
    wrong = [
        f"{module.place}:{node.lineno} {node.name}"
        for module in modules()
        for node in module.functions()
        if node.name in LOOKS and not (module.name in LATE_NAMES and node in module.tree.body)
    ]
    assert not wrong, "give whoever needs it a Lazy:\n" + "\n".join(wrong)


def test_nobody_looks_whether_something_was_imported_or_made_where_the_interpreter_keeps_it() -> None:
    wrong = [
        f"{module.place}:{node.lineno} {ast.unparse(node)}"
        for module in modules()
        for node in module.nodes
        if (isinstance(node, ast.Attribute) and (node.attr == "__dict__" or is_of(node, "sys", "modules")))
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("vars", "globals"))
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "sys"
            and "modules" in {each.name for each in node.names}
        )
    ]
    assert not wrong, "a Lazy says what was made:\n" + "\n".join(wrong)


def made_late() -> Iterator[str]:
    """Yield where something of ours is imported because an attribute is not there yet."""
    for module in modules():
        if module.name == LAZY:
            continue
        for node in module.nodes:
            if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and is_of_self(node.test.left)):
                continue
            if isinstance(node.test.ops[0], ast.Is) and any(
                isinstance(inner, ast.Import | ast.ImportFrom) for each in node.body for inner in ast.walk(each)
            ):
                yield f"{module.place}:{node.lineno} {ast.unparse(node.test.left)}"


def test_what_is_imported_when_it_is_first_needed_is_a_lazy() -> None:
    assert not list(made_late())


def assigned() -> Iterator[tuple[Module, ast.Attribute, ast.expr | None]]:
    """Yield each attribute that is set, with what it is set to."""
    for module in modules():
        for node in module.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from ((module, target, node.value) for target in targets if isinstance(target, ast.Attribute))


def test_nobody_is_made_with_a_stand_in_for_whom_to_call() -> None:
    found = list(assigned())
    assert len(found) > 1_000
    wrong = [
        f"{module.place}:{to.lineno} {ast.unparse(to)}" for module, to, what in found if isinstance(what, ast.Lambda)
    ]
    assert not wrong, "take it as a parameter, or let others subscribe:\n" + "\n".join(wrong)


def test_what_puts_the_parts_together_gives_them_everything_when_it_makes_them() -> None:
    parts = [(module, to) for module, to, _ in assigned() if module.package == "wiring"]
    wrong = [f"{module.place}:{to.lineno} {ast.unparse(to)}" for module, to in parts if not is_of_self(to)]
    assert not wrong, "\n".join(wrong)


def test_a_lazy_is_made_once_whoever_asks_first() -> None:
    made: list[object] = []
    start = threading.Barrier(8)

    def make() -> object:
        made.append(object())
        return made[-1]

    def ask(_number: int) -> object:
        start.wait(10)
        return lazy()

    lazy = Lazy(make)
    assert lazy.made is None
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(8)))
    assert found == made * 8
    assert lazy.made is made[0]


def test_a_lazy_that_could_not_be_made_is_tried_again() -> None:
    tries = iter([OSError("not now"), None])

    def make() -> str:
        if (error := next(tries)) is not None:
            raise error
        return "here"

    lazy = Lazy(make)
    with pytest.raises(OSError, match="not now"):
        lazy()
    assert lazy.made is None
    assert lazy() == "here"
