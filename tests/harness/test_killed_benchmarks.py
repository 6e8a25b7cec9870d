"""A benchmark that is killed leaves no process behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
BENCHMARK = """
import time
from bench.processes import process

with process("sleep", "60") as started:
    print(started.pid, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system has no such wish")
def test_a_benchmark_that_is_killed_takes_its_processes_along() -> None:
    with subprocess.Popen([sys.executable, "-c", BENCHMARK], cwd=ROOT, stdout=subprocess.PIPE, text=True) as benchmark:
        assert benchmark.stdout is not None
        started = psutil.Process(int(benchmark.stdout.readline()))
        try:
            benchmark.kill()
            until(lambda: not started.is_running() or started.status() == psutil.STATUS_ZOMBIE, "it to end")
        finally:
            if started.is_running():
                started.kill()
