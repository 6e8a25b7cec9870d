"""What the protocol's own authors think of our client: every scenario that a revision of it requires passes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.support.real_servers import MISSING, ROOT, node

HERE = Path(__file__).parent
SUITE = HERE / "node_modules" / "@modelcontextprotocol" / "conformance"
# All scenarios run at once, a process each.
PATIENCE = 240.0
SUMMARY = re.compile(r"^([✓✗]) (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)


def required(revision: str) -> set[str]:
    """Return the scenarios that count, as the suite itself lists them."""
    assert SUITE.is_dir(), f"the conformance suite {MISSING}"
    lists = yaml.safe_load((SUITE / "requirements" / f"{revision}.yaml").read_text())
    return set(lists["client"])


def judged(revision: str, results: Path) -> tuple[dict[str, bool], str]:
    """Run every scenario; return which of them passed, and all that was said."""
    program = f"{sys.executable} {HERE / 'client.py'}"
    command = [node(), str(SUITE / "dist" / "index.js"), "client", "--command", program]
    options = ["--requirements", revision, "--timeout", "60000", "--output-dir", str(results)]
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=PATIENCE, check=False, env=variables
    )
    said = done.stdout + done.stderr
    return {name: mark == "✓" for mark, name, _, _ in SUMMARY.findall(said)}, said


@pytest.mark.timeout(PATIENCE + 30)
@pytest.mark.parametrize(("revision", "count"), [("2025-11-25", 18), ("2026-07-28", 32)])
def test_every_scenario_that_a_revision_requires_of_a_client_passes(revision: str, count: int, tmp_path: Path) -> None:
    scored = required(revision)
    assert len(scored) == count
    passed, said = judged(revision, tmp_path)
    failed = sorted(name for name in scored if not passed.get(name))
    extra = sorted(name for name, good in passed.items() if not good and name not in scored)
    print(f"{revision}: {len(scored) - len(failed)} of {len(scored)} passed; not required and failed: {extra}")
    assert not failed, f"{', '.join(failed)}\n{said[-20_000:]}"


def test_the_program_uses_the_products_client_and_no_other() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    check = "import sys, tests.conformance.client; print([name for name in sys.modules if name.split('.')[0] == 'mcp'])"
    done = subprocess.run([sys.executable, "-c", check], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
