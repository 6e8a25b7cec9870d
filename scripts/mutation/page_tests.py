"""Runs one of the page's own tests in the copy, with vitest; its name is `page/tests/x.test.tsx::a sentence`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from scripts import page_build

# How long a component test waits for what a change keeps from coming; the page itself is drawn in less than one second.
WAIT_MS = 5_000


def run(root: Path, test: str, patience: float) -> dict[str, Any]:
    """Run a test and return how it ended, in the words of `tree.Ended`."""
    file, _, name = test.removeprefix("page/").partition("::")
    node = page_build.node_folder() / "bin"
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "told.json"
        # Its name, or the end of it: those of the groups around it come first.
        only = ["-t", f"(^| ){re.escape(name)}$"] if name else []
        reports = ["--reporter=json", f"--outputFile={told}"]
        command = [str(node / "node"), "node_modules/vitest/vitest.mjs", "run", file, *only, *reports]
        path = f"{node}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {**os.environ, "PATH": path, "CI": "true", "WAIT_MS": str(WAIT_MS)}
        words, late = _within(patience, command, root / "page", environment)
        report = json.loads(told.read_text(encoding="utf-8")) if told.is_file() else {"testResults": []}
    failures, passed = read_failures(report)
    took = time.monotonic() - began
    return {"failures": failures, "passed": passed, "seconds": took, "late": late, "words": words[-2000:]}


def read_failures(report: dict[str, Any]) -> tuple[list[tuple[str, list[str]]], int]:
    """Return the failures that a report of vitest tells, and how many tests passed."""
    failures: list[tuple[str, list[str]]] = []
    passed = 0
    for file in report["testResults"]:
        tests = file["assertionResults"]
        passed += sum(test["status"] == "passed" for test in tests)
        failed = [test for test in tests if test["status"] == "failed"]
        # What comes after a failure comes from it.
        failures += [("call", [_kind(test["failureMessages"][0])]) for test in failed]
        if file["status"] == "failed" and not failed:
            failures.append(("collect", [_kind(file.get("message", ""))]))
    return failures, passed


def _kind(message: str) -> str:
    """Return the name of the error that a message begins with."""
    found = re.match(r"(\w+)(?:: |$)", message)
    return found[1] if found else "Error"


def _within(patience: float, command: list[str], folder: Path, environment: dict[str, str]) -> tuple[str, bool]:
    """Run a command; return what it said, and whether it had to be ended."""
    pipe, errors = subprocess.PIPE, subprocess.STDOUT
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=errors, text=True, start_new_session=True
    )
    try:
        return process.communicate(timeout=patience)[0], False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], True
