"""A docstring says what the signature and the port do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tests.support.source import FunctionNode, Module, modules


def classes() -> Iterator[tuple[Module, ast.ClassDef]]:
    for module in modules():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                yield module, node


def methods(node: ast.ClassDef) -> Iterator[FunctionNode]:
    return (inner for inner in node.body if isinstance(inner, FunctionNode))


def names(expressions: list[ast.expr]) -> set[str]:
    return {ast.unparse(one).partition("[")[0].rpartition(".")[2] for one in expressions}


@cache
def said_by_ports_and_bases() -> frozenset[str]:
    """Return the names of methods that a Protocol, or a class that others extend, explains."""
    extended = {name for _, node in classes() for name in names(node.bases)}
    return frozenset(
        method.name
        for _, node in classes()
        if node.name in extended or "Protocol" in names(node.bases)
        for method in methods(node)
        if ast.get_docstring(method)
    )


def explains_itself(method: FunctionNode) -> bool:
    """Tell a property, and a method of one statement: its name and that line say it."""
    return bool(names(method.decorator_list) & {"property", "setter", "override"}) or len(method.body) == 1


def test_a_public_method_has_a_docstring_unless_its_port_or_its_one_line_says_it() -> None:
    silent = [
        f"{module.place}:{method.lineno} {node.name}.{method.name}"
        for module, node in classes()
        if not node.name.startswith("_")
        for method in methods(node)
        if not method.name.startswith("_")
        and not ast.get_docstring(method)
        and method.name not in said_by_ports_and_bases()
        and not explains_itself(method)
    ]
    assert not silent, "\n".join(silent)
