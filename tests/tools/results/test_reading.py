"""Any part of a text: characters, lines, lines that match, places in JSON, rows of tables; always with what is left."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pilothouse.tools.results.reading import Page, Wanted, read, shape
from tests.support.time_growth import growth

ROOM = 1_000
PEOPLE = [{"id": number, "name": f"Person {number}", "note": "x" * 20} for number in range(400)]
CSV = "id,name,note\n" + "".join(f'{row["id"]},{row["name"]},"a, b"\n' for row in PEOPLE)
MARKDOWN = "Some words.\n\n| id | name |\n|---|:--|\n" + "".join(f"| {row['id']} | {row['name']} |\n" for row in PEOPLE)


def page(text: str, room: int = ROOM, **wanted: Any) -> Page:
    return read(Wanted(text=text, room=room, **wanted))


def told(text: str, room: int = ROOM, **wanted: Any) -> str:
    found = page(text, room, **wanted)
    assert not found.code, found.text
    return found.text


def refused(text: str, **wanted: Any) -> str:
    found = page(text, **wanted)
    assert found.code
    assert "\n" not in found.text
    assert found.text.endswith(".")
    return found.text


def test_one_of_something_is_not_called_several() -> None:
    assert told("a\nb\n", pattern="b") == "2: b\n[1 match, all there are from line 1 on.]"
    assert told(CSV, columns=["id"], start_row=399).endswith("[1 row, all there are from row 399 on.]")
    assert refused("one line", start_line=2) == "There is only 1 line."
    assert shape('[{"id": 1}]') == "1 line, JSON: a list of 1 object with id"


def test_a_pattern_that_is_too_long_is_called_a_pattern() -> None:
    assert refused(CSV, pattern="a" * 3_000) == "The pattern has more than 2,000 characters."
    assert refused(CSV, pattern="a" * 3_000, start_row=0) == "The pattern has more than 2,000 characters."


def test_characters_come_page_by_page_and_nothing_is_left_out() -> None:
    text = "".join(chr(0x4E00 + number % 5000) for number in range(4_321))
    read_so_far, offset = "", 0
    for _ in range(20):
        body, _, about = told(text, offset=offset).rpartition("\n")
        read_so_far += body
        on = re.search(r"Go on with offset (\d+)\.", about)
        if on is None:
            break
        assert f"of {len(text):,}" in about
        offset = int(on[1])
    assert read_so_far == text
    assert refused(text, offset=5_000) == "There are only 4,321 characters: the largest `offset` is 4320."


def test_lines_come_as_they_were_asked_for_and_page_by_page() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 1_001))
    assert told(text, start_line=3, end_line=4) == "line 3\nline 4\n\n[Lines 3 to 4 of 1,000. Go on with start_line 5.]"
    lines, start = "", 1
    while True:
        body, _, about = told(text, start_line=start).rpartition("\n")
        lines += body
        on = re.search(r"start_line (\d+)", about)
        if on is None:
            break
        start = int(on[1])
    assert lines == text
    assert refused(text, start_line=2_000) == "There are only 1,000 lines."
    assert refused(text, start_line=50, end_line=2) == "Line 2 is before line 50; lines are counted from 1."
    assert refused(text, end_line=0) == "Line 0 is before line 1; lines are counted from 1."


def test_a_line_longer_than_a_page_is_read_on_by_its_characters() -> None:
    text = "short\n" + "y" * 5_000 + "\nend"
    found = told(text, start_line=2)
    assert found.startswith("y" * ROOM)
    assert found.endswith("[The beginning of line 2. Go on with offset 1006.]")
    assert told(text, offset=1_006).startswith("y" * ROOM)


def test_lines_that_match_come_with_their_numbers_and_say_where_to_go_on() -> None:
    text = "".join(f"{'error' if number % 3 == 0 else 'fine'} {number} ünï\n" for number in range(1, 1_001))
    found, start = [], 1
    while True:
        body, _, about = told(text, pattern="^error", start_line=start).rpartition("\n")
        found += [line.partition(": ") for line in body.splitlines()]
        on = re.search(r"start_line (\d+)", about)
        if on is None:
            break
        start = int(on[1])
    assert [int(number) for number, _, _ in found] == list(range(3, 1_001, 3))
    assert {line for _, _, line in found} == {f"error {number} ünï" for number in range(3, 1_001, 3)}
    assert told(text, pattern="nowhere") == "[Nothing matches “nowhere” from line 1 on.]"


def test_in_one_endless_line_every_place_that_matches_is_found_with_its_offset() -> None:
    text = ("ü" * 3_000 + "needle") * 5
    body = told(text, room=10_000, pattern="needle")
    places = [int(place) for place in re.findall(r"^1 at (\d+): ", body, re.MULTILINE)]
    assert places == [3_000 + number * 3_006 for number in range(5)]
    assert all(text[place:].startswith("needle") for place in places)
    first = told(text, room=300, pattern="needle")
    assert "Go on with start_line 1 and offset 6006." in first
    assert re.findall(r"1 at (\d+)", told(text, room=300, pattern="needle", start_line=1, offset=6_006)) == ["6006"]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+b", "(.*)(.*)(.*)(.*)x"])
def test_a_pattern_that_never_ends_elsewhere_takes_time_that_grows_with_the_text(pattern: str) -> None:
    assert growth(lambda size: lambda: page("a" * size, pattern=pattern), 1_000_000) == ""


def test_a_path_leads_to_a_place_in_json() -> None:
    text = json.dumps({"items": PEOPLE, "odd key.[": {"ü": None}, "at": "2026"})
    assert told(text, path=".items[3].name").startswith("Person 3\n[")
    assert told(text, path="$.items[-1].id").startswith("399\n")
    assert told(text, path='["odd key.["].ü').startswith("null\n")
    assert json.loads(told(text, path="items[2:4]").rpartition("\n")[0]) == PEOPLE[2:4]
    whole = told(text, room=10**6, path=".")
    assert json.loads(whole.rpartition("\n")[0])["at"] == "2026"
    assert "Go on with offset" in told(text, path=".items")


def test_what_is_not_there_is_told_with_what_is() -> None:
    text = json.dumps({"items": PEOPLE})
    assert (
        refused(text, path=".items[3].nme")
        == "There is no “.nme” at .items[3], which is an object with id, name, note."
    )
    assert refused(text, path=".items[400]") == (
        "There is no “[400]” at .items, which is a list of 400 objects with id, name, note."
    )
    assert refused(text, path=".items[x]").startswith("“[x]” is no step of a path.")
    assert refused("Just words, {no} JSON", path=".a").startswith("This is not JSON: ")
    assert refused("[" * 100_000, path=".a").startswith("Th")
    assert refused("x", pattern="(").startswith("The regular expression cannot be used")
    assert refused("no table here", start_row=0).startswith("This is no table")


def test_lines_of_json_are_a_list() -> None:
    text = "\n".join(json.dumps(row) for row in PEOPLE)
    assert told(text, path="[7].name").startswith("Person 7\n")
    assert told(text, path=".", columns=["id"], start_row=398).startswith('["id"]\n398: [398]\n399: [399]\n')


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (CSV, ""),
        (CSV.replace("a, b", "ab").replace(",", "\t"), ""),
        (MARKDOWN, ""),
        (json.dumps(PEOPLE), ""),
        (json.dumps({"a": {"b": PEOPLE}}), ".a.b"),
    ],
    ids=["CSV", "TSV", "Markdown", "JSON", "JSON further in"],
)
def test_rows_and_columns_of_a_table_come_page_by_page(text: str, path: str) -> None:
    names, start = [], 0
    while True:
        head, *rows, about = told(text, path=path, columns=["name"], start_row=start).splitlines()
        assert head == '["name"]'
        names += [json.loads(row.partition(": ")[2])[0] for row in rows]
        on = re.search(r"start_row (\d+)", about)
        if on is None:
            break
        start = int(on[1])
    assert names == [row["name"] for row in PEOPLE]
    # A cell counts also where its column is not shown.
    assert (
        told(text, path=path, columns=["id"], pattern="n 39[0-9]$").splitlines()[1]
        == told(text, path=path, columns=["id"], start_row=390).splitlines()[1]
    )
    matching = told(text, path=path, columns=["name"], pattern="n 39[0-9]$").splitlines()
    assert [row.partition(":")[0] for row in matching[1:-1]] == [str(number) for number in range(390, 400)]
    assert refused(text, path=path, columns=["nme"]).startswith("There is no column “nme”; there are id, name")


def test_a_cell_may_have_commas_quotes_and_line_ends() -> None:
    text = 'a,b\n"1, ""one""","x\ny"\n2,z\n'
    assert (
        told(text, start_row=0)
        == '["a","b"]\n0: ["1, \\"one\\"","x\\ny"]\n1: ["2","z"]\n[2 rows, all there are from row 0 on.]'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("word " * 10, "1 line"),
        ("a\nb\nc\n", "3 lines"),
        (json.dumps(PEOPLE), "1 line, JSON: a list of 400 objects with id, name, note"),
        (json.dumps({"items": [], "next": None}, indent=1), "4 lines, JSON: an object with items, next"),
        (CSV, "401 lines, CSV: 400 rows of id, name, note"),
        (MARKDOWN, "404 lines, Markdown: 400 rows of id, name"),
        ("Here it is:\n\n" + json.dumps(PEOPLE), "3 lines, JSON: a list of 400 objects with id, name, note"),
        ("[INFO] It is there.\n" + json.dumps({"n": 1}), "2 lines, JSON: an object with n"),
        ("Content of people.csv:\n" + CSV, "402 lines, CSV: 400 rows of id, name, note"),
        ("class A\n |  f(x)\n |  ------\n |  It is f.\n", "4 lines"),
        ("|  |  |\n| --- | --- |\n| one | two |\n", "3 lines"),
        ("\n" * 9 + json.dumps(PEOPLE), "10 lines, JSON: a list of 400 objects with id, name, note"),
        ("word\n" * 9 + json.dumps(PEOPLE), "10 lines"),
        ("{ not JSON", "1 line"),
        ("Dear all, this is fine.\nOne, two, three.\nNo table", "3 lines"),
    ],
)
def test_what_a_text_is_is_said_in_a_few_words(text: str, said: str) -> None:
    assert shape(text) == said


