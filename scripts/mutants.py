"""Sees whether the rows' tests notice small changes of the code, and searches for such changes."""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Empty, SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import checklist, page_build  # noqa: E402
from scripts.mutation import data, finding, tree  # noqa: E402
from scripts.mutation.data import Mutant  # noqa: E402

SAMPLE = 20
# The sample ends in this time, also on a machine that has much else to do; what was left out is said.
SAMPLE_SECONDS = 120.0
# Copies of the repository in which changes are tried at the same time.
AT_ONCE = 2


def problem(copy: tree.Copy, mutant: Mutant, *, twice: bool) -> str:
    """Try a change; return what is wrong in a sentence, nothing if the test noticed."""
    if faults := data.faults(mutant, [mutant.test.partition("[")[0]], copy.folder):
        return f"{mutant.row}: {faults[0]}."
    if twice and not copy.run(mutant.test).good:
        return f"{mutant.row}: {mutant.test} fails without the change, too."
    verdict = tree.tried(copy, mutant).verdict
    return verdict and f"{mutant.row}: {verdict}. {mutant.file}, test {mutant.test}."


def check(mutants: Sequence[Mutant], *, twice: bool = False, seconds: float = float("inf")) -> int:
    """Try each change, several at once, and report those that were not noticed; return the exit code."""
    # The copy's page is the one that is built here.
    if any(mutant.browser for mutant in mutants) and page_build.main([]):
        return 1
    waiting: SimpleQueue[Mutant] = SimpleQueue()
    for mutant in mutants:
        waiting.put(mutant)
    end = time.monotonic() + seconds

    def work() -> list[str]:
        said = []
        with tree.copied() as copy, contextlib.suppress(Empty):
            while time.monotonic() < end:
                said.append(problem(copy, waiting.get_nowait(), twice=twice))
                if said[-1]:
                    # In one piece: others print beside it.
                    print(f"{said[-1]}\n", end="", flush=True)
        return said

    with ThreadPoolExecutor() as pool:
        tried = [said for each in [pool.submit(work) for _ in range(AT_ONCE)] for said in each.result()]
    wrong = [said for said in tried if said]
    left = f"; no time for {waiting.qsize()} more" if waiting.qsize() else ""
    print(f"{len(tried) - len(wrong)} of {len(tried)} changes were noticed{left}.")
    return 1 if wrong or not tried else 0


def sample(kept: dict[str, Mutant], count: int, seed: int) -> int:
    """Try some at random, of those that are quick."""
    quick = sorted(row for row, mutant in kept.items() if mutant.quick)
    chosen = random.Random(seed).sample(quick, min(count, len(quick)))
    repeat = f"scripts/mutants --sample {count} --seed {seed}"
    print(f"{len(chosen)} of {len(quick)} rows that need no browser; `{repeat}` tries the same again.", flush=True)
    return check([kept[row] for row in chosen], seconds=SAMPLE_SECONDS)


def find(wanted: Sequence[str], kept: dict[str, Mutant]) -> int:
    """Search for changes of these rows, or of those that have none, and keep them; return the exit code."""
    rows = checklist.load()
    proven = data.proven(rows)
    wanted = wanted or [row for row in proven if row not in kept]
    if unknown := [row for row in wanted if row not in proven]:
        print(f"{', '.join(unknown)}: no such row is proven.")
        return 1
    left = []
    with tree.copied() as copy:
        search = finding.Search(copy, rows, checklist.proofs())
        for row in wanted:
            print(f"{row}: {rows.all[row].sentence}", flush=True)
            mutant = search.find(row, kept.values())
            if mutant is None:
                left.append(row)
            else:
                kept[row] = mutant
                data.keep(mutant)
    print(f"found {len(wanted) - len(left)} of {len(wanted)}" + (f"; none for {', '.join(left)}." if left else "."))
    return 1 if left else 0


def moved(kept: dict[str, Mutant]) -> int:
    """Follow texts and tests into the files that they were moved to; return the exit code."""
    proofs = checklist.proofs()
    left = []
    for row, mutant in kept.items():
        found = data.moved(mutant, proofs.get(row, []))
        if found != mutant:
            data.keep(found)
            print(f"{row}: {found.file}, test {found.test}")
        left += [f"{row}: {fault}." for fault in data.faults(found, proofs.get(row, []))]
    print("\n".join(left or ["Every change can be made."]))
    return 1 if left else 0


def main(arguments: list[str]) -> int:
    """Try all changes, some at random, or those of the rows that are named."""
    parser = argparse.ArgumentParser(prog="scripts/mutants", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help="rows; after `find`, to search for; or `moved`")
    parser.add_argument("--sample", type=int, metavar="COUNT", help="so many at random that need no browser")
    parser.add_argument("--seed", type=int, help=f"the sample of this seed, of {SAMPLE} unless --sample says otherwise")
    given = parser.parse_args(arguments)
    kept = data.load()
    if given.rows[:1] == ["find"]:
        return find(given.rows[1:], kept)
    if given.rows == ["moved"]:
        return moved(kept)
    if given.sample is not None or given.seed is not None:
        seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
        return sample(kept, given.sample or SAMPLE, seed)
    if unknown := [row for row in given.rows if row not in kept]:
        print(f"There is no change for {', '.join(unknown)}; scripts/mutants find {' '.join(unknown)} looks for one.")
        return 1
    return check([kept[row] for row in given.rows or kept], twice=bool(given.rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
