"""Every regular expression of the source, found in its syntax trees, with the ways in which it is applied."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import pilothouse

# "scan" goes on after each hit, and also stands for a match that begins anywhere.
Kind = Literal["match", "fullmatch", "search", "scan"]
Compiled = re.Pattern[str] | re.Pattern[bytes]

ROOT = Path(pilothouse.__file__).parent
_FUNCTIONS: dict[str, Kind] = {
    "match": "match", "fullmatch": "fullmatch", "search": "search", "sub": "scan", "subn": "scan", "split": "scan",
    "findall": "scan", "finditer": "scan",
}  # fmt: skip
# Where the flags stand when they are not named.
_FLAGS_AT = {"compile": 1, "match": 2, "fullmatch": 2, "search": 2, "findall": 2, "finditer": 2, "split": 3, "sub": 4}
# What asks a compiled expression for something else than a hit.
_FACTS = {"pattern", "flags", "groups", "groupindex"}


@dataclass(frozen=True)
class Use:
    """An expression, where it stands, and how it is applied there."""

    place: str
    pattern: Compiled
    kinds: frozenset[Kind]


class Module:
    """A module of the source, read when someone looks into it."""

    def __init__(self, path: Path) -> None:
        self.name = ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")
        self.short = self.name.removeprefix("pilothouse.")
        self.text = path.read_text()

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """Return what each node of its tree stands in."""
        tree = ast.parse(self.text)
        return {child: parent for parent in ast.walk(tree) for child in ast.iter_child_nodes(parent)}

    def imports(self, name: str, home: str) -> bool:
        """Return whether it takes a name from another module."""
        return name in self.text and any(
            isinstance(node, ast.ImportFrom) and node.module == home and any(one.name == name for one in node.names)
            for node in self.parents
        )


def modules() -> list[Module]:
    """Return all modules of the source."""
    return [Module(path) for path in sorted(ROOT.rglob("*.py"))]


def collect(made: Mapping[str, tuple[str | Compiled, ...]]) -> tuple[list[Use], list[str]]:
    """Return all uses, and the places whose expression is made at run time and has no examples in `made`."""
    trees = modules()
    uses: list[Use] = []
    unknown: list[str] = []
    for module in trees:
        for call, function in _calls(module):
            place, kinds = _place(module, call, function, trees)
            patterns = _patterns(module, call, function) or made.get(place)
            if patterns is None:
                unknown.append(place)
            for pattern in patterns or ():
                uses.append(Use(place, re.compile(pattern) if isinstance(pattern, str) else pattern, kinds))
    return uses, unknown


def _calls(module: Module) -> Iterator[tuple[ast.Call, str]]:
    for node in module.parents if "import re\n" in module.text else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr in _FLAGS_AT:
                yield node, node.func.attr


def _patterns(module: Module, call: ast.Call, function: str) -> tuple[Compiled, ...] | None:
    """Return the expression as the module has it; none where it is known at run time only."""
    names = vars(importlib.import_module(module.name))
    flags: Any = next((word.value for word in call.keywords if word.arg == "flags"), None)
    if flags is None and len(call.args) > _FLAGS_AT[function]:
        flags = call.args[_FLAGS_AT[function]]
    try:
        return (re.compile(_value(call.args[0], names), _value(flags, names) if flags is not None else 0),)
    except (NameError, AttributeError, TypeError):
        return None


def _value(expression: ast.expr, names: dict[str, Any]) -> Any:
    return eval(compile(ast.Expression(expression), "<expression>", "eval"), dict(names))


def _place(module: Module, call: ast.Call, function: str, trees: list[Module]) -> tuple[str, frozenset[Kind]]:
    """Return the name under which a use is known, and how it is applied."""
    if function != "compile":
        return f"{module.short}:{ast.unparse(call.args[0])}", frozenset({_FUNCTIONS[function]})
    parent = module.parents[call]
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        return f"{module.short}:{name}", _kinds(name, module, trees)
    # In a table, or handed on: it may be applied in any way.
    return f"{module.short}:{ast.unparse(call.args[0])}", frozenset({"scan"})


def _kinds(name: str, home: Module, trees: list[Module]) -> frozenset[Kind]:
    """Return how a named expression is applied in its module and in those that import it."""
    kinds: set[Kind] = set()
    for module in trees:
        if module is not home and not module.imports(name, home.name):
            continue
        for node in module.parents:
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                kinds |= _applied(node, module.parents)
    return frozenset(kinds) or frozenset({"scan"})


def _applied(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> set[Kind]:
    parent = parents[node]
    if not isinstance(parent, ast.Attribute):
        return {"scan"}
    if parent.attr in _FACTS:
        return set()
    call = parents[parent]
    if isinstance(call, ast.Call) and call.func is parent and len(call.args) > 1:
        # With a place to begin at, which may be any unless it is written there.
        return {_FUNCTIONS.get(parent.attr, "scan") if isinstance(call.args[1], ast.Constant) else "scan"}
    return {_FUNCTIONS.get(parent.attr, "scan")}
