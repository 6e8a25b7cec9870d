"""What was learned about a model from what its provider refused: kept for a while, shown, and forgotten on request.

A lesson belongs to the model as it is configured: its provider, address, name, and what is sent along with every
request. Another configuration is another model, of which nothing is known yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from pilothouse.models.providers import address_of
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject, convert
from pilothouse.types.models import LearnedView, ModelConfig
from pilothouse.types.ports import JsonStore

# That a model takes no tools is learned like any field.
TOOLS = "tools"
# That it takes no pictures in results.
PICTURES = "pictures"
# The field with which Gemini takes its own tools beside others.
OWN_TOOLS_BESIDE = "toolConfig.includeServerSideToolInvocations"
# The field by which OpenAI lets tools be found by us.
FOUND_TOOLS = "execution"
# That its server holds no answer to a schema.
SCHEMAS = "answer_schema"
_SAID = {
    SCHEMAS: "Does not enforce the form of an answer; calls are written as text",
    TOOLS: "Does not take tools; calls are written as text",
    PICTURES: "Does not take pictures from tools",
    "missing.thoughtSignature": "Wants a signature with every call",
    "missing.reasoning_content": "Wants its thinking back with every call",
    "missing.thinking": "Wants its thinking back with every call",
    "functionCall.id": "Takes calls and results without ids",
    FOUND_TOOLS: "Does not take what a search for tools finds; it calls that by name",
    OWN_TOOLS_BESIDE: "Does not take its provider's own tools beside others",
    "functionResponse.parts": "Takes pictures beside the results of tools only",
}


# How much a model may be told to think.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "default")


def efforts(on: bool) -> tuple[str, ...]:
    """Return how much to think, from what is meant to what is nearest to it."""
    return ("medium", "high", "low", "default") if on else ("none", "minimal", "low")


class Spare(NamedTuple):
    """A field that a request can do without, or write differently."""

    # As it stands in the request: reasoning.effort.
    field: str
    # How else refusals call it, in small letters.
    also: tuple[str, ...] = ()
    # The values that we may send, when another of them may do.
    values: tuple[str, ...] = ()
    # Whether it stands inside of lists, in many places at once.
    anywhere: bool = False
    # How refusals put that it is missing where we leave it out; its name then begins with "missing".
    missed: str = ""


class Lesson(msgspec.Struct, frozen=True, omit_defaults=True):
    """One field that a provider did not take: at all, with some values, or beyond some bounds."""

    field: str
    refused: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    # When it was learned.
    at: float = 0.0

    @property
    def is_whole(self) -> bool:
        """Return whether the field is not taken at all."""
        return not self.refused and self.least is None and self.most is None

    @property
    def text(self) -> str:
        """Return it as one plain line."""
        if self.field in _SAID:
            return _SAID[self.field]
        if self.allowed:
            return f"Takes only {_listed(self.allowed)} as {self.field}"
        if self.refused:
            return f"Does not take {_listed(self.refused)} as {self.field}"
        if self.is_whole:
            return f"Does not take {self.field}"
        least = f" from {self.least:.12g}" if self.least is not None else ""
        most = f" up to {self.most:.12g}" if self.most is not None else ""
        return f"Takes {self.field} only{least}{most}"

    def after(self, before: Lesson | None) -> Lesson:
        """Return this and what was known before as one."""
        if before is None or self.is_whole:
            return self
        if before.is_whole:
            return before
        refused = tuple(dict.fromkeys((*before.refused, *self.refused)))
        allowed = tuple(value for value in self.allowed or before.allowed if value not in refused)
        least = self.least if self.least is not None else before.least
        most = self.most if self.most is not None else before.most
        return Lesson(self.field, refused=refused, allowed=allowed, least=least, most=most, at=before.at)


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


Lessons = dict[str, Lesson]
# The lessons of each model, by what its configuration comes to.
Kept = dict[str, Lessons]


def parse_lessons(raw: JsonObject) -> Kept:
    """Return the content of `cache/learned.json`."""
    return convert(raw, Kept)


async def _nobody() -> None:
    pass


class LessonBook:
    """What was learned about all models; without a file, for as long as this process lives."""

    def __init__(
        self,
        path: Path | None = None,
        opened: Callable[[Path], JsonStore[Kept]] | None = None,
        *,
        clock: Callable[[], float] = time.time,
        changed: Callable[[], Awaitable[None]] = _nobody,
    ) -> None:
        """Take the file and who opens it; `changed` is told when something was learned or forgotten."""
        self._path = path
        self._opened = opened
        self._clock = clock
        self._changed = changed
        self._store: JsonStore[Kept] | None = None
        self._kept: Kept = {}
        # Of each model: which proofs its provider did not take back, for as long as this process lives.
        self._not_taken: dict[str, set[bytes]] = {}

    def of(self, config: ModelConfig) -> ModelLessons:
        """Return the lessons of one model, which others that are configured alike share."""
        return ModelLessons(self, _key(config))

    def not_taken(self, key: str) -> set[bytes]:
        """Return the digests of what a model's provider had given and did not take back."""
        return self._not_taken.setdefault(key, set())

    def views(self, config: ModelConfig) -> tuple[LearnedView, ...]:
        """Return what was learned about a model, as it is shown."""
        return tuple(LearnedView(text=one.text, at=one.at) for one in self.known(_key(config)).values())

    def known(self, key: str) -> Lessons:
        """Return what is known under a key and not too old: by now the provider may have learned better."""
        kept: Lessons = {}
        # Whatever is wrong with the file, models are asked.
        with contextlib.suppress(PilothouseError, OSError):
            store = self._file(make=False)
            kept = (store.value if store is not None else self._kept).get(key, {})
        since = self._clock() - limits.LESSON_SECONDS
        return {field: lesson for field, lesson in kept.items() if lesson.at > since}

    async def keep(self, key: str, lessons: Iterable[Lesson]) -> None:
        """Remember lessons from now on."""
        now = self._clock()
        merged = self.known(key)
        for lesson in lessons:
            merged[lesson.field] = msgspec.structs.replace(lesson.after(merged.get(lesson.field)), at=now)
        await self._write(key, dict(list(merged.items())[-limits.LESSONS_OF_A_MODEL :]))

    async def forget(self, config: ModelConfig) -> None:
        if self.known(_key(config)):
            await self._write(_key(config), {})

    async def _write(self, key: str, lessons: Lessons) -> None:
        def change(raw: JsonObject) -> None:
            raw.pop(key, None)
            if lessons:
                raw[key] = msgspec.to_builtins(lessons)
            for old in list(raw)[: -limits.LESSONS_MODELS]:
                del raw[old]

        def write() -> None:
            store = self._file(make=True)
            if store is None:
                self._kept[key] = lessons
            else:
                store.update(change)

        # On a full disk it is learned once more another time.
        with contextlib.suppress(PilothouseError, OSError):
            await asyncio.to_thread(write)
        await self._changed()

    def _file(self, *, make: bool) -> JsonStore[Kept] | None:
        if self._store is None and self._path is not None and self._opened is not None:
            # Most people have nothing to remember, and no file for it.
            if not make and not self._path.exists():
                return None
            self._store = self._opened(self._path)
        return self._store


