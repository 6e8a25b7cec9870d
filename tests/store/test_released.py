"""Databases of an earlier release, with every kind of item, question and end: they open, show and go on the same."""

from __future__ import annotations

import asyncio
import lzma
import re
from pathlib import Path
from typing import Any

import msgspec
import psycopg

from tests.store.released.opening import FOLDER, given

# What conversations could not be set to then: it is shown as not set, at the end of the settings.
NOT_SET = rb', "topicId": null, "prompt": null, "promptValues": {}, "miniPrompts": []}'


# What was not said then of branches, and of runs: it is shown as the first branch, and as nothing out of the ordinary.
FIRST_BRANCH: list[tuple[str, Any]] = [("branch", 0), ("branches", 0), ("branches", [])]
ORDINARY = [("temperature", None), ("systemPrompt", None), ("replayOf", None), ("beside", None)]


def as_then(value: Any) -> Any:
    """Return what is shown now without what could not be said then, where that is what everything was then."""
    if isinstance(value, list):
        return [as_then(each) for each in value]
    if not isinstance(value, dict):
        return value
    # Of the settings of a conversation two of these names were there already.
    new = [*FIRST_BRANCH, *(ORDINARY if "unattended" in value else ())]
    return {key: as_then(each) for key, each in value.items() if (key, each) not in new}


def kept(name: str) -> bytes:
    return lzma.decompress((FOLDER / f"{name}.xz").read_bytes())


def check(now: bytes, then: bytes) -> None:
    """Fail unless every conversation is shown and sent in the same bytes; say first which is not."""
    read = msgspec.json.Decoder(dict[str, dict[str, msgspec.Raw]]).decode
    before, after = read(re.sub(rb'("modeSince": [0-9.e+]+)}', rb"\1" + NOT_SET, then)), read(now)
    assert list(after) == list(before)
    for title, was in before.items():
        for what in was:
            shown = msgspec.json.encode(as_then(msgspec.json.decode(after[title][what])))
            assert shown == msgspec.json.encode(msgspec.json.decode(was[what])), f"{what} of “{title}”"


async def test_a_sqlite_database_of_an_earlier_release_opens_shows_and_goes_on_the_same(home: Path) -> None:
    await asyncio.to_thread(home.mkdir)
    (home / "pilothouse.db").write_bytes(kept("timeline.db"))
    check(await given(home, None), kept("timeline.db.json"))


async def test_a_postgresql_database_of_an_earlier_release_opens_shows_and_goes_on_the_same(
    home: Path, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(kept("timeline.sql"))
    check(await given(home, postgres_url), kept("timeline.sql.json"))


def test_there_is_every_kind_of_item_question_and_end_in_them() -> None:
    for name in ("timeline.db.json", "timeline.sql.json"):
        snapshots = [entry["snapshot"] for entry in msgspec.json.decode(kept(name)).values()]
        items = [item for snapshot in snapshots for item in snapshot["items"]]
        kinds = {"user_message", "response", "thinking", "tool_call", "tool_summary"}
        kinds |= {"question", "notice", "compaction", "reminder"}
        statuses = {"streaming", "waiting", "completed", "failed", "cancelled", "timed_out", "unknown"}
        found = {(item["kind"], item["status"]) for item in items}
        assert found == {(kind, status) for kind in kinds for status in statuses}
        asked = [(item["data"], item["status"]) for item in items if item["kind"] == "question"]
        questions = {(data.get("mode") or data["kind"], status) for data, status in asked}
        all_kinds = ("approval", "form", "url", "collaboration", "limit")
        assert {(kind, status) for kind in all_kinds for status in ("waiting", "completed")} <= questions
        runs = {run["status"] for snapshot in snapshots for run in snapshot["runs"]}
        assert runs == {"completed", "waiting", "failed", "cancelled", "interrupted"}
