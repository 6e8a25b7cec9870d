"""What the server says to the page, for the page's own tests: `page/tests/recorded`, written by scripts/recordings.

A scene is a small life of a host whose model answers from a script. What is different each time is evened out: ids are
counted, everything happened at one moment, and the data folder is `/data`.
"""

from __future__ import annotations

import json
import re
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from pilothouse.types.runs import ENDED
from tests.support.in_process_server import BEARER, Reach, serve_folder
from tests.support.source import ROOT
from tests.support.waiting import eventually

FOLDER = ROOT / "page" / "tests" / "recorded"
# When everything happened; the page's tests know it as RECORDED_AT.
MOMENT = datetime(2026, 1, 15, 12, tzinfo=UTC).timestamp()
DAY = 86_400
MONTHS = 120 * DAY
IDS = re.compile(r"\b([cdrispfgumt])_[0-9a-f]{26}\b")
HASHES = re.compile(r"\b(?:[0-9a-f]{16}|[0-9a-f]{32,64})\b")
DAYS = re.compile(r"20\d\d-\d\d-\d\d")
# What takes a while takes another while each time.
TAKEN = {"elapsed", "seconds"}
# How many events there were, and so where an item is, depends on how quickly they came.
PLACES = {"position", "before"}
COUNTED = 100
# How long the folder's path is: what a model is given is counted, and paths are in it.
PATH = 160

Json = dict[str, Any]
Scene = Callable[["Recorder"], Awaitable[None]]


