"""The small changes that can be made to lines of Python: a condition the other way round, a step left out, and such."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
OPPOSITE = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.GtE: "<",
    ast.Gt: "<=",
    ast.LtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
# The first word of a text for people; what stands between braces is code.
WORD = re.compile(r"\{[^{}]*\}|(?<![\w\\%/.:-])([A-Za-z]{4,})(?![\w/.:-])")
ANOTHER_WORD = "something"
# Steps that make two spellings of a thing the same.
EVENING_OUT = {"lower", "casefold", "upper", "strip", "lstrip", "rstrip", "resolve", "expanduser"}


@dataclass(frozen=True)
class Change:
    """One change: which text stands in its place, and what is known about where."""

    line: int
    # What was done, in a word.
    kind: str
    before: str
    after: str
    # The function around it with its class, or the constant, and what is said of it.
    function: str
    said: str
    text: str


@dataclass(frozen=True)
class _Edit:
    node: ast.expr | ast.stmt
    kind: str
    new: str


class Source:
    """A file, and the changes that can be made to it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.splitlines(keepends=True)
        self._tree = ast.parse(text)

    def changes(self, lines: Collection[int]) -> Iterator[Change]:
        """Yield the changes to those of these lines that begin a statement of a function, and to what they name."""
        for name, function in _functions(self._tree, ""):
            for statement in _statements(function):
                if statement.lineno in lines and not _is_docstring(statement):
                    for edit in [*self._of_statement(statement), *self._of_expressions(statement)]:
                        if change := self._change(edit, statement.lineno, name, ast.get_docstring(function)):
                            yield change
        for node in self._tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and (name := _constant(node)):
                used = next((line for line in sorted(lines) if re.search(rf"\b{name}\b", self._lines[line - 1])), 0)
                for edit in self._of_expressions(node) if used else ():
                    if change := self._change(edit, used, name, None):
                        yield change

    def _segment(self, node: ast.AST) -> str:
        return ast.get_source_segment(self._text, node) or ""

    def _of_statement(self, node: ast.stmt) -> Iterator[_Edit]:
        match node:
            case ast.If(test=test) | ast.While(test=test) if not _is_types_only(test):
                yield _Edit(test, "negate", f"not ({self._segment(test)})")
            case ast.Raise():
                yield _Edit(node, "unraised", "pass")
            case ast.Return(value=ast.Constant(value=bool() as value)):
                yield _Edit(node, "flip", f"return {not value}")
            case ast.Return(value=value) if value is not None and _is_pair(value):
                yield _Edit(value, "flip", f"not ({self._segment(value)})")
            case ast.Expr(value=ast.Call() | ast.Await()):
                yield _Edit(node, "drop", "pass")
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign() | ast.Delete():
                yield _Edit(node, "drop", "pass")
            case ast.Continue() | ast.Break():
                yield _Edit(node, "drop", "pass")
            case ast.For(iter=each) | ast.AsyncFor(iter=each) if not isinstance(node, ast.AsyncFor):
                yield _Edit(each, "none", "()")

    def _of_expressions(self, statement: ast.stmt) -> Iterator[_Edit]:
        for node in _own_expressions(statement):
            match node:
                case ast.Compare(left=left, ops=[operator], comparators=[right]) if type(operator) in OPPOSITE:
                    new = f"{self._segment(left)} {OPPOSITE[type(operator)]} {self._segment(right)}"
                    yield _Edit(node, "compare", new)
                case ast.BoolOp(op=operator, values=[first, second]):
                    word = "or" if isinstance(operator, ast.And) else "and"
                    yield _Edit(node, "logic", f"{self._segment(first)} {word} {self._segment(second)}")
                case ast.IfExp(test=test):
                    yield _Edit(test, "negate", f"not ({self._segment(test)})")
                case ast.comprehension(ifs=[test, *_]):
                    yield _Edit(test, "negate", f"not ({self._segment(test)})")
                case ast.Constant() | ast.JoinedStr():
                    yield from self._of_constant(node)
                case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]) if name in EVENING_OUT:
                    yield _Edit(node, "uneven", self._segment(value))
                case ast.Call(args=[_, ast.Attribute(value=ast.Name(id="re")) as flags]):
                    yield _Edit(flags, "uneven", "0")

    def _of_constant(self, node: ast.Constant | ast.JoinedStr) -> Iterator[_Edit]:
        value = node.value if isinstance(node, ast.Constant) else ""
        if isinstance(value, bool):
            yield _Edit(node, "flip", str(not value))
        elif isinstance(value, int):
            yield _Edit(node, "number", str(value + 1))
        segment = self._segment(node) if isinstance(value, str) else ""
        for found in WORD.finditer(segment):
            if found[1]:
                kind = "words" if " " in segment else "token"
                yield _Edit(node, kind, segment[: found.start(1)] + ANOTHER_WORD + segment[found.end(1) :])
                return

    def _change(self, edit: _Edit, line: int, function: str, said: str | None) -> Change | None:
        """Return an edit as a text that stands in the file once, and the text for its place."""
        node = edit.node
        if node.end_lineno is None or node.end_col_offset is None:
            return None
        first, last = node.lineno - 1, node.end_lineno - 1
        begins = len(self._lines[first].encode()[: node.col_offset].decode())
        ends = len(self._lines[last].encode()[: node.end_col_offset].decode())
        around = (self._lines[first][:begins], self._lines[last][ends:].rstrip("\n"))
        old = self._lines[first : last + 1]
        before = "".join(old).rstrip("\n")
        after = around[0] + edit.new + around[1]
        for above in range(first + 1):
            extra = "".join(self._lines[first - above : first])
            indent = len(extra + before) - len((extra + before).lstrip())
            wanted = (extra + before)[indent:]
            if self._text.count(wanted) == 1:
                new = (extra + after)[indent:]
                return Change(line, edit.kind, wanted, new, function, said or "", old[0].strip())
        return None


def _functions(node: ast.AST, name: str) -> Iterator[tuple[str, FunctionNode]]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, FunctionNode):
            yield f"{name}.{inner.name}".lstrip("."), inner
        if isinstance(inner, ast.ClassDef):
            yield from _functions(inner, f"{name}.{inner.name}")


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield every statement below a function, those of inner functions too."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.stmt):
            yield inner
        yield from _statements(inner)


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yield the expressions of a statement, without those of the statements in it and without types."""
    waiting = [
        inner
        for name, value in ast.iter_fields(statement)
        if name not in ("annotation", "returns", "decorator_list", "args")
        for inner in (value if isinstance(value, list) else [value])
        if isinstance(inner, ast.expr | ast.keyword)
    ]
    while waiting:
        node = waiting.pop(0)
        yield node
        # The parts of an f-string have no places of their own.
        if not isinstance(node, ast.JoinedStr):
            waiting += [inner for inner in ast.iter_child_nodes(node) if not isinstance(inner, ast.stmt)]  # type: ignore[misc]


def _constant(node: ast.Assign | ast.AnnAssign) -> str:
    """Return the name of a constant of a module."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    return target.id if isinstance(target, ast.Name) and target.id.isupper() else ""


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_types_only(test: ast.expr) -> bool:
    return isinstance(test, ast.Name) and test.id == "TYPE_CHECKING"


def _is_pair(value: ast.expr) -> bool:
    """Return whether a value is surely true or false."""
    return isinstance(value, ast.Compare | ast.BoolOp) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    )
