"""Which tools fit a question best: BM25 over the words of name, title, server, description and parameters.

What a tool says of itself was written by a stranger who may want to come first. So a word counts once for each place it
stands in, however often it is repeated; only the beginning of a description counts, and a long one counts less for each
word in it; and what a tool is called counts more than what it says.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from pilothouse.tools.finding.words import ALIKE, asked, words
from pilothouse.types import limits
from pilothouse.types.ports import Tool

# What a word weighs by where it stands, and how much less it weighs among many others there.
_WEIGHTS = {"name": 3.0, "title": 2.0, "server": 1.5, "first": 1.5, "about": 0.7, "parameters": 0.7}
_LENGTHS = {"name": 0.4, "title": 0.4, "server": 0.0, "first": 0.5, "about": 0.75, "parameters": 0.75}
# How soon more of the same word stops to count.
_ENOUGH = 1.5
# What another word for the same thing weighs, and the beginning of a longer word.
_OTHER_WORD = 0.45
_BEGINNING = 0.6
_SHORTEST_BEGINNING = 3
_ENDINGS = 40
# What of a tool's score does not depend on how much of the question it is about.
_ANY_PART = 0.4
# A tool that is called by its name comes first: this is added to what its words score.
NAMED = 1e6


class Ranked(msgspec.Struct, frozen=True):
    """One tool that was found."""

    tool: Tool
    score: float


class ToolIndex:
    """The words of some tools; made once, asked often."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = tuple(tools)
        texts = [_texts(tool) for tool in self._tools]
        usual = {field: _mean(len(text[field]) for text in texts) for field in _WEIGHTS}
        self._places: dict[str, list[tuple[int, float]]] = {}
        for number, text in enumerate(texts):
            for word, weight in _weighed(text, usual).items():
                self._places.setdefault(word, []).append((number, weight))
        self._words = sorted(self._places)
        self._names: dict[str, list[int]] = {}
        for number, tool in enumerate(self._tools):
            for name in _names(tool):
                self._names.setdefault(name, []).append(number)

    def find(self, question: str) -> list[Ranked]:
        """Return the tools that have any of the words, best first; equally good ones by name."""
        scores: dict[int, float] = {}
        covered: dict[int, float] = {}
        total = 0.0
        for word in asked(question)[: limits.FINDING_WORDS]:
            found, rarity = self._about(word)
            total += rarity
            for number, score in found.items():
                scores[number] = scores.get(number, 0.0) + score
                covered[number] = covered.get(number, 0.0) + rarity
        for number, share in covered.items():
            scores[number] *= _ANY_PART + (1 - _ANY_PART) * share / total
        for number in self._names.get(question.strip().lower(), ()):
            scores[number] = scores.get(number, 0.0) + NAMED
        best = heapq.nsmallest(
            limits.FINDING_KEPT, scores.items(), key=lambda pair: (-pair[1], self._tools[pair[0]].spec.name)
        )
        return [Ranked(self._tools[number], score) for number, score in best]

    def _about(self, word: str) -> tuple[dict[int, float], float]:
        """Return what each tool scores for a word, by its best form there, and how rare the word is."""
        forms = {word: 1.0}
        for other in ALIKE.get(word, ()):
            forms[other] = _OTHER_WORD
        for longer in self._beginning_with(word):
            forms.setdefault(longer, _BEGINNING)
        best: dict[int, float] = {}
        for form, share in forms.items():
            rarity = self._rarity(form)
            for number, weight in self._places.get(form, ()):
                score = share * rarity * weight * (1 + _ENOUGH) / (weight + _ENOUGH)
                if score > best.get(number, 0.0):
                    best[number] = score
        return best, self._rarity(word)

    def _beginning_with(self, word: str) -> list[str]:
        if len(word) < _SHORTEST_BEGINNING:
            return []
        low, high = 0, len(self._words)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._words[middle] < word else (low, middle)
        near = self._words[low : low + _ENDINGS]
        return [longer for longer in near if longer.startswith(word) and longer != word]

    def _rarity(self, word: str) -> float:
        having = len(self._places.get(word, ()))
        return math.log(1 + (len(self._tools) - having + 0.5) / (having + 0.5))


def _texts(tool: Tool) -> dict[str, list[str]]:
    said = tool.spec.description[: limits.FINDING_DESCRIPTION_CHARS].strip()
    first, _, rest = said.partition("\n")
    first, dot, more = first.partition(". ")
    server, _, name = tool.qualified_name.partition(".")
    parameters = tool.spec.input_schema.get("properties")
    names = list(parameters)[: limits.FINDING_PARAMETERS] if isinstance(parameters, Mapping) else []
    title = tool.shown({}).action_display_name
    return {
        "name": words(name or tool.spec.name),
        "title": words(title) if title != name else [],
        "server": words(f"{server} {tool.server}"),
        "first": words(first),
        "about": words(f"{more if dot else ''} {rest}"),
        "parameters": [word for name in names for word in words(str(name))],
    }


def _weighed(text: Mapping[str, Sequence[str]], usual: Mapping[str, float]) -> dict[str, float]:
    weights: Counter[str] = Counter()
    for field, found in text.items():
        share = _LENGTHS[field]
        weight = _WEIGHTS[field] / (1 - share + share * len(found) / usual[field]) if found else 0.0
        for word in set(found):
            weights[word] += weight  # type: ignore[assignment]
    return dict(weights)


def _names(tool: Tool) -> set[str]:
    bare = tool.qualified_name.partition(".")[2]
    return {name.lower() for name in (tool.spec.name, tool.qualified_name, bare) if name}


def _mean(lengths: Iterable[int]) -> float:
    known = [length for length in lengths if length]
    return sum(known) / len(known) if known else 1.0
