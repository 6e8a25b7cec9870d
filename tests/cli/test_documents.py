"""`pilothouse documents`, and `host.documents` for programs: alone, and beside a running server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilothouse.library import Host
from pilothouse.types.errors import PilothouseError
from tests.support.commands import pilothouse
from tests.support.documents import one_of_each, pdf
from tests.support.servers import Server

REPORT = pdf([["Harbour report", "Nothing here."], ["Tides", "The pelican arrived at noon."]])


@pytest.mark.slow
def test_documents_are_added_listed_found_shown_removed_and_brought_back(home: Path, tmp_path: Path) -> None:
    (tmp_path / "Report.pdf").write_bytes(REPORT)
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    (tmp_path / "notes.md").write_text("# Notes\n\nThe gannet is white.\n", encoding="utf-8")
    files = [str(tmp_path / name) for name in ("Report.pdf", "broken.pdf", "notes.md", "none.txt")]
    added = pilothouse(home, "documents", "add", *files)
    assert added.code == 2
    report, notes = added.lines
    assert "broken.pdf is broken: it is no whole PDF." in added.err
    assert "none.txt cannot be read: no such file or directory." in added.err
    again = pilothouse(home, "documents", "add", files[0])
    assert (again.code, again.lines) == (0, [report])
    assert "was imported before" in again.err
    listed = json.loads(pilothouse(home, "documents", "list", "--json").out)
    assert [one["name"] for one in listed] == ["notes.md", "Report.pdf"]
    assert report in pilothouse(home, "documents", "list").out
    found = pilothouse(home, "documents", "search", "when", "did", "the", "pelican", "arrive")
    assert found.code == 0
    assert found.lines[0].startswith(f"Report.pdf p. 2, line 2 · {report}")
    assert "The pelican arrived at noon." in found.lines[1]
    assert pilothouse(home, "documents", "search", "walrus").code == 1
    shown = pilothouse(home, "documents", "show", report, "--page", "2")
    assert shown.lines == ["--- page 2 ---", "Tides", "The pelican arrived at noon."]
    assert pilothouse(home, "documents", "remove", notes).code == 0
    assert [one["name"] for one in json.loads(pilothouse(home, "documents", "list", "--json").out)] == ["Report.pdf"]
    assert pilothouse(home, "documents", "restore", notes).code == 0
    assert len(json.loads(pilothouse(home, "documents", "list", "--json").out)) == 2
    unknown = pilothouse(home, "documents", "show", "00000000")
    assert (unknown.code != 0, "There is no such document." in unknown.err) == (True, True)


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["alone", "beside a server"])
async def test_a_program_adds_searches_and_reads_documents(home: Path, tmp_path: Path, beside: str) -> None:
    if beside == "alone":
        await _use(home, tmp_path)
    else:
        with Server(home):
            await _use(home, tmp_path)


async def _use(home: Path, tmp_path: Path) -> None:
    (tmp_path / "Report.pdf").write_bytes(REPORT)
    async with Host(home) as host:
        taken = await host.documents.add(tmp_path / "Report.pdf")
        assert (taken.already, taken.document.pages) == (False, 2)
        assert (await host.documents.add(REPORT, "again.pdf")).already
        content, _ = one_of_each()["notes.md"]
        other = (await host.documents.add(content, "notes.md")).document
        [hit] = await host.documents.search("pelican")
        assert (hit.name, hit.page, hit.line) == ("Report.pdf", 2, 2)
        assert not await host.documents.search("pelican", document=other.id)
        assert [each.page async for each in host.documents.passages(taken.document.short_id)] == [1, 2]
        assert await host.documents.file(taken.document.id) == REPORT
        await host.documents.remove(other.id)
        assert [each.id for each in await host.documents.list()] == [taken.document.id]
        await host.documents.restore(other.id)
        assert len(await host.documents.list()) == 2
        with pytest.raises(PilothouseError, match="is empty"):
            await host.documents.add(b"", "nothing.txt")
