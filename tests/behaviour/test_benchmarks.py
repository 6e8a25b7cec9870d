"""The benchmarks run; what they measure is not tested here, for a test must not depend on the machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.source import ROOT


@pytest.mark.slow
@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("streaming", ("--tokens", "200", "--rounds", "1"), "one reader to raw httpx2"),
        ("many", ("--conversations", "3", "--seconds", "1"), "150 (all)"),
        ("files", ("--times", "3"), "editing 10 KB"),
        ("search", ("--files", "300"), "index of everything"),
        ("terminal", ("--megabytes", "1", "--times", "2"), "a bare loop to a session"),
        ("authority", ("--times", "3", "--questions", "20"), "answering one of 20"),
        ("long", ("--items", "200", "--rounds", "2"), "append one message"),
        (
            "branches",
            ("--exchanges", "20", "--branches", "5", "--rounds", "2"),
            "5 branches to none",
        ),
        ("durable", ("--times", "3"), "the disk's part of one of 50"),
        ("soak", ("--minutes", "0.1", "--every", "3", "--conversations", "2"), "grown after the first fifth"),
        ("disk", ("--conversations", "2", "--turns", "2"), "bytes on disk for a byte of text"),
        ("big_results", (), "longest lag of the event loop"),
        ("tool_bytes", ("--tools", "60", "--rounds", "3"), "ok   on demand"),
        ("bytes_sent", ("--rounds", "3"), "sent to the model"),
        ("registries", ("--entries", "400", "--times", "2"), "the slowest search"),
        ("memories", ("--memories", "400", "--times", "2"), "the slowest search"),
        ("servers", ("--rounds", "1"), "8 known servers to none"),
        ("page", ("--tokens", "200", "--messages", "50", "--rounds", "1"), "until drawn and free"),
    ],
)
def test_a_benchmark_runs_and_says_its_number(name: str, options: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", f"bench.{name}", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