class ModelLessons:
    """What one model was found not to take, as its requests are written by it."""

    def __init__(self, book: LessonBook | None = None, key: str = "") -> None:
        self._book = book or LessonBook()
        self._key = key
        self._known: Lessons = {}
        # Followed, but not yet proved right by an answer.
        self._tried: Lessons = {}

    @property
    def not_taken(self) -> set[bytes]:
        """Return the digests of what the provider had given and did not take back; more can be added."""
        return self._book.not_taken(self._key)

    def refresh(self) -> None:
        """Take up what was learned, forgotten or outlived since the last request."""
        self._known = self._book.known(self._key)

    def has(self, field: str) -> bool:
        """Return whether a field is not taken at all, or wanted where it was missing."""
        lesson = self._lesson(field)
        return lesson is not None and lesson.is_whole

    def pick(self, field: str, *values: str) -> str | None:
        """Return the first value that a field takes, None to leave it out."""
        lesson = self._lesson(field)
        if lesson is None:
            return values[0]
        if lesson.is_whole:
            return None
        return next((one for one in values if one not in lesson.refused and one in (lesson.allowed or values)), None)

    def about_temperature(self, wanted: float) -> str:
        """Return one sentence for a person whose temperature the model does not get; nothing when it does."""
        known = (self._known | self._tried).items()
        lesson = next((one for field, one in known if field.rpartition(".")[2] == "temperature"), None)
        if lesson is None:
            return ""
        if lesson.is_whole:
            return "This model takes no temperature; it was asked without one."
        given = _within(wanted, lesson)
        return f"This model takes no temperature of {wanted:g}; it was asked with {given:g}." if given != wanted else ""

    def applied(self, head: JsonObject) -> JsonObject:
        """Return a request's head without the fields that are not taken, and with numbers within their bounds."""
        for lesson in (self._known | self._tried).values():
            # How tools are offered is decided before, and the provider's own are no less among them.
            if lesson.field != TOOLS:
                _apply(head, lesson, lesson.field.split("."))
        return head

    def try_out(self, lesson: Lesson) -> bool:
        """Follow a lesson from now on; return whether it says anything new."""
        before = self._lesson(lesson.field)
        after = lesson.after(before)
        if before is not None and msgspec.structs.replace(after, at=before.at) == before:
            return False
        self._tried[lesson.field] = after
        return True

    async def keep(self, lessons: Iterable[Lesson]) -> None:
        """Remember lessons that an answer proved right."""
        await self._book.keep(self._key, [self._tried.pop(lesson.field, lesson) for lesson in lessons])
        self.refresh()

    def drop(self, lessons: Iterable[Lesson]) -> None:
        """Give up lessons that did not help."""
        for lesson in lessons:
            self._tried.pop(lesson.field, None)

    def refuses_tools(self) -> bool:
        """Return whether the model takes no tools the usual way."""
        self.refresh()
        return self.has(TOOLS)

    async def learn_no_tools(self) -> None:
        """Remember that the model takes no tools the usual way."""
        await self.keep((Lesson(TOOLS),))

    def _lesson(self, field: str) -> Lesson | None:
        return self._tried.get(field) or self._known.get(field)


def _key(config: ModelConfig) -> str:
    """Return what a model's configuration comes to, without giving away the secrets in it."""
    told = (config.provider, config.service, address_of(config), config.model, config.headers, config.extra)
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()[:24]


def _apply(head: JsonObject, lesson: Lesson, parts: list[str]) -> None:
    """Take a field out of an object, and what is empty without it; or put its number within the bounds."""
    first, *rest = parts
    value = head.get(first)
    if rest:
        if isinstance(value, dict):
            _apply(value, lesson, rest)
            if not value:
                del head[first]
    elif lesson.is_whole:
        head.pop(first, None)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        head[first] = _within(value, lesson)


def _within(value: float, lesson: Lesson) -> float:
    low = value if lesson.least is None else max(value, lesson.least)
    bounded = low if lesson.most is None else min(low, lesson.most)
    return int(bounded) if isinstance(value, int) else bounded
