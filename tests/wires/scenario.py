"""A scenario: what a provider answers, turn by turn, and what must come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pilothouse.types.items import Item, ItemKind
from pilothouse.types.selection import NativeTools
from tests.wires.endpoint import Asked
from tests.wires.replies import Answer, Json, Wire

# The smallest picture there is.
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
THOUGHT = {"thoughts": "a plan"}
WRITTEN_THOUGHT = '{"thoughts": "a plan"}'
# A second tool, since nobody may think twice in a row.
TODOS = "todo_operations"
READ = {"operation": "read"}
WRITTEN_READ = '{"operation": "read"}'


@dataclass(frozen=True)
class Fails:
    """A turn that ends without an answer: the code, and words of the sentence that the person reads."""

    code: str
    words: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of a scenario."""

    # The answer of each turn, or why there is none.
    turns: tuple[str | Fails, ...]
    items: tuple[Item, ...]
    asked: Sequence[Asked]

    @property
    def bodies(self) -> list[Json]:
        return [asked.body for asked in self.asked]

    def of(self, kind: ItemKind) -> list[Item]:
        return [item for item in self.items if item.kind == kind]

    def notices(self) -> list[str]:
        """Return what the person was told beside the answers; that something is tried again passes."""
        codes = [str(item.raw.get("code")) for item in self.of("notice")]
        return [code for code in codes if code != "retrying"]


Check = Callable[[Outcome], None]


@dataclass(frozen=True)
class Scenario:
    """One conversation with one model."""

    name: str
    wire: Wire
    answers: tuple[Answer, ...]
    # What each turn gives: there are as many turns.
    gives: tuple[str | Fails, ...]
    # How many requests that takes; None where there is one for each answer.
    asks: int | None = None
    # The codes of what the person is told beside it.
    tells: tuple[str, ...] = ()
    # What else must be true of it.
    check: Check | None = None
    # What the conversation is set to, and what the model is configured with beside address and name.
    thinking: bool | None = None
    temperature: float | None = None
    native: NativeTools | None = None
    picture: bool = False
    # Whether it has a folder to work in, with a picture in it.
    folder: bool = False
    model: Mapping[str, Any] = field(default_factory=dict)
    # What the maker's types do not know and must come back nevertheless.
    unknown: str = ""
    # Answers that cannot come back as they were: cut calls, things of no use to the provider, new beginnings.
    verbatim: bool = True

    @property
    def requests(self) -> int:
        return len(self.answers) if self.asks is None else self.asks


def _same(what: str, given: object, wanted: object) -> None:
    assert given == wanted, f"{what}: {given}, and not {wanted}"


def sources(*urls: str) -> Check:
    """The answer is shown with these sources."""

    def check(outcome: Outcome) -> None:
        given = [source["url"] for item in outcome.of("response") for source in item.raw.get("sources", ())]
        _same("sources", given, list(urls))

    return check


def pictures(count: int) -> Check:
    """So many pictures are kept beside the answers."""

    def check(outcome: Outcome) -> None:
        parts = [part for item in outcome.of("response") for part in item.raw.get("content", ())]
        _same("pictures", [part["kind"] for part in parts], ["image"] * count)

    return check


def calls(*statuses: str) -> Check:
    """The model's calls ended so."""

    def check(outcome: Outcome) -> None:
        _same("calls", [item.status for item in outcome.of("tool_call")], list(statuses))

    return check


def body(number: int, what: Callable[[Json], object]) -> Check:
    """Something is true of a request, counted from 0."""

    def check(outcome: Outcome) -> None:
        assert what(outcome.bodies[number]), f"request {number} was {outcome.bodies[number]}"

    return check


def both(*checks: Check) -> Check:
    """All of these."""

    def check(outcome: Outcome) -> None:
        for each in checks:
            each(outcome)

    return check
