"""What the project's own checkers say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec
import pytest

from pilothouse.tools.search.problems import (
    Problem,
    cargo_problems,
    eslint_problems,
    go_problems,
    mypy_problems,
    pyright_problems,
    ruff_problems,
    tsc_problems,
)
from pilothouse.types.access import Access
from tests.support.search_tool import SearchCalls, write_files

PROGRAMS = Path(sys.executable).parent
BROKEN = "import os\n\n\ndef add(a: int, b: int) -> int:\n    return a + 'x'\n"


def install(work: Path, name: str, script: str = "") -> Path:
    """Give a project a program of its own: the real one, or a script."""
    folder = work / ".venv" / "bin"
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    real = f'exec "{PROGRAMS / name}" "$@"'
    program.write_text(f"#!/bin/sh\n{script or real}\n")
    program.chmod(0o755)
    return program


@pytest.mark.case("FIL-03")
@pytest.mark.slow
async def test_real_checkers_are_recognised_run_and_read(search: SearchCalls, work: Path) -> None:
    write_files(work, {"pyproject.toml": "[tool.ruff]\n[tool.mypy]\nstrict = true\n", "src/bad.py": BROKEN})
    write_files(work, {"src/good.py": "x = 1\n", ".gitignore": ".venv\n"})
    ruff, mypy = install(work, "ruff"), install(work, "mypy")
    access = await search.touched("get_errors")
    assert set(access.effects) == {"reads", "runs"}
    assert access.command is not None
    assert access.command.text.startswith(f"{ruff} check --no-fix --no-cache --output-format=json .; {mypy} ")
    assert (access.command.folder, access.command.network) == (str(work), False)
    assert access.command.sandbox in ("bubblewrap", "landlock")
    found = await search.does("get_errors")
    hits = {(hit["path"], hit["line"], hit["label"]) for hit in found.data["search"]["hits"]}
    assert ("src/bad.py", 1, "error F401") in hits
    assert ("src/bad.py", 5, "error operator") in hits
    assert "problems in 1 file for ruff, mypy:\nsrc/bad.py\n  1:8: [error F401] " in found.text
    clean = await search.does("get_errors", filePaths=["src/good.py"])
    assert clean.text == "No problems: ruff, mypy found nothing."
    assert (await search.touched("get_errors", filePaths=["src/good.py"])).paths[1].path == str(work / "src/good.py")


@pytest.mark.case("FIL-03")
async def test_what_is_missing_is_said_in_one_sentence(search: SearchCalls, work: Path) -> None:
    assert (await search.fails("get_errors")).startswith("NO_CHECKER: No checker is set up here; known are ruff,")
    write_files(work, {"sub/go.mod": "module x\n", "a.rs": "", "package.json": "{}", "eslint.config.js": ""})
    assert "eslint (set up in eslint.config.js)" in await search.fails("get_errors")
    assert "No checker is set up for these files" in await search.fails("get_errors", filePaths=["a.rs"])
    assert "go vet (set up in go.mod)" in await search.fails("get_errors", path="sub")
    assert "only projects in it are checked" in await search.fails("get_errors", path="/etc")
    assert "must be a list of paths" in await search.fails("get_errors", filePaths=[1])
    write_files(work, {"pyproject.toml": "[tool.ruff\n"})
    (work / "eslint.config.js").unlink()
    assert "No checker is set up here" in await search.fails("get_errors")


@pytest.mark.case("FIL-03")
@pytest.mark.slow
async def test_a_checker_that_cannot_check_says_why_and_the_others_still_count(search: SearchCalls, work: Path) -> None:
    write_files(work, {"pyproject.toml": "[tool.ruff]\n", "a.py": "import os\n"})
    install(work, "ruff", "echo 'ruff failed: bad setting' >&2; exit 2")
    assert await search.fails("get_errors") == (
        "CHECK_FAILED: ruff could not check (exit code 2): ruff failed: bad setting."
    )
    write_files(work, {"mypy.ini": "[mypy]\nfiles = a.py\n"})
    install(work, "mypy", "echo 'a.py:1:1: error: Odd  [misc]'; exit 1")
    both = await search.does("get_errors")
    assert "a.py\n  1:1: [error misc] Odd\nruff could not check" in both.text
    install(work, "ruff", "echo 'no json'; exit 1")
    assert "could not check (exit code 1): no json." in (await search.does("get_errors")).text


@pytest.mark.case("FIL-03", "AUTHZ-03")
async def test_only_the_commands_that_were_allowed_are_run(search: SearchCalls, work: Path) -> None:
    write_files(work, {"pyproject.toml": "[tool.ruff]\n", "a.py": ""})
    install(work, "ruff", f"touch {work}/ran; echo '[]'")
    context = search.context()
    given: dict[str, object] = {"operation": "get_errors"}
    access = await search.tool.access(given, context)
    assert isinstance(access, Access)
    write_files(work, {"mypy.ini": ""})
    install(work, "mypy", f"touch {work}/surprise")
    refused = await search.execute(given, context, access)
    assert refused.error is not None
    assert refused.error.code == "CONFLICT"
    assert not (work / "ran").exists()
    assert not (work / "surprise").exists()
    assert (await search.execute(given, context, msgspec.structs.replace(access, command=None))).error is not None


@pytest.mark.case("FIL-03")
@pytest.mark.slow
async def test_a_file_whose_name_looks_like_an_option_is_a_file(search: SearchCalls, work: Path) -> None:
    write_files(work, {"ruff.toml": "", "--fix.py": "import os\n"})
    install(work, "ruff")
    found = await search.does("get_errors", filePaths=["--fix.py"])
    assert found.data["search"]["hits"][0]["path"] == "--fix.py"
    assert (work / "--fix.py").read_text() == "import os\n"


def test_what_each_checker_writes_is_read() -> None:
    assert tsc_problems(
        "src/a.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.\n"
        "  Types differ.\nerror TS18003: No inputs were found.\n",
        "",
    ) == [
        Problem("src/a.ts", 3, 7, "error", "TS2322", "Type 'string' is not assignable to type 'number'."),
        Problem("tsconfig.json", 1, 1, "error", "TS18003", "No inputs were found."),
    ]
    eslint = [
        {"filePath": "/p/a.js", "messages": [{"ruleId": None, "severity": 2, "message": "Parsing", "line": 1}]},
        {"filePath": "/p/b.js", "messages": [{"ruleId": "no-undef", "severity": 1, "message": "x", "line": 2}]},
    ]
    assert [(each.severity, each.code) for each in eslint_problems(json.dumps(eslint), "")] == [
        ("error", ""),
        ("warning", "no-undef"),
    ]
    span = {"file_name": "src/main.rs", "line_start": 2, "column_start": 5, "is_primary": True}
    message = {"message": "mismatched types", "code": {"code": "E0308"}, "level": "error", "spans": [span]}
    line = json.dumps({"reason": "compiler-message", "message": message})
    assert cargo_problems(f'{{"reason":"build-finished"}}\n{line}\n{line}\n', "") == [
        Problem("src/main.rs", 2, 5, "error", "E0308", "mismatched types")
    ]
    assert go_problems("", "# example.com/x\nvet: ./a.go:3:5: undefined: y\nb.go:7:2: unreachable code\n") == [
        Problem("./a.go", 3, 5, "error", "", "undefined: y"),
        Problem("b.go", 7, 2, "error", "", "unreachable code"),
    ]
    start = {"line": 4, "character": 0}
    diagnostic = {"file": "/p/a.py", "severity": "warning", "message": "m", "rule": "r", "range": {"start": start}}
    assert pyright_problems(json.dumps({"generalDiagnostics": [diagnostic]}), "") == [
        Problem("/p/a.py", 5, 1, "warning", "r", "m")
    ]
    assert mypy_problems("a.py:1: error: Bad [x]\na.py:2:3: note: See\nFound 1 error\n", "") == [
        Problem("a.py", 1, 0, "error", "", "Bad [x]")
    ]
    for parser in (ruff_problems, eslint_problems):
        assert parser("[1, {}]", "")[:0] == []
        with pytest.raises(ValueError, match="Expecting"):
            parser("not json", "")
