"""Sees whether the rows' tests notice small changes of the code, and searches for such changes."""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import re
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
# So many of them are of the page, where its own tests are the judges.
OF_THE_PAGE = 2
# The sample ends in this time, also on a machine that has much else to do; what was left out is said.
SAMPLE_SECONDS = 120.0
# A sample of which less than this share was tried says nothing: it fails.
LEAST_SHARE = 0.5
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


def check(mutants: Sequence[Mutant], *, twice: bool = False, seconds: float = float("inf"), least: int = 1) -> int:
    """Try each change, several at once, and report those that were not noticed; return the exit code.

    Where the time ends before `least` of them were tried, that is a failure, too.
    """
    # The copy's page is the one that is built here, and it has our packages.
    if any(mutant.browser for mutant in mutants) and page_build.main([]):
        return 1
    if any(mutant.component for mutant in mutants):
        page_build.install()
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
    print(f"{len(tried)} of {len(mutants)} changes were tried; {len(tried) - len(wrong)} of these were noticed.")
    if len(tried) < least:
        print(f"At least {least} must be tried: run it again when this machine has less to do.")
    return 1 if wrong or len(tried) < least else 0


def sample(kept: dict[str, Mutant], count: int, seed: int) -> int:
    """Try some at random, of those that are quick; some of them are of the page."""
    quick = sorted(row for row, mutant in kept.items() if mutant.quick)
    ours = [row for row in quick if kept[row].component]
    chance = random.Random(seed)
    first = chance.sample(ours, min(OF_THE_PAGE, count, len(ours)))
    others = [row for row in quick if row not in first]
    chosen = first + chance.sample(others, min(count - len(first), len(others)))
    repeat = f"scripts/mutants --sample {count} --seed {seed}"
    print(f"{len(chosen)} of {len(quick)} changes that need no browser; `{repeat}` tries the same again.", flush=True)
    least = max(1, math.ceil(len(chosen) * LEAST_SHARE))
    return check([kept[row] for row in chosen], seconds=SAMPLE_SECONDS, least=least)


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
    named = "rows, or `page:todos`; after `find`, rows to search for; or `moved`"
    parser.add_argument("rows", nargs="*", metavar="ROW", help=named)
    parser.add_argument("--sample", type=int, metavar="COUNT", help="so many at random that need no browser")
    parser.add_argument("--seed", help=f"the sample of this seed, of {SAMPLE} unless --sample says otherwise")
    given = parser.parse_args(arguments)
    kept = data.load()
    if given.rows[:1] == ["find"]:
        return find(given.rows[1:], kept)
    if given.rows == ["moved"]:
        return moved(kept)
    if given.sample is not None or given.seed is not None:
        seed = str(random.SystemRandom().randrange(10**6)) if given.seed is None else given.seed
        if not re.fullmatch(r"-?[0-9]+", seed.strip()):
            print(f"The seed is a whole number; {seed!r} is none.")
            return 1
        return sample(kept, given.sample or SAMPLE, int(seed))
    if unknown := [row for row in given.rows if row not in kept]:
        print(f"There is no change for {', '.join(unknown)}; scripts/mutants find {' '.join(unknown)} looks for one.")
        return 1
    return check([kept[row] for row in given.rows or kept], twice=bool(given.rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