class Recorder:
    """A host and what it has answered so far."""

    def __init__(self, server: Reach, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.said: Json = {}
        # Conversations are counted in the order in which they were begun, whatever is recorded first.
        self.begun: list[str] = []
        # The last message that was sent.
        self.message = ""
        self._turns: list[Json] = []

    async def do(self, method: str, path: str, body: object = None) -> Any:
        """Ask for something that is not recorded."""
        answer = await self.server.http.request(method, path, json=body, headers=BEARER)
        assert answer.is_success, f"{method} {path}: {answer.text}"
        return answer.json() if answer.content else None

    async def get(self, *paths: str) -> None:
        """Record what is answered."""
        for path in paths:
            self.said[f"GET {path}"] = await self.do("GET", path)

    async def conversation(self, title: str, **settings: object) -> str:
        """Begin a conversation."""
        made = await self.do("POST", "/api/conversations", {"title": title, "settings": settings})
        self.begun.append(made["id"])
        return str(made["id"])

    async def say(self, conversation: str, text: str, *turns: object, until: str = "", **more: object) -> str:
        """Send a message that the model answers like this; wait until its run is over or in a state, and return it."""
        self.let(text, *turns)
        sent = await self.do("POST", f"/api/conversations/{conversation}/messages", {"text": text, **more})
        self.message = str(sent["itemId"])
        await self.until(sent["runId"], until)
        return str(sent["runId"])

    async def stop(self, conversation: str, text: str, answer: str) -> None:
        """Send a message, and stop its answer after the first six letters."""
        self.let(text, [{"text": answer, "pieces": 6, "every": 90.0}])
        sent = await self.do("POST", f"/api/conversations/{conversation}/messages", {"text": text})

        async def has_begun() -> bool:
            items = (await self.do("GET", f"/api/conversations/{conversation}"))["items"]
            return any(item["kind"] == "response" and item["text"] for item in items)

        await eventually(has_begun, "the answer to begin")
        await self.do("POST", f"/api/runs/{sent['runId']}/cancel")
        await self.until(sent["runId"])

    def let(self, text: str, *turns: object) -> None:
        """Let the model answer a message like this; each turn is a text, or a list of steps."""
        for turn in turns:
            self._turns.append({"match": text, "steps": turn if isinstance(turn, list) else [turn]})
        (self.folder / "script.json").write_text(json.dumps({"turns": self._turns}), encoding="utf-8")

    async def until(self, run: str, state: str = "") -> None:
        """Wait until a run is over, or in a state."""

        async def is_there() -> bool:
            status = (await self.do("GET", f"/api/runs/{run}"))["status"]
            return status == state if state else status in ENDED

        await eventually(is_there, f"the run to be {state or 'over'}")

    async def answer(self, conversation: str, answer: Json, *, recorded: bool = False) -> None:
        """Answer what waits in a conversation."""
        waiting = (await self.do("GET", "/api/approvals"))["pending"]
        [item] = [each["itemId"] for each in waiting if each["conversationId"] == conversation]
        path = f"/api/questions/{item}/answer"
        run = await self.do("POST", path, answer)
        if recorded:
            self.said[f"POST {path}"] = run

    async def open(self, conversation: str) -> None:
        """Record what the page asks for when it opens a conversation."""
        state = await self.do("GET", f"/api/state?conversation={conversation}")
        self.said[f"GET /api/state?conversation={conversation}"] = without_settings(state)
        await self.get(f"/api/conversations/{conversation}/context", "/api/approvals")


def without_settings(state: Json) -> Json:
    """Return the page's state without what is large and the same everywhere: the page's tests take it from `start`."""
    return {name: value for name, value in state.items() if name not in ("config", "providers", "builtInTools")}


@asynccontextmanager
async def recorder(folder: Path, models: Json) -> AsyncIterator[Recorder]:
    """Serve a host of its own whose models answer from a script."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    model = {
        "provider": "scripted",
        "model": str(folder / "script.json"),
        "supportsThinking": True,
        "supportsImages": True,
    }
    every = {"script": {"name": "Script", **model}, **{name: {**model, **fields} for name, fields in models.items()}}
    (home / "models.json").write_text(json.dumps({"defaultModelId": "script", "models": every}), encoding="utf-8")
    async with serve_folder(home) as (_, server):
        made = Recorder(server, folder)
        made.let("Hello", "Hello.")
        yield made


async def recorded(scene: Scene, folder: Path, models: Json) -> Json:
    """Return what the server says in a scene, evened out; once more if midnight came between."""
    for attempt in range(2):
        today, own = date.today(), folder / str(attempt).ljust(PATH - len(str(folder)) - 1, "-")
        assert len(str(own)) == PATH, f"{folder} is too deep"
        own.mkdir()
        async with recorder(own, models) as here:
            await scene(here)
        if today == date.today():
            evening = Evening(own, today)
            evening.all(here.begun)
            return evening.recording(here.said)
    raise AssertionError("two midnights within a minute")


class Evening:
    """Takes out of what was said what is different each time."""

    def __init__(self, folder: Path, today: date) -> None:
        self._folder = folder
        self._ahead = datetime.fromtimestamp(MOMENT, UTC).date() - today
        self._ids: dict[str, str] = {}
        self._hashes: dict[str, int] = {}
        # Where the items of the conversation are that is told of.
        self._places: list[int] = []

    def recording(self, said: Json) -> Json:
        """Return a recording evened out; what a request says of places is about the conversation that it names."""
        places: dict[str, set[int]] = {}
        for item in _items(said):
            places.setdefault(item["conversationId"], set()).add(item["position"])
        evened: Json = {}
        for request, answer in said.items():
            self._places = sorted(places.get("".join(re.findall(r"\bc_\w+", request)), ()))
            evened[self._text(request)] = self.all(answer)
        return evened

    def all(self, value: Any, key: str = "") -> Any:
        """Return a value of JSON evened out; `key` is where it stands."""
        if isinstance(value, dict):
            return {self._text(name): self.all(inner, name) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.all(inner, key) for inner in value]
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, float | int) and not isinstance(value, bool):
            return self._number(value, key)
        return value

    def _number(self, value: float, key: str) -> float:
        if key in PLACES:
            return bisect_left(self._places, value) + 1 if self._places else value
        if key.endswith("Ms") or key in TAKEN:
            return 1
        if key in ("lastSeq", "folderIdentity"):
            return COUNTED
        if abs(value - time.time()) < MONTHS:
            return MOMENT - DAY * round((time.time() - value) / DAY)
        return value

    def _text(self, value: str) -> str:
        if DAYS.fullmatch(value):
            return (date.fromisoformat(value) + self._ahead).isoformat()
        value = HASHES.sub(self._hash, IDS.sub(self._id, value))
        return value.replace(str(self._folder / "home"), "/data").replace(str(self._folder), "/files")

    def _id(self, found: re.Match[str]) -> str:
        if found[0] not in self._ids:
            of_its_kind = sum(known[0] == found[1] for known in self._ids)
            self._ids[found[0]] = f"{found[1]}_{of_its_kind + 1}"
        return self._ids[found[0]]

    def _hash(self, found: re.Match[str]) -> str:
        return f"{self._hashes.setdefault(found[0], len(self._hashes) + 1):0{len(found[0])}x}"


def _items(said: Any) -> Iterator[Json]:
    """Yield every item that is told of, wherever it stands."""
    if isinstance(said, dict) and {"conversationId", "position"} <= said.keys():
        yield said
    for inner in said.values() if isinstance(said, dict) else said if isinstance(said, list) else ():
        yield from _items(inner)


def written(said: Json) -> str:
    """Return a recording as it stands in its file: a line for each answer, so that a change of one is seen."""
    lines = [f"{json.dumps(name)}: {json.dumps(answer, ensure_ascii=False)}" for name, answer in said.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Yield where two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in one | other:
            yield from differences(one.get(name), other.get(name), f"{place}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (first, second) in enumerate(zip(one, other, strict=True)):
            yield from differences(first, second, f"{place}[{number}]")
    elif one != other:
        yield f"{place}: {json.dumps(one)[:200]}, and was {json.dumps(other)[:200]}"
