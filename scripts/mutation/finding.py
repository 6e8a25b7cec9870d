"""Searches for a small change that a row's test notices: in lines that it runs and few others do."""

from __future__ import annotations

import hashlib
import json
import math
import re
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts import checklist
from scripts.mutation.changes import Change, Source
from scripts.mutation.data import ROOT, Mutant
from scripts.mutation.tree import Copy, tried

# How many changes are tried for one test, in one line and in one function, and how many of a row's tests.
TRIES, PER_LINE, PER_FUNCTION, TESTS = 8, 1, 3, 2
# How long a row is searched for.
PATIENCE = 60.0
# Longer than this to fail is too long for the sample.
SLOW = 12.0
# Which changes say most about what a test looks at.
WORTH = {
    "unraised": 1.5,
    "negate": 1.2,
    "flip": 1.2,
    "compare": 1.0,
    "drop": 1.0,
    "words": 0.8,
    "uneven": 1.5,
    "none": 0.6,
}
KNOWN = ROOT / ".cache" / "mutants"
TOKEN = re.compile(r"[A-Z]?[a-z]{3,}")
EMPTY = {
    "the",
    "and",
    "that",
    "with",
    "are",
    "for",
    "its",
    "self",
    "test",
    "not",
    "return",
    "none",
    "from",
    "has",
    "was",
}


def words(text: str) -> set[str]:
    """Return the words of a sentence or a name, without their endings."""
    found = (each.lower() for each in TOKEN.findall(text))
    return {re.sub(r"(ies|es|s|ed|ing|d)$", "", each) for each in found if each not in EMPTY}


@dataclass(frozen=True)
class Candidate:
    """A change, in a file, that a test may notice."""

    score: float
    file: str
    change: Change


class Lines:
    """Which lines of ours each test runs; kept from one search to the next."""

    def __init__(self, copy: Copy) -> None:
        self._copy = copy
        KNOWN.mkdir(parents=True, exist_ok=True)
        shutil.copy(Path(__file__).with_name("lines.py"), copy.packages / "mutant_lines.py")
        (copy.packages / "mutant_lines.pth").write_text("import mutant_lines; mutant_lines.begin()\n", encoding="utf-8")
        self._wanted = copy.packages / "mutant_lines.txt"
        # How many tests run a line. Lines move when a file changes, and little is lost by that.
        self.often: Counter[str] = Counter()
        for path in KNOWN.glob("*.json"):
            self._count(json.loads(path.read_text())["lines"])

    def of(self, test: str) -> dict[str, list[int]]:
        """Return a test's lines by file: as they are known, or from running it. There are none if it does not pass."""
        path = KNOWN / (re.sub(r"\W+", "-", test) + ".json")
        if path.is_file():
            known = json.loads(path.read_text())
            if known["digests"] == _digests([*known["lines"], test.partition("::")[0]]):
                return dict(known["lines"])
        lines = self._run(test)
        if lines and not path.is_file():
            self._count(lines)
        digests = _digests([*lines, test.partition("::")[0]])
        path.write_text(json.dumps({"lines": lines, "digests": digests}))
        return lines

    def _run(self, test: str) -> dict[str, list[int]]:
        target = self._copy.folder.parent / "lines.txt"
        target.unlink(missing_ok=True)
        source = self._copy.folder / "src" / "pilothouse"
        self._wanted.write_text(f"{source}\n{target}\n", encoding="utf-8")
        try:
            ended = self._copy.run(test)
        finally:
            self._wanted.unlink()
        # It takes longer while it is watched, and may fail for that.
        if not ended.good and not self._copy.run(test).good:
            return {}
        found: dict[str, set[int]] = {}
        for line in target.read_text(encoding="utf-8").splitlines() if target.is_file() else ():
            name, _, number = line.partition("\t")
            found.setdefault(Path(name).relative_to(self._copy.folder).as_posix(), set()).add(int(number))
        return {name: sorted(numbers) for name, numbers in found.items()}

    def _count(self, lines: Mapping[str, list[int]]) -> None:
        self.often.update(f"{file}:{line}" for file, numbers in lines.items() for line in numbers)


