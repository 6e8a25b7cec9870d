"""What was learned about models from refusals: kept across restarts, for one configuration, for a while."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.models.learned_limits import Kept, Lesson, LessonBook, ModelLessons, parse_lessons
from pilothouse.settings.json_file import JsonFile
from pilothouse.types import limits
from pilothouse.types.models import ModelConfig

CONFIG = ModelConfig(name="M", provider="openai-compatible", model="m", base_url="https://x.example/v1?token=canary")
NOON = 1_000_000.0


class Clock:
    """A time of one's own."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> float:
        return self.now


def opened(path: Path) -> JsonFile[Kept]:
    return JsonFile(path, parse_lessons, dict, is_empty=lambda raw: False)


def book(folder: Path, clock: Clock | None = None) -> LessonBook:
    """Open a book as a process that starts does."""
    return LessonBook(folder / "learned.json", opened, clock=clock or Clock())


def texts(known: LessonBook, config: ModelConfig = CONFIG) -> list[str]:
    return [view.text for view in known.views(config)]


async def test_a_lesson_outlives_the_process_that_learned_it(tmp_path: Path) -> None:
    await book(tmp_path).of(CONFIG).keep([Lesson("temperature")])
    later = book(tmp_path)
    assert [(view.text, view.at) for view in later.views(CONFIG)] == [("Does not take temperature", NOON)]
    lessons = later.of(CONFIG)
    lessons.refresh()
    assert lessons.applied({"temperature": 0.3, "model": "m"}) == {"model": "m"}


async def test_a_process_hears_of_what_another_one_learned_and_forgot(tmp_path: Path) -> None:
    one, other = book(tmp_path), book(tmp_path)
    lessons = other.of(CONFIG)
    for change, is_known in ((one.of(CONFIG).keep([Lesson("temperature")]), True), (one.forget(CONFIG), False)):
        await change
        lessons.refresh()
        assert lessons.has("temperature") is is_known


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"provider": "openai-responses"},
        {"base_url": "https://y.example/v1"},
        {"extra": {"top_p": 1}},
        {"headers": {"x-a": "b"}},
    ],
)
async def test_another_configuration_is_another_model(change: dict[str, Any], tmp_path: Path) -> None:
    known = book(tmp_path)
    await known.of(CONFIG).keep([Lesson("temperature")])
    assert texts(known, msgspec.structs.replace(CONFIG, **change)) == []
    assert texts(known, msgspec.structs.replace(CONFIG, name="Another name", id="x")) == ["Does not take temperature"]


async def test_a_lesson_is_forgotten_after_a_while_and_tried_again(tmp_path: Path) -> None:
    clock = Clock()
    known = book(tmp_path, clock)
    lessons = known.of(CONFIG)
    await lessons.keep([Lesson("temperature")])
    clock.now += limits.LESSON_SECONDS - 1
    lessons.refresh()
    assert lessons.has("temperature")
    clock.now += 2
    lessons.refresh()
    assert not lessons.has("temperature")
    assert texts(known) == []


async def test_the_file_holds_nothing_of_the_address_and_is_made_only_when_needed(tmp_path: Path) -> None:
    known = book(tmp_path)
    lessons = known.of(CONFIG)
    lessons.refresh()
    await known.forget(CONFIG)
    assert not (tmp_path / "learned.json").exists()
    await lessons.keep([Lesson("temperature")])
    assert "canary" not in (tmp_path / "learned.json").read_text()


async def test_whoever_looks_is_told_of_each_change(tmp_path: Path) -> None:
    told: list[list[str]] = []

    async def changed() -> None:
        told.append(texts(known))

    known = LessonBook(tmp_path / "learned.json", opened, clock=Clock(), changed=changed)
    await known.of(CONFIG).keep([Lesson("temperature")])
    await known.forget(CONFIG)
    assert told == [["Does not take temperature"], []]


async def test_a_file_that_somebody_broke_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / "learned.json").write_text("{broken")
    known = book(tmp_path)
    assert texts(known) == []
    await known.of(CONFIG).keep([Lesson("temperature")])
    assert texts(book(tmp_path)) == ["Does not take temperature"]


async def test_where_nothing_can_be_kept_models_are_asked_all_the_same(tmp_path: Path) -> None:
    known = LessonBook(tmp_path / "no" / "such" / "folder" / "learned.json", opened)
    lessons = known.of(CONFIG)
    await lessons.keep([Lesson("temperature")])
    lessons.refresh()
    assert texts(known) == []
    (tmp_path / "learned.json").mkdir()
    assert texts(book(tmp_path)) == []


async def test_the_oldest_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LESSONS_MODELS", 2)
    monkeypatch.setattr(limits, "LESSONS_OF_A_MODEL", 2)
    known = book(tmp_path)
    for model in "abc":
        config = msgspec.structs.replace(CONFIG, model=model)
        await known.of(config).keep([Lesson(field) for field in ("one", "two", "three")])
    kept = json.loads((tmp_path / "learned.json").read_text())
    assert [list(lessons) for lessons in kept.values()] == [["two", "three"]] * 2


@pytest.mark.parametrize(
    ("lesson", "line"),
    [
        (Lesson("temperature"), "Does not take temperature"),
        (Lesson("tools"), "Does not take tools; calls are written as text"),
        (Lesson("reasoning.effort", refused=("none",)), "Does not take none as reasoning.effort"),
        (
            Lesson("reasoning.effort", refused=("none",), allowed=("minimal", "low", "high")),
            "Takes only minimal, low or high as reasoning.effort",
        ),
        (Lesson("temperature", least=0, most=1.5), "Takes temperature only from 0 up to 1.5"),
        (Lesson("max_tokens", most=1_048_576), "Takes max_tokens only up to 1048576"),
        (Lesson("missing.thoughtSignature"), "Wants a signature with every call"),
    ],
)
def test_a_lesson_is_one_plain_line(lesson: Lesson, line: str) -> None:
    assert lesson.text == line


def test_a_value_is_the_first_that_is_taken() -> None:
    lessons = ModelLessons()
    assert lessons.pick("effort", "none", "minimal") == "none"
    assert lessons.try_out(Lesson("effort", refused=("none",)))
    assert lessons.pick("effort", "none", "minimal") == "minimal"
    assert lessons.try_out(Lesson("effort", refused=("minimal",), allowed=("low", "none")))
    assert lessons.pick("effort", "none", "minimal", "low") == "low"
    assert lessons.pick("effort", "medium") is None
    assert not lessons.try_out(Lesson("effort", refused=("none",)))
    assert lessons.try_out(Lesson("effort"))
    assert lessons.pick("effort", "low") is None
    assert not lessons.try_out(Lesson("effort", refused=("low",)))


def test_a_field_inside_of_others_goes_with_what_is_empty_without_it() -> None:
    lessons = ModelLessons()
    lessons.try_out(Lesson("a.b.c"))
    assert lessons.applied({"a": {"b": {"c": 1}}, "d": 2}) == {"d": 2}
    assert lessons.applied({"a": {"b": {"c": 1}, "e": 3}}) == {"a": {"e": 3}}
    assert lessons.applied({"a": "text"}) == {"a": "text"}
