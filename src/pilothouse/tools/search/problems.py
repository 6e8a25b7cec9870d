"""What checkers say, each in its own way, as problems with a place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

_PLACED = re.compile(r"^(?:vet: )?(?P<path>[^\s:][^:\n]*):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>.+)$")
_MYPY = re.compile(r"^(?P<severity>error|warning|note): (?P<message>.*?)(?:  \[(?P<code>[\w-]+)\])?$")
_TSC = re.compile(
    r"^(?P<path>[^(\n]+)\((?P<line>\d+),(?P<column>\d+)\): "
    r"(?P<severity>error|warning) (?P<code>TS\d+): (?P<message>.*)$"
)
_TSC_WHOLE = re.compile(r"^(?P<severity>error|warning) (?P<code>TS\d+): (?P<message>.*)$")


class Problem(msgspec.Struct, frozen=True):
    """One mistake that a checker found; paths are as it wrote them."""

    path: str
    line: int
    column: int
    severity: str
    code: str
    message: str


# Takes what was written as a result and beside it; raises ValueError when that is not what the checker writes.
Parser = Callable[[str, str], list[Problem]]


def ruff_problems(output: str, _errors: str) -> list[Problem]:
    """Read ruff's JSON."""
    found = []
    for each in _list(json.loads(output)):
        place = _table(each.get("location"))
        severity = "error" if each.get("severity") in (None, "error") else str(each["severity"])
        found.append(
            Problem(
                _text(each.get("filename")),
                _number(place.get("row")),
                _number(place.get("column")),
                severity,
                _text(each.get("code")),
                _text(each.get("message")),
            )
        )
    return found


def pyright_problems(output: str, _errors: str) -> list[Problem]:
    """Read pyright's JSON, whose lines count from 0."""
    found = []
    for each in _list(_table(json.loads(output)).get("generalDiagnostics")):
        start = _table(_table(each.get("range")).get("start"))
        found.append(
            Problem(
                _text(each.get("file")),
                _number(start.get("line"), -1) + 1,
                _number(start.get("character"), -1) + 1,
                _text(each.get("severity")) or "error",
                _text(each.get("rule")),
                _text(each.get("message")),
            )
        )
    return found


def mypy_problems(output: str, _errors: str) -> list[Problem]:
    """Read mypy's lines."""
    found = []
    for line in output.splitlines():
        placed = _PLACED.match(line)
        said = _MYPY.match(placed["message"]) if placed else None
        if placed and said and said["severity"] != "note":
            found.append(_placed(placed, said["severity"], said["code"] or "", said["message"]))
    return found


def tsc_problems(output: str, _errors: str) -> list[Problem]:
    """Read the lines of the TypeScript compiler."""
    found = []
    for line in output.splitlines():
        said = _TSC.match(line)
        if said:
            found.append(_placed(said, said["severity"], said["code"], said["message"]))
        elif whole := _TSC_WHOLE.match(line):
            found.append(Problem("tsconfig.json", 1, 1, whole["severity"], whole["code"], whole["message"]))
    return found


def eslint_problems(output: str, _errors: str) -> list[Problem]:
    """Read ESLint's JSON."""
    return [
        Problem(
            _text(file.get("filePath")),
            _number(each.get("line")),
            _number(each.get("column")),
            "error" if each.get("severity") == 2 else "warning",
            _text(each.get("ruleId")),
            _text(each.get("message")),
        )
        for file in _list(json.loads(output))
        for each in _list(file.get("messages"))
    ]


def cargo_problems(output: str, _errors: str) -> list[Problem]:
    """Read the compiler's messages among cargo's lines of JSON; the same one may come for several targets."""
    found: dict[Problem, None] = {}
    for message in _compiler_messages(output.splitlines()):
        spans = [span for span in _list(message.get("spans")) if span.get("is_primary")]
        if not spans:
            continue
        found.setdefault(
            Problem(
                _text(spans[0].get("file_name")),
                _number(spans[0].get("line_start")),
                _number(spans[0].get("column_start")),
                _text(message.get("level")) or "error",
                _text(_table(message.get("code")).get("code")),
                _text(message.get("message")),
            )
        )
    return list(found)


def go_problems(output: str, errors: str) -> list[Problem]:
    """Read the lines of `go vet`, which come as errors."""
    found = []
    for line in f"{errors}\n{output}".splitlines():
        placed = _PLACED.match(line)
        if placed:
            found.append(_placed(placed, "error", "", placed["message"]))
    return found


def _compiler_messages(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.startswith("{"):
            said = _table(json.loads(line))
            if said.get("reason") == "compiler-message":
                yield _table(said.get("message"))


def _placed(found: re.Match[str], severity: str, code: str, message: str) -> Problem:
    return Problem(found["path"], int(found["line"]), int(found["column"] or 0), severity, code, message)


def _list(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _table(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object, otherwise: int = 0) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
