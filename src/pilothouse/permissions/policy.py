"""The person's rules: read from a file, tried on their own examples, and asked about calls. The strictest wins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from pilothouse.permissions.case import Ruling
from pilothouse.permissions.matching import Subject, concerns, covers_all, covers_call, covers_sources
from pilothouse.permissions.rule_index import RuleIndex
from pilothouse.types.access import Access, PathUse
from pilothouse.types.authority import Rule, Verdict
from pilothouse.types.models import FileProblem
from pilothouse.types.ports import CallContext, JsonStore, Tool

# The rule that stands in for all others while their file cannot be read.
UNREADABLE = "policy"
# Whoever shows lines of a file reads it.
_READING = "file_operations.read_file"
_STRICTNESS: dict[Verdict, int] = {"allow": 0, "ask": 1, "deny": 2}
_WHY: dict[Verdict, str] = {
    "allow": "A rule of yours allows it",
    "ask": "A rule of yours asks about it",
    "deny": "A rule of yours forbids it",
}


class RuleSet:
    """Rules made ready to be asked."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = tuple(rules)
        self._index = RuleIndex(self.rules)

    def strictest(self, subject: Subject, *, allows: bool = True) -> Rule | None:
        """Return the rule that decides; of several equally strict ones always the same, whatever their order."""
        best: Rule | None = None
        candidates = [rule for rule in self._index.candidates(subject) if allows or rule.verdict != "allow"]
        for rule in candidates:
            if (best is None or _rank(rule) < _rank(best)) and speaks_about(rule, subject):
                best = rule
        return best or self._pairs(candidates, subject)

    def _pairs(self, candidates: Sequence[Rule], subject: Subject) -> Rule | None:
        """Return the first of the rules that together allow what a call takes along: each is about one pair."""
        pairs = [rule for rule in candidates if rule.verdict == "allow" and rule.pattern.sources and subject.sources]
        pairs = [rule for rule in pairs if covers_call(rule.pattern, subject)]
        named = (source for rule in pairs for source in rule.pattern.sources or ())
        return min(pairs, key=_rank) if pairs and covers_sources(named, subject) else None

    def withholds(self, file: Subject, search: Subject) -> bool:
        """Return whether a rule speaks about a file that did not speak about the search that came upon it."""
        return any(
            rule.verdict != "allow" and concerns(rule.pattern, file) and not concerns(rule.pattern, search)
            for rule in self._index.candidates(file)
        )


def _rank(rule: Rule) -> tuple[int, str]:
    return -_STRICTNESS[rule.verdict], rule.id


def _strictness(ruling: Ruling) -> int:
    return -_STRICTNESS[ruling.verdict]


def speaks_about(rule: Rule, subject: Subject) -> bool:
    """Return whether a rule is about a call: a permission about all of it, anything stricter about any part."""
    return covers_all(rule.pattern, subject) if rule.verdict == "allow" else concerns(rule.pattern, subject)


class Policy:
    """The rules in force."""

    def __init__(self, file: JsonStore[RuleSet]) -> None:
        self._file = file

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Return the rules of the last good content of the file."""
        return self._file.value.rules

    @property
    def problem(self) -> FileProblem | None:
        """Return what is wrong with the file."""
        return self._file.problem

    def verdict(
        self, access: Access, tool: Tool, context: CallContext, sources: frozenset[str] = frozenset()
    ) -> Ruling | None:
        """Return what the rules say about a call that can take data of these sources along; None when none speaks."""
        ruling = self.judge(Subject(access, tool.grant_key, context.working_directory, sources))
        read = self._about_reading(access, tool, context)
        return min((each for each in (ruling, read) if each is not None), key=_strictness, default=None)

    def _about_reading(self, access: Access, tool: Tool, context: CallContext) -> Ruling | None:
        """Return what keeps a file elsewhere from being read, whichever tool of ours comes upon it."""
        outside = tuple(use for use in access.paths if use.effect == "reads" and not use.inside)
        if not outside or tool.server or access.operation.partition(".")[0] == _READING.partition(".")[0]:
            return None
        reading = msgspec.structs.replace(access, operation=_READING, paths=outside, command=None)
        ruling = self.judge(Subject(reading, "", context.working_directory))
        return None if ruling is None or ruling.verdict == "allow" else ruling

    def withheld(self, search: Access, folder: str | None) -> Callable[[str], bool]:
        """Return who tells, of each file that an allowed search finds, whether a rule keeps it out of the result."""
        rules = self._file.value
        each = [msgspec.structs.replace(search, operation=name) for name in {search.operation, _READING}]
        searches = [Subject(access, "", folder) for access in each]

        def is_withheld(path: str) -> bool:
            use = PathUse(path=path, effect="reads", inside=True)
            files = (Subject(msgspec.structs.replace(access, paths=(use,)), "", folder) for access in each)
            return any(rules.withholds(file, one) for file, one in zip(files, searches, strict=True))

        return is_withheld

    def judge(self, subject: Subject) -> Ruling | None:
        """Return the same about a call that was looked at before."""
        rules, problem = self._file.look()
        ruling = ruling_of(rules.strictest(subject, allows=problem is None))
        if problem is not None and ruling is None and (subject.access.effects or subject.access.destination):
            return Ruling("ask", UNREADABLE, "The file of your rules cannot be read, so nothing is allowed by rule.")
        return ruling


def ruling_of(rule: Rule | None) -> Ruling | None:
    """Return a rule's word as a ruling."""
    if rule is None:
        return None
    said = f": {rule.note.rstrip('.')}." if rule.note else "."
    return Ruling(rule.verdict, rule.id, f"{_WHY[rule.verdict]}{said}")
