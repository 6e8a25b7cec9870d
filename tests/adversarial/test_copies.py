"""Files that say they are backups: each is refused in one sentence, and nothing is changed."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from pilothouse.store import upgrade
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.wiring.backups import back_up, restore
from tests.support.chats import open_chat

Line = Mapping[str, object] | list[object]
HEAD: dict[str, object] = {"pilothouse": "backup", "schema": upgrade.HEAD, "format": 1, "version": "0", "made_at": 0.0}
COLUMNS = ["id", "owner", "title", "title_source", "settings", "created_at", "updated_at", "last_seq"]
ROW: list[object] = ["c_1", "local", "Title", "person", "{}", 1.0, 1.0, 0]


def written(*lines: Line, rows: dict[str, int] | None = None, head: Line = HEAD) -> bytes:
    """Return lines with an end that fits them: only whoever wrote them meant no good."""
    body = b"".join(json.dumps(line).encode() + b"\n" for line in (head, *lines))
    end = {"line": "end", "rows": rows or {}, "sha256": sha256(body).hexdigest()}
    return body + json.dumps(end).encode() + b"\n"


def table(name: str, *rows: list[object], columns: list[str] = COLUMNS) -> bytes:
    return written({"line": "table", "name": name, "columns": columns}, *rows, rows={name: len(rows)})


def a_file(name: str) -> bytes:
    return written({"line": "file", "name": name, "content": "{}"})


def bomb() -> bytes:
    """Return a few hundred kilobytes that are one line without an end."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as sink:
        sink.write(json.dumps(HEAD).encode() + b"\n[")
        for _ in range(limits.COPY_LINE_BYTES // 2**20 + 1):
            sink.write(b"0," * 2**19)
    return packed.getvalue()


def half_a_database() -> bytes:
    """Return the first half of a database file."""
    with closing(sqlite3.connect(":memory:")) as whole:
        whole.execute("CREATE TABLE conversations AS SELECT zeroblob(100000) AS body")
        content = whole.serialize()
    return content[: len(content) // 2]


HOSTILE: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "something else": lambda: os.urandom(4096),
    "something else, compressed": lambda: gzip.compress(os.urandom(4096)),
    "a way out of the folder": lambda: a_file("../../escaped.json"),
    "a whole path": lambda: a_file("/etc/pilothouse-escaped"),
    "a file that is not ours to give": lambda: a_file("secrets/bindings.json"),
    "the same file twice": lambda: written(
        *({"line": "file", "name": "config.json", "content": content} for content in ("{}", "[]"))
    ),
    "a table that does not exist": lambda: table("sqlite_master", ["x"], columns=["name"]),
    "the schema's own table": lambda: table("alembic_version", ["9999"], columns=["version_num"]),
    "who is signed in": lambda: table("sessions", ["h", "local", 9e9], columns=["token_hash", "owner", "expires_at"]),
    "a column that does not exist": lambda: table(
        "conversations", [*ROW, 1], columns=[*COLUMNS, "x); DROP TABLE runs"]
    ),
    "a row that is too short": lambda: table("conversations", ROW[:-1]),
    "a row without a table": lambda: written(ROW),
    "the same row twice": lambda: table("conversations", ROW, ROW),
    "text where a number belongs": lambda: table("conversations", [*ROW[:-1], "many"]),
    "a number that no database takes": lambda: table("conversations", [*ROW[:-1], 2**70]),
    "something nested": lambda: table("conversations", [*ROW[:-1], [[["x"]]]]),
    "half a character": lambda: table("conversations", [*ROW[:2], "\ud800", *ROW[3:]]),
    "an item that is none": lambda: table(
        "items",
        ["i_1", "c_1", 1, None, "response", "completed", "{}"],
        columns=["id", "conversation_id", "position", "run_id", "kind", "status", "body"],
    ),
    "other rows than it counted": lambda: table("conversations", ROW).replace(
        b'"conversations": 1', b'"conversations": 2'
    ),
    "another hash": lambda: table("conversations", ROW).replace(b'"Title"', b'"Other"'),
    "more after its end": lambda: table("conversations", ROW) + b"[]\n",
    "more after its end, compressed": lambda: gzip.compress(table("conversations", ROW)) + b"more",
    "half a database": half_a_database,
    "a line without an end": bomb,
    "single conversations": lambda: written(head={**HEAD, "pilothouse": "conversations"}),
    "a newer schema": lambda: written(head={**HEAD, "schema": "9999"}),
    "a newer form": lambda: written(head={**HEAD, "format": 2}),
}


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return everything below a folder, save logs and locks."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if path.name not in ("lock", "pilothouse.log")
    }


@pytest.fixture
def kept(home: Path) -> Path:
    """A home with a conversation."""

    async def talk() -> None:
        async with open_chat(home, ["Yes."]) as chat:
            await chat.say("Keep me")

    asyncio.run(talk())
    return home


def test_hostile_files_are_refused_in_one_sentence_and_change_nothing(kept: Path, tmp_path: Path) -> None:
    before = tree(tmp_path)
    for what, make in HOSTILE.items():
        file = tmp_path / "hostile"
        file.write_bytes(make())
        with pytest.raises(PilothouseError) as refused:
            restore(file, replace=True)
        file.unlink()
        assert refused.value.code in ("bad_request", "database_newer"), what
        assert "\n" not in refused.value.message
        after = tree(tmp_path)
        assert {name for name in after if after[name] != before.get(name)} <= {"home/backups"}, what
        assert before.keys() <= after.keys()
    assert not Path("/etc/pilothouse-escaped").exists()


def test_an_honest_file_of_the_same_form_is_taken(kept: Path, tmp_path: Path) -> None:
    file = tmp_path / "honest"
    file.write_bytes(table("conversations", ROW))
    assert restore(file, replace=True).conversations == 1


def test_a_link_or_a_pipe_in_the_place_of_a_file_is_not_followed(kept: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path):
        with pytest.raises(PilothouseError, match="is not a file"):
            restore(place, replace=True)
    target = tmp_path / "copy.jsonl.gz"
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / ".copy.jsonl.gz.partial").symlink_to(precious)
    with pytest.raises(PilothouseError, match="cannot be written"):
        back_up(target, replace=False)
    assert precious.read_text() == "mine"


def test_a_file_that_says_more_than_the_disk_has_room_for_is_refused(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = back_up(tmp_path / "copy.jsonl.gz", replace=False)
    monkeypatch.setattr(limits, "LOADING_LEAVES_FREE", 2**60)
    before = tree(tmp_path)
    with pytest.raises(PilothouseError, match="no room on the disk"):
        restore(Path(made.file), replace=True)
    assert tree(tmp_path) == before | {"home/backups": None}


@pytest.mark.case("SECRET-08", "OAUTH-13")
def test_no_key_and_no_sign_in_is_in_a_backup(kept: Path, tmp_path: Path) -> None:
    canary = "canary-4f1c9b"
    (kept / "secrets" / "anything").write_text(canary)
    made = back_up(tmp_path / "copy.jsonl.gz", replace=False)
    assert canary.encode() not in gzip.decompress(Path(made.file).read_bytes())
