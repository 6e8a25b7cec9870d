"""From the start of `pilothouse run` to its first token, against a minimal program on the official SDK."""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from bench.processes import OTHERS, PILOTHOUSE, ROOT, endpoint, write_models
from bench.results import table, verdict

MOST = 0.8
MODEL = "burst-20"
MESSAGE = "hi"
Command = list[str | Path]


def until_first_byte(command: Command, environment: dict[str, str]) -> float:
    """Return the seconds until a command says anything; it then runs to its end."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        first = os.read(started.stdout.fileno(), 1)
        taken = time.perf_counter() - began
        started.stdout.read()
    if not first or started.returncode:
        raise RuntimeError(f"{command!r} said nothing, or failed with {started.returncode}")
    return taken


def import_profile(command: Command, environment: dict[str, str]) -> list[tuple[str, str, str]]:
    """Return the fifteen modules that take longest by themselves, of all that a command imports."""
    profiled = subprocess.run(
        command,
        cwd=ROOT,
        env={**environment, "PYTHONPROFILEIMPORTTIME": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.removeprefix("import time:").split("|") for line in profiled.stderr.splitlines() if "|" in line]
    found = [(int(own), int(whole), name.strip()) for own, whole, name in lines if own.strip().isdigit()]
    total = sum(own for own, _, _ in found)
    rows = [(name, f"{own / 1000:.1f} ms", f"{whole / 1000:.1f} ms") for own, whole, name in sorted(found)[:-16:-1]]
    return [*rows, (f"all {len(found)} modules", f"{total / 1000:.1f} ms", "")]


def compare(before: Path, rounds: int) -> None:
    """Print the time of this checkout against another one's, started in turns; each begins every other pair."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, endpoint() as url:
        starts: list[tuple[Command, dict[str, str]]] = []
        for number, root in enumerate((before, ROOT)):
            subprocess.run([root / ".venv" / "bin" / "python", "-m", "compileall", "-q", root / "src"], check=True)
            write_models(home := Path(folder) / str(number), url, [MODEL])
            command: Command = [root / ".venv" / "bin" / "pilothouse", "run", MESSAGE, "--model", MODEL]
            starts.append((command, {**os.environ, "PILOTHOUSE_HOME": str(home)}))
        pairs: list[tuple[float, float]] = []
        for number in range(rounds + 1):
            order = starts if number % 2 else starts[::-1]
            taken = [until_first_byte(*start) for start in order]
            was, now = taken if number % 2 else taken[::-1]
            pairs.append((was, now))
    # The first start makes the database.
    del pairs[0]
    ratio = statistics.median(now / was for was, now in pairs)
    rows = [
        (name, f"{statistics.median(column) * 1000:.0f} ms")
        for name, column in zip(("before", "now"), zip(*pairs, strict=True), strict=True)
    ]
    table(f"start to first token, median of {rounds} pairs", [*rows, ("median of the ratios", f"{ratio:.2f}")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument(
        "--before", type=Path, help="compare with another checkout that is set up, and not with the SDK"
    )
    options = parser.parse_args()
    if options.before is not None:
        compare(options.before.resolve(), options.rounds)
        return
    if not OTHERS.exists():
        raise SystemExit("The official SDK is not installed; scripts/bench does that.")
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, endpoint() as url:
        home = Path(folder) / "home"
        write_models(home, url, [MODEL])
        environment = {**os.environ, "PILOTHOUSE_HOME": str(home)}
        ours: Command = [PILOTHOUSE, "run", MESSAGE, "--model", MODEL]
        theirs: Command = [OTHERS, "bench/sdk_first_token.py", f"{url}/v1", MODEL, MESSAGE]
        # The first start makes the database, and both write their byte code.
        cold = until_first_byte(ours, environment)
        until_first_byte(theirs, environment)
        times = [
            (until_first_byte(ours, environment), until_first_byte(theirs, environment)) for _ in range(options.rounds)
        ]
        profile = import_profile(ours, environment)
    mine, sdk = (statistics.median(column) for column in zip(*times, strict=True))
    table(
        f"start to first token, median of {options.rounds}",
        [
            ("pilothouse run", f"{mine * 1000:.0f} ms", f"{mine / sdk:.2f}"),
            ("pilothouse run, first time in an empty folder", f"{cold * 1000:.0f} ms", f"{cold / sdk:.2f}"),
            ("a minimal program on the official SDK", f"{sdk * 1000:.0f} ms", "1.00"),
        ],
    )
    table("imports of pilothouse run", [("module", "by itself", "with its own"), *profile])
    verdict("pilothouse run to the SDK", mine / sdk, MOST)


if __name__ == "__main__":
    main()
