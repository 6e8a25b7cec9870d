"""Symbols of a source file, by its grammar: where names are defined, and what a name is at a place.

Grammars are compiled code that reads what strangers wrote: only the process made for that calls this.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

_QUERIES = Path(__file__).parent / "definitions"
# The package, its function, and whose definitions are asked for.
_GRAMMARS: dict[str, tuple[str, str, str]] = {
    "python": ("tree_sitter_python", "language", "python"),
    "javascript": ("tree_sitter_javascript", "language", "javascript"),
    "typescript": ("tree_sitter_typescript", "language_typescript", "typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx", "typescript"),
    "go": ("tree_sitter_go", "language", "go"),
    "rust": ("tree_sitter_rust", "language", "rust"),
    "java": ("tree_sitter_java", "language", "java"),
    "c": ("tree_sitter_c", "language", "c"),
    "cpp": ("tree_sitter_cpp", "language", "cpp"),
    "bash": ("tree_sitter_bash", "language", "bash"),
}
_ENDINGS = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hpp": "cpp",
    ".hh": "cpp",
    ".hxx": "cpp",
    ".sh": "bash",
    ".bash": "bash",
}
_PART_OF_NAME = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$")
_CONTAINERS = frozenset({"class", "struct", "interface", "trait", "enum", "module"})


class Symbol(msgspec.Struct, frozen=True):
    """A definition."""

    name: str
    kind: str
    line: int
    last: int
    # The class or module that it is in; empty at the top of a file.
    container: str = ""


def language_of(path: str) -> str:
    """Return the language of a file by its name; empty when no grammar is there for it."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return _ENDINGS.get(name[dot:].lower(), "") if dot >= 0 else ""


def definitions(source: bytes, language: str) -> list[Symbol]:
    """Return what a file defines, in its order; from a broken file what can be made out."""
    from tree_sitter import QueryCursor

    parser, query = _tools(language)
    cursor = QueryCursor(query)
    spans: list[tuple[int, int, str, bool]] = []
    symbols: list[Symbol] = []
    for _pattern, captures in sorted(cursor.matches(parser.parse(source).root_node), key=_place):
        names = captures.pop("name", None)
        if not names or not captures:
            continue
        kind, nodes = next(iter(captures.items()))
        name, node = _text(names[0]), nodes[0]
        while spans and spans[-1][1] <= node.start_byte:
            spans.pop()
        inside = spans[-1][2] if spans else ""
        if kind == "function" and spans and not spans[-1][3]:
            kind = "method"
        symbols.append(Symbol(name, kind, names[0].start_point.row + 1, node.end_point.row + 1, inside))
        if kind in _CONTAINERS:
            spans.append((node.start_byte, node.end_byte, name, kind == "module"))
    return _once(symbols)


def roles(source: bytes, language: str, name: str) -> list[str]:
    """Return what a name is at each place where it stands in a file, in order.

    A call, an import, a reference; empty in comments and strings.
    """
    root = _tools(language)[0].parse(source).root_node
    size = len(name.encode())
    return [_role(root.descendant_for_byte_range(start, start + size)) for start in places_of(source, name)]


def places_of(source: bytes, name: str) -> Iterator[int]:
    """Yield where a name stands by itself, as offsets in bytes."""
    wanted = name.encode()
    at = source.find(wanted)
    while at >= 0:
        after = at + len(wanted)
        alone = at == 0 or not _belongs(source[at - 1])
        if alone and (after == len(source) or not _belongs(source[after])):
            yield at
        at = source.find(wanted, after)


def _belongs(byte: int) -> bool:
    return byte in _PART_OF_NAME or byte > 127


def _role(node: Node | None) -> str:
    if node is None or _is_text(node):
        return ""
    parent = node.parent
    for _ in range(4):
        if parent is None:
            break
        if "import" in parent.type or parent.type in ("use_declaration", "preproc_include", "use_list"):
            return "import"
        if "call" in parent.type or parent.type in ("new_expression", "object_creation_expression"):
            return "call" if _is_called(parent, node) else "reference"
        parent = parent.parent
    return "reference"


def _is_called(call: Node, name: Node) -> bool:
    """Return whether a name stands at the end of what is called, and not among the arguments."""
    function = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    function = function or call.child_by_field_name("name") or call.child_by_field_name("type")
    return function is not None and function.end_byte == name.end_byte


def _is_text(node: Node) -> bool:
    at: Node | None = node
    for _ in range(3):
        if at is None or "interpolation" in at.type or "substitution" in at.type:
            return False
        if "comment" in at.type or at.type.startswith(("string", "raw_string", "char_literal", "heredoc")):
            return True
        at = at.parent
    return False


def _place(match: tuple[int, dict[str, list[Node]]]) -> tuple[int, int]:
    nodes = [node for kind, found in match[1].items() if kind != "name" for node in found]
    return (nodes[0].start_byte, -nodes[0].end_byte) if nodes else (0, 0)


def _once(symbols: list[Symbol]) -> list[Symbol]:
    """Leave out what two patterns found at the same place; the more telling kind stays."""
    kept: dict[tuple[str, int], Symbol] = {}
    for symbol in symbols:
        key = (symbol.name, symbol.line)
        if key not in kept or kept[key].kind == "variable":
            kept[key] = symbol
    return list(kept.values())


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


@cache
def _tools(language: str) -> tuple[Parser, Query]:
    from tree_sitter import Language, Parser, Query

    package, function, queries = _GRAMMARS[language]
    grammar = Language(getattr(importlib.import_module(package), function)())
    return Parser(grammar), Query(grammar, (_QUERIES / f"{queries}.scm").read_text())