def _digests(files: Iterable[str]) -> dict[str, str]:
    paths = {file: ROOT / file for file in files}
    return {
        file: hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for file, path in paths.items()
    }


class Search:
    """Looks for changes, row by row."""

    def __init__(self, copy: Copy, rows: checklist.Rows, tests: Mapping[str, list[str]]) -> None:
        self._copy = copy
        self._rows = rows.all
        self._tests = tests
        self.lines = Lines(copy)
        said = Counter(word for row in self._rows.values() for word in words(row.sentence))
        self._weights = {word: 1 / math.log2(1 + count) for word, count in said.items()}
        self._names = Counter(test for listed in tests.values() for test in listed)

    def find(self, row: str, used: Iterable[Mutant]) -> Mutant | None:
        """Return the first change that one of the row's tests notices, and say what was tried."""
        end = time.monotonic() + PATIENCE
        taken = {(each.file, each.before) for each in used if each.row != row}
        for test in self.tests(row)[:TESTS]:
            print(f"  {test}", flush=True)
            for candidate in self.candidates(row, test):
                change = candidate.change
                mutant = Mutant(row, candidate.file, change.before, change.after, test)
                if (mutant.file, mutant.before) in taken or time.monotonic() > end:
                    continue
                ended = tried(self._copy, mutant)
                how = "noticed" if ended.noticed else ended.verdict
                print(
                    f"  {candidate.score:5.2f} {mutant.file}:{change.line} {change.kind} `{change.text}`: {how}",
                    flush=True,
                )
                if ended.noticed:
                    return Mutant(row, mutant.file, mutant.before, mutant.after, test, slow=ended.seconds > SLOW)
        return None

    def tests(self, row: str) -> list[str]:
        """Return the row's tests, those that prove it best first; those in the browser only if there are no others.

        Of the page's own it is not known which lines they run.
        """
        known = [test for test in self._tests[row] if not test.startswith("page/")]
        quick = [test for test in known if not test.startswith("tests/browser/")]
        return sorted(quick or known, key=lambda test: self._rank(row, test))

    def _rank(self, row: str, test: str) -> float:
        """Order a row's tests: those that say most of its sentence, and are about little else, come first."""
        meant = self._meaning(words(self._rows[row].sentence), test.rpartition("::")[2] or test)
        return self._names[test] - 6 * meant

    def _meaning(self, wanted: set[str], text: str) -> float:
        """Return how much of what is wanted a text speaks about."""
        return sum(self._weights.get(word, 0.3) for word in wanted & words(text))

    def candidates(self, row: str, test: str) -> list[Candidate]:
        wanted = words(self._rows[row].sentence)
        wanted |= words(test.rpartition("::")[2])
        found: list[Candidate] = []
        for file, lines in self.lines.of(test).items():
            text = (self._copy.folder / file).read_text(encoding="utf-8")
            for change in Source(text).changes(set(lines)):
                others = self.lines.often[f"{file}:{change.line}"]
                about = self._meaning(wanted, change.text)
                around = self._meaning(wanted, f"{Path(file).stem} {change.function} {change.said}")
                score = 1.5 * about + around + WORTH.get(change.kind, 0.0) - 0.8 * math.log2(max(1, others))
                found.append(Candidate(score, file, change))
        found.sort(key=lambda each: -each.score)
        return _spread(found)


def _spread(candidates: list[Candidate]) -> list[Candidate]:
    """Return the best, with few of one line and of one function."""
    lines: Counter[tuple[str, int]] = Counter()
    functions: Counter[tuple[str, str]] = Counter()
    chosen: list[Candidate] = []
    for each in candidates:
        line, function = (each.file, each.change.line), (each.file, each.change.function)
        if len(chosen) < TRIES and lines[line] < PER_LINE and functions[function] < PER_FUNCTION:
            lines[line] += 1
            functions[function] += 1
            chosen.append(each)
    return chosen
