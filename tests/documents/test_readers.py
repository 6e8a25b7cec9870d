"""Files of every kind become pages, lines and sections; read in the helper process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pilothouse.documents.importing import ReadDocument, read_document
from pilothouse.types import limits
from pilothouse.types.documents import Passage
from tests.support.documents import docx, docx_of, one_of_each, pdf, pptx, xlsx


def read(tmp_path: Path, name: str, content: bytes) -> ReadDocument:
    file = tmp_path / "given"
    file.write_bytes(content)
    return read_document(file, name)


def lines_of(passages: list[Passage]) -> dict[tuple[int | None, int], str]:
    """Return the text by page and line, put together from the passages."""
    found: dict[tuple[int | None, int], str] = {}
    for each in passages:
        for offset, line in enumerate(each.text.split("\n")):
            place = (each.page, each.line + offset)
            found[place] = found.get(place, "") + line
    return found


@pytest.mark.case("UTL-16")
@pytest.mark.parametrize("name", one_of_each())
def test_every_kind_of_file_is_read(tmp_path: Path, name: str) -> None:
    content, word = one_of_each()[name]
    found = read(tmp_path, name, content)
    assert word in " ".join(each.text for each in found.passages)
    assert found.characters > 10
    assert not found.note
    assert found.preview


def test_pages_and_lines_of_a_pdf_are_kept_and_its_outline_names_sections(tmp_path: Path) -> None:
    pages = [["Introduction", "First words."], ["Still the introduction."], ["The tide", "It rises at six."]]
    found = read(tmp_path, "x.pdf", pdf(pages, outline=[("Introduction", 0), ("The tide", 2)]))
    assert found.pages == 3
    assert lines_of(found.passages)[3, 2] == "It rises at six."
    assert [(each.page, each.line, each.section) for each in found.passages] == [
        (1, 1, "Introduction"),
        (2, 1, "Introduction"),
        (3, 1, "The tide"),
    ]


def test_a_word_document_has_headings_tables_and_pages(tmp_path: Path) -> None:
    cell = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    table = f"<w:tbl><w:tr>{cell.format('tide')}{cell.format('06:10')}</w:tr></w:tbl>"
    words = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    heading = '<w:p><w:pPr><w:pStyle w:val="H{}"/></w:pPr><w:r><w:t>{}</w:t></w:r></w:p>'
    page = '<w:p><w:r><w:br w:type="page"/></w:r></w:p>'
    long = "word " * 60
    body = heading.format(1, "Ports") + words.format(long) + heading.format(2, "Tides") + table + page
    found = read(tmp_path, "x.docx", docx_of(body + words.format("On the second page.")))
    sections = {each.section for each in found.passages}
    assert {"Ports", "Ports › Tides"} <= sections
    assert "tide | 06:10" in lines_of(found.passages).values()
    assert found.pages == 2
    [last] = [each for each in found.passages if each.page == 2]
    assert last.text == "On the second page."
    assert all(len(line) <= limits.DOCUMENT_LINE_CHARS for line in lines_of(found.passages).values())


def test_what_word_writes_twice_for_older_programs_is_read_once(tmp_path: Path) -> None:
    text = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
    names = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    twice = (
        f"<mc:AlternateContent {names}><mc:Choice>{{}}</mc:Choice><mc:Fallback>{{}}</mc:Fallback></mc:AlternateContent>"
    )
    once = text.format("box")
    found = read(tmp_path, "x.docx", docx_of(text.format("before") + twice.format(once, once)))
    assert " ".join(found.passages[0].text.split()) == "before box"


def test_slides_are_pages_with_their_titles_and_notes(tmp_path: Path) -> None:
    found = read(tmp_path, "x.pptx", pptx([("Start", ["Hello"]), ("End", ["Bye"])], notes="Smile."))
    assert found.pages == 2
    first, second = found.passages
    assert (first.page, first.section) == (1, "Start")
    assert "Notes:\nSmile." in first.text
    assert (second.page, second.section) == (2, "End")


def test_a_row_of_a_sheet_is_the_line_that_a_person_sees(tmp_path: Path) -> None:
    rows: list[list[str | float | None]] = [["day", "euro"], [46343, 12.5], [None, None], ["total", 3]]
    found = read(tmp_path, "x.xlsx", xlsx({"Costs": rows, "Other": [["x"]]}, dates=[0]))
    lines = lines_of(found.passages)
    assert lines[1, 1] == "day | euro"
    assert lines[1, 2] == "2026-11-17 | 12.5"
    assert lines[1, 4] == "total | 3"
    assert [each.section for each in found.passages] == ["Sheet Costs", "Sheet Other"]


def test_of_a_web_page_only_what_is_seen_is_read(tmp_path: Path) -> None:
    page = b"""<!doctype html><html><head><title>The title</title><style>p{}</style></head><body>
    <script>alert(1)</script><h1>Head</h1><p>One
    line.</p><ul><li>first<li>second</ul><table><tr><td>a<td>b</tr></table><pre>x
  y</pre></body></html>"""
    found = read(tmp_path, "saved", page)
    assert found.kind == "html"
    text = "\n".join(each.text for each in found.passages)
    assert "alert" not in text
    assert "p{}" not in text
    for line in ("The title", "Head", "One line.", "- first", "- second", "a | b", "x", "  y"):
        assert line in text.split("\n")


def test_lines_of_text_keep_their_numbers_and_nothing_is_lost(tmp_path: Path) -> None:
    words = [f"Line {number} of a long text with some words in it." for number in range(1, 2_001)]
    words[700] = ""
    words[900] = "x" * 5_000
    found = read(tmp_path, "x.txt", "\r\n".join(words).encode("utf-16"))
    kept = {place: line for place, line in lines_of(found.passages).items() if line}
    assert kept == {(None, at): line for at, line in enumerate(words, 1) if line}
    sizes = [len(each.text.split()) for each in found.passages]
    assert max(sizes) <= limits.PASSAGE_WORDS * 1.3
    assert max(len(each.text) for each in found.passages) <= limits.DOCUMENT_PASSAGE_CHARS + 1


def test_sections_of_markdown_are_its_headings_and_not_what_stands_in_code(tmp_path: Path) -> None:
    text = "# One\n" + "word " * 50 + "\n```\n# no heading\n```\nTwo\n---\n" + "more " * 50
    found = read(tmp_path, "x.md", text.encode())
    assert [each.section for each in found.passages] == ["One", "One › Two"]


def test_a_file_is_known_by_its_content_whatever_it_is_called(tmp_path: Path) -> None:
    assert read(tmp_path, "report.txt", pdf([["Hello"]])).kind == "pdf"
    assert read(tmp_path, "report.pdf", b"# only text").kind == "code"
    assert read(tmp_path, "report.pdf", docx(["Hello"])).kind == "word"


def test_the_library_for_pdf_is_never_loaded_by_the_host() -> None:
    program = (
        "import sys, pilothouse.documents.service, pilothouse.documents.shelf, pilothouse.wiring.host\n"
        "sys.exit('pypdfium2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


HIDDEN = [
    '<div style="display:none">secret <div>secret</div> secret</div>',
    '<p style="color:red; VISIBILITY : hidden">secret</p>',
    "<span hidden>secret</span>",
    "<ul><li hidden>secret<ul><li>secret</ul>secret<li>seen too</ul>",
    "<p style='font-size:0'>secret<p>seen too",
    '<section aria-hidden="true"><h2>secret</h2></section>',
    '<div><p style="display&#58;none">secret</div>',
    "<table><tr hidden><td>secret<td>secret<tr><td>seen too</table>",
]


@pytest.mark.parametrize("markup", HIDDEN)
def test_what_a_page_hides_is_left_out_and_that_is_said(tmp_path: Path, markup: str) -> None:
    page = f"<!doctype html><body><p>Seen before.</p>{markup}<p>Seen after.</p><input hidden>And the end."
    found = read(tmp_path, "x.html", page.encode())
    text = "\n".join(each.text for each in found.passages)
    assert "secret" not in text
    for seen in ("Seen before.", "Seen after.", "And the end.", *(["seen too"] if "seen too" in markup else [])):
        assert seen in text
    hidden = markup.count("secret") * len("secret")
    assert found.note == f"{hidden:,} characters that no reader of the page sees were left out."


@pytest.mark.slow
def test_a_very_long_line_of_large_characters_is_read(tmp_path: Path) -> None:
    found = read(tmp_path, "x.txt", "\N{BIRD}".encode() * 3_000_000)
    assert lines_of(found.passages) == {(None, 1): "\N{BIRD}" * 3_000_000}


def test_a_text_of_ten_megabytes_in_one_line_is_cut(tmp_path: Path) -> None:
    found = read(tmp_path, "x.txt", b"x" * 10_000_000)
    assert found.note == f"Only the first {limits.DOCUMENT_CHARS:,} characters were read."
    assert found.lines == 1
    assert {each.line for each in found.passages} == {1}
    assert sum(len(each.text) for each in found.passages) >= limits.DOCUMENT_CHARS


def test_lines_behind_a_very_long_one_keep_their_numbers(tmp_path: Path) -> None:
    long = "abcdefghij" * 70_000
    found = read(tmp_path, "x.txt", f"First.\n{long}\nThird.\n".encode())
    assert lines_of(found.passages) == {(None, 1): "First.", (None, 2): long, (None, 3): "Third."}
    assert found.lines == 3


def test_only_of_what_may_be_pictures_it_is_said_that_it_may_be(tmp_path: Path) -> None:
    assert read(tmp_path, "spaces.txt", b"  \n \n").note == "No text was found in it."
    assert "may be pictures" in read(tmp_path, "x.pdf", pdf([[]])).note
