"""The product's source as syntax trees, for the tests that hold it to its rules."""

from __future__ import annotations

import ast
import gc
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One Python file."""

    path: Path
    tree: ast.Module

    @property
    def place(self) -> str:
        """Return its path in the repository."""
        return self.path.relative_to(ROOT).as_posix()

    @property
    def name(self) -> str:
        """Return its dotted name, for a file of the package."""
        parts = list(self.path.relative_to(SOURCE).with_suffix("").parts)
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def package(self) -> str:
        """Return the part of the product it belongs to: `store`, `server`, … or the name of a top-level module."""
        parts = self.path.relative_to(SOURCE / "pilothouse").with_suffix("").parts
        return parts[0]

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes of its tree, but for those that say whether a name is read or set, which stand in it themselves.

        To look for them anew for each rule takes longer than all rules, and `ast.walk` takes twice as long.
        """
        found: list[ast.AST] = [self.tree]
        for node in found:
            for field in node._fields:
                value = getattr(node, field, None)
                if isinstance(value, list):
                    found += [each for each in value if isinstance(each, ast.AST)]
                elif isinstance(value, ast.AST) and field != "ctx":
                    found.append(value)
        return tuple(found)

    def imports(self) -> Iterator[tuple[str, int]]:
        """Yield every module it imports, late imports and type-only ones included, with the line."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from ((alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((name, node.lineno) for name in self._imported_from(node))

    def _imported_from(self, node: ast.ImportFrom) -> Iterator[str]:
        base = node.module or ""
        if node.level:
            parents = self.name.split(".")
            kept = len(parents) - node.level + (1 if self.path.name == "__init__.py" else 0)
            base = ".".join([*parents[:kept], *([node.module] if node.module else [])])
        yield base
        # `from package import module` imports the module too.
        for alias in node.names:
            inner = SOURCE.joinpath(*base.split("."), alias.name)
            if base.startswith("pilothouse") and (inner.is_dir() or inner.with_suffix(".py").is_file()):
                yield f"{base}.{alias.name}"

    def functions(self) -> Iterator[FunctionNode]:
        """Yield its functions and methods, inner ones too."""
        for node in self.nodes:
            if isinstance(node, FunctionNode):
                yield node


@cache
def modules(folder: Path = SOURCE / "pilothouse") -> tuple[Module, ...]:
    """Return the Python files under a folder."""
    paths = sorted(path for path in folder.rglob("*.py") if "node_modules" not in path.parts)
    # Nothing of a tree is ever garbage, and looking for some in all of them takes far longer than reading them.
    gc.disable()
    try:
        return tuple(Module(path, ast.parse(path.read_text(encoding="utf-8"), str(path))) for path in paths)
    finally:
        gc.freeze()
        gc.enable()


@cache
def everything_of_ours() -> tuple[Path, ...]:
    """Return every file that is, or is about to be, in the repository."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    paths = (ROOT / name for name in listed.split("\0") if name)
    return tuple(path for path in paths if path.is_file())


def called_name(node: ast.Call) -> str:
    """Return what a call calls, dotted, as far as the syntax shows: `asyncio.sleep`."""
    parts: list[str] = []
    target: ast.expr = node.func
    while isinstance(target, ast.Attribute):
        parts.append(target.attr)
        target = target.value
    if isinstance(target, ast.Name):
        parts.append(target.id)
    return ".".join(reversed(parts))
