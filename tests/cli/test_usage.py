"""What was used and what fills a window, on the command line: tables for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from pathlib import Path

import pytest

from pilothouse.cli.usage import bar
from tests.support.commands import pilothouse
from tests.support.noon import TODAY, YESTERDAY, let_it_be_noon

ADDING = ("models", "add", "--provider", "scripted", "--model", "x")


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """No day ends during a test."""
    let_it_be_noon(monkeypatch)


@pytest.fixture
def used(home: Path, tmp_path: Path) -> Path:
    """Return a home in which a priced model answered once today, and another more yesterday."""
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"turns": [["Hi.", {"usage": {"input": 2_000, "output": 100, "cache_read": 500}}]]}))
    model = ("--provider", "scripted", "--model", str(file), "--name", "Script", "--id", "s")
    assert pilothouse(home, "models", "add", *model, "--prices", "3,15,0.3").code == 0
    assert pilothouse(home, "run", "Hello").code == 0
    with sqlite3.connect(home / "pilothouse.db") as database:
        row = ("local", YESTERDAY, "gone", 4, 90_000, 1_000, 0, 0, 0.0, 0, 3)
        database.execute(f"INSERT INTO usage_days VALUES ({', '.join('?' * len(row))})", row)
    return home


def test_usage_is_a_table_with_a_bar_for_each_day(used: Path) -> None:
    shown = pilothouse(used, "usage")
    assert shown.code == 0
    head, today, yesterday, *_ = shown.lines
    assert head.split() == ["day", "requests", "in", "cached", "out", "cost"]
    assert today.split()[:6] == [TODAY, "1", "2,000", "500", "100", "$0.0062"]
    assert "█" in today
    assert yesterday.split() == [YESTERDAY, "4", "90,000", "0", "1,000"]
    assert "30 days: 5 requests, 92,000 tokens in (500 cached), 1,100 out, about $0.0062; of 4 the price" in shown.out
    # On a terminal of any width.
    assert "; 3 estimated by length." in " ".join(shown.out.split())
    assert "Script" in shown.out
    assert "gone" in shown.out
    assert shown.err.startswith("Prices: litellm ")
    assert "of Script as you set them." in shown.err
    only = pilothouse(used, "usage", "--days", "1").out
    assert "gone" not in only


def test_usage_is_written_for_programs(used: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(pilothouse(used, "usage", "--csv").out)))
    assert [(row["model"], row["name"], row["requests"], row["cost"], row["estimated"]) for row in rows] == [
        ("s", "Script", "1", "0.00615", "0"),
        ("gone", "gone", "4", "", "3"),
    ]
    report = json.loads(pilothouse(used, "usage", "--json", "--days", "2").out)
    assert report["total"]["input"] == 92_000
    assert report["today"]["cost"] == pytest.approx(0.00615)


def test_nothing_that_was_used_is_said_in_a_sentence(home: Path) -> None:
    shown = pilothouse(home, "usage", "--days", "7")
    assert (shown.code, shown.out) == (0, "")
    assert shown.err.startswith("Nothing was used in the last 7 days.\n")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("usage", "--days", "0"), "The number of days is one from 1 to 3,660."),
        (("usage", "--days", "1000000000"), "The number of days is one from 1 to 3,660."),
        (("usage", "--days", "soon"), "a valid integer"),
        (("usage", "--json", "--csv"), "--json and --csv are two ways to print the same."),
        (("conversations", "context", "c_none"), "There is no such conversation."),
        ((*ADDING, "--prices", "nan,1"), "A price is a number from 0"),
        ((*ADDING, "--prices", "-1,1"), "A price is a number from 0"),
        ((*ADDING, "--prices", "3"), "“3” are no prices"),
        ((*ADDING, "--prices", "1,2,3,4,5"), "are no prices"),
        (("settings", "budget_per_day", "nan"), "budget_per_day cannot be “nan”."),
        (("settings", "budget_per_run", "inf"), "budget_per_run cannot be “inf”."),
        (("settings", "budget_per_day", "--", "-1"), "The budget for one day, in dollars, is a number from 0"),
    ],
)
def test_what_is_not_understood_is_said_in_a_sentence(home: Path, typed: tuple[str, ...], said: str) -> None:
    refused = pilothouse(home, *typed)
    assert (refused.code, refused.out) == (2, "")
    assert said in refused.err
    assert "Traceback" not in refused.err
    assert len(refused.err.strip().splitlines()) <= 2


def test_the_context_of_a_conversation_is_shown_without_its_model(used: Path) -> None:
    assert pilothouse(used, "run", "--model", "s", "Chosen for this one").code == 0
    listed = json.loads(pilothouse(used, "conversations", "list", "--json").out)["conversations"]
    [conversation] = [one for one in listed if one["title"] == "Chosen for this one"]
    assert pilothouse(used, *ADDING, "--name", "Other", "--id", "other").code == 0
    assert pilothouse(used, "models", "default", "other").code == 0
    assert pilothouse(used, "models", "remove", "s").code == 0
    shown = pilothouse(used, "conversations", "context", conversation["id"])
    assert (shown.code, shown.lines[0].startswith("s: about 2,0")) == (0, True)
    assert "tokens, as its provider counted." in shown.lines[0]
    assert "So far: 1 request, 2,000 tokens in (500 cached), 100 out, about $0.0062." in shown.out
    assert "There is no model “s”. Choose another one to go on" in shown.err


def test_a_model_s_name_is_one_line_wherever_it_is_told(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"turns": [["Hi.", {"usage": {"input": 2_000, "output": 100}}]]}))
    name = "Two\nlines\x1b[31m \u202eand\tmore"
    model = ("--provider", "scripted", "--model", str(file), "--id", "s", "--prices", "3,15")
    added = pilothouse(home, "models", "add", *model, "--name", name)
    assert (added.code, len(added.lines)) == (0, 1)
    assert json.loads((home / "models.json").read_text())["models"]["s"]["name"] == "Two lines and more"
    # Who writes the file by hand is read the same way.
    raw = json.loads((home / "models.json").read_text())
    raw["models"]["s"]["name"] = name
    (home / "models.json").write_text(json.dumps(raw))
    assert pilothouse(home, "run", "Hello").code == 0
    assert any("Two lines and more" in line for line in pilothouse(home, "models", "list").lines)
    shown = pilothouse(home, "usage")
    assert any(line.endswith("Two lines and more") for line in shown.lines)
    assert "of Two lines and more as you set them" in " ".join(shown.err.split())
    [_, row] = pilothouse(home, "usage", "--csv").lines
    assert next(csv.reader([row]))[2] == "Two lines and more"


def test_the_context_of_a_conversation_is_shown_by_what_it_is(used: Path) -> None:
    [conversation] = json.loads(pilothouse(used, "conversations", "list", "--json").out)["conversations"]
    shown = pilothouse(used, "conversations", "context", conversation["id"])
    assert shown.code == 0
    assert shown.lines[0].startswith("Script: about 2,0")
    assert "of 32,000 tokens (6%), as its provider counted." in shown.lines[0]
    assert "Built-in tools" in shown.out
    assert "So far: 1 request, 2,000 tokens in (500 cached), 100 out, about $0.0062." in shown.out
    assert "Older messages are summed up from 27,200 tokens on." in shown.err
    assert "Prices: $3 in, $15 out per 1M tokens, as you set it." in shown.err
    told = json.loads(pilothouse(used, "conversations", "context", conversation["id"], "--json").out)
    assert told["used"] == sum(part["tokens"] for part in told["parts"])


def test_a_price_is_set_shown_and_taken_back(used: Path) -> None:
    assert "$3 in, $15 out per 1M tokens, as you set it" in pilothouse(used, "models", "list").out
    kept = json.loads((used / "models.json").read_text())["models"]["s"]
    assert kept["prices"] == {"input": 3.0, "output": 15.0, "cacheRead": 0.3}
    assert "$1 in, $2 out" in pilothouse(used, "models", "edit", "s", "--prices", "1,2").out
    assert "$" not in pilothouse(used, "models", "edit", "s", "--prices", "known").out
    assert "prices" not in json.loads((used / "models.json").read_text())["models"]["s"]


def test_what_is_said_to_be_free_costs_nothing_and_is_known_to(used: Path) -> None:
    pilothouse(used, "models", "edit", "s", "--prices", "0,0")
    pilothouse(used, "run", "Once more", "--model", "s")
    days = json.loads(pilothouse(used, "usage", "--json").out)["days"]
    [row] = [each for each in days if each["model"] == "s"]
    assert (row["requests"], row["costKnownFor"]) == (2, 2)
    assert row["cost"] == pytest.approx(0.0062, abs=0.0001)


def test_a_price_in_the_file_that_is_none_is_said_with_its_place(used: Path) -> None:
    file = used / "models.json"
    file.write_text(file.read_text().replace('"input": 3.0', '"input": -3.0'))
    shown = pilothouse(used, "models", "list")
    assert "A price is a number from 0 to 1,000,000" in shown.err


@pytest.mark.parametrize(
    ("size", "most", "drawn"),
    [(0, 10, ""), (10, 10, "█" * 24), (5, 10, "█" * 12), (0.0001, 10, "▏"), (1, 10, "██▍"), (0, 0, "")],
)
def test_a_bar_is_as_long_as_what_it_stands_for(size: float, most: float, drawn: str) -> None:
    assert bar(size, most) == drawn