def test_lines_around_a_match_come_once_each_and_are_told_from_it() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 101))
    assert told(text, pattern="^line (20|22|50)$", around=2).splitlines() == [
        *("18- line 18", "19- line 19", "20: line 20", "21- line 21", "22: line 22", "23- line 23", "24- line 24"),
        *("48- line 48", "49- line 49", "50: line 50", "51- line 51", "52- line 52"),
        "[3 matches, all there are from line 1 on.]",
    ]
    assert told(text, pattern="^line (1|100)$", around=1).splitlines()[:-1] == [
        *("1: line 1", "2- line 2", "99- line 99", "100: line 100"),
    ]


def test_a_page_with_lines_around_matches_goes_on_at_the_next_match() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 1_001))
    seen: list[int] = []
    start: int | None = 1
    while start is not None:
        body, _, about = told(text, pattern="0$", around=3, start_line=start).rpartition("\n")
        seen += (int(line.partition(":")[0]) for line in body.splitlines() if re.match("[0-9]+:", line))
        on = re.search(r"Go on with start_line (\d+)", about)
        start = int(on[1]) if on else None
    assert seen == list(range(10, 1_001, 10))


def test_a_path_and_columns_lead_into_what_stands_below_a_few_words() -> None:
    lead = "Content type application/json cannot be simplified.\nContents of http://127.0.0.1/people.json:\n"
    assert told(lead + json.dumps(PEOPLE), path="[3].name").startswith("Person 3\n")
    row = told(lead + json.dumps(PEOPLE), columns=["name"], pattern="Person 399").splitlines()[1]
    assert row == '399: ["Person 399"]'
    assert told(lead + CSV, columns=["name"], start_row=399).splitlines()[1] == '399: ["Person 399"]'
