"""What `pilothouse documents` says: of topics, of places, of what is no file, and of how it searched."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support.commands import pilothouse
from tests.support.documents import pdf
from tests.support.servers import Server

REPORT = pdf([["Harbour report"], ["Tides"], ["The pelican arrived at noon."]])


@pytest.mark.slow
def test_a_topic_is_named_by_its_name_and_an_unknown_one_is_one_sentence(by_words: Path, tmp_path: Path) -> None:
    (tmp_path / "Report.pdf").write_bytes(REPORT)
    topic = pilothouse(by_words, "topic", "create", "Harbour").lines[0]
    assert pilothouse(by_words, "documents", "add", str(tmp_path / "Report.pdf"), "--topic", "harbour").code == 0
    for named in ("harbour", topic):
        [one] = json.loads(pilothouse(by_words, "documents", "list", "--topic", named, "--json").out)
        assert one["scope"] == {"kind": "topic", "id": topic}
        assert pilothouse(by_words, "documents", "search", "pelican", "--topic", named).code == 0
    for said in (("list",), ("search", "pelican"), ("add", str(tmp_path / "Report.pdf"))):
        unknown = pilothouse(by_words, "documents", *said, "--topic", "Nowhere")
        assert unknown.code == 2
        assert unknown.err == "There is no topic “Nowhere”.\nThere are: Harbour.\n"
        assert not unknown.out


@pytest.mark.slow
def test_a_place_that_a_document_does_not_have_is_one_sentence(by_words: Path, tmp_path: Path) -> None:
    (tmp_path / "Report.pdf").write_bytes(REPORT)
    (tmp_path / "one.pdf").write_bytes(pdf([["Alone"]]))
    (tmp_path / "x.txt").write_text("One.\nTwo.\n", encoding="utf-8")
    added = pilothouse(
        by_words, "documents", "add", *(str(tmp_path / name) for name in ("Report.pdf", "one.pdf", "x.txt"))
    )
    report, one, text = added.lines
    assert "Imported one.pdf (1 page, 6 characters)" in added.err
    for document, place, sentence in (
        (report, ("--page", "99"), "Report.pdf has 3 pages; there is no page 99."),
        (report, ("--page", "0"), "Report.pdf has 3 pages; there is no page 0."),
        (one, ("--page", "2"), "one.pdf has 1 page; there is no page 2."),
        (text, ("--page", "1"), "x.txt has no pages."),
        (text, ("--line", "0"), "x.txt has 2 lines; there is no line 0."),
        (text, ("--line", "3"), "x.txt has 2 lines; there is no line 3."),
    ):
        shown = pilothouse(by_words, "documents", "show", document, *place)
        assert (shown.code, shown.out) == (2, "")
        assert sentence in shown.err
    assert pilothouse(by_words, "documents", "show", report, "--page", "3").lines[0] == "--- page 3 ---"


@pytest.mark.slow
@pytest.mark.parametrize("beside", ["alone", "beside a server"])
def test_what_is_no_file_is_refused_before_it_is_read(home: Path, tmp_path: Path, beside: str) -> None:
    os.mkfifo(tmp_path / "pipe")

    def add() -> None:
        added = pilothouse(home, "documents", "add", "/dev/zero", str(tmp_path / "pipe"), str(tmp_path))
        assert (added.code, added.out) == (2, "")
        assert "/dev/zero is a pipe or a device, not a document. Name a file." in added.err
        assert "pipe is a pipe or a device, not a document." in added.err
        assert f"{tmp_path} is a folder, not a document." in added.err

    if beside == "alone":
        add()
    else:
        with Server(home):
            add()


@pytest.mark.slow
def test_a_search_by_words_alone_says_why_and_one_by_meaning_marks_what_is_only_similar(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text(
        "# Undo\n\nHow to bring back a file that was deleted by mistake.\n", encoding="utf-8"
    )
    assert pilothouse(home, "documents", "add", str(tmp_path / "a.md")).code == 0
    found = pilothouse(home, "documents", "search", "recovering", "removed", "documents")
    assert found.code == 0
    assert found.lines[1].endswith("(similar)")
    assert "by their words" not in found.err
    named = pilothouse(home, "documents", "search", "mistake")
    assert "(similar)" not in named.out
    nothing = pilothouse(home, "documents", "search", "penguin", "strategy")
    assert (nothing.code, nothing.out) == (1, "")
    (home / "config.json").write_text(json.dumps({"embeddings": {"source": "off"}}), encoding="utf-8")
    words = pilothouse(home, "documents", "search", "mistake")
    assert (words.code, len(words.lines)) == (0, 2)
    assert "Texts are searched by their words: finding by meaning is switched off in Settings." in words.err


@pytest.mark.slow
def test_a_document_that_is_given_as_an_image_is_told_where_it_goes(home: Path, tmp_path: Path) -> None:
    (tmp_path / "ok.pdf").write_bytes(REPORT)
    ran = pilothouse(home, "run", "-i", str(tmp_path / "ok.pdf"), "Hello")
    assert ran.code == 2
    assert "ok.pdf is not an image." in ran.err
    assert "pilothouse documents add" in ran.err
