"""`pilothouse policy`, `grants`, `approvals` and `audit`: real commands."""

from __future__ import annotations

import json
import re
import sqlite3
from pathlib import Path

import pytest

from tests.cli.conftest import Script
from tests.support.commands import Outcome, Screen, pilothouse, server

TERMINAL = "terminal_operations.run_command"


def told(done: Outcome, code: int, *parts: str) -> None:
    assert done.code == code, done
    assert "Traceback" not in done.err
    for part in parts:
        assert part in done.err + done.out, done


@pytest.mark.case("ATZ-15")
def test_rules_are_added_listed_tried_and_removed(home: Path) -> None:
    added = pilothouse(
        home, "policy", "add", "allow", "--tool", "terminal_operations.*", "--command", "git log *",
        "--match", "git log main", "--not-match", "git log; rm x", "--note", "History is fine",
    )  # fmt: skip
    assert (added.code, added.out) == (0, "rule-1\n"), added
    assert pilothouse(home, "policy", "add", "deny", "--command", "git push").out == "rule-2\n"
    listed = pilothouse(home, "policy", "list")
    told(listed, 0, "terminal_operations.* runs git log *", "(History is fine)", "any tool runs git push")
    assert pilothouse(home, "policy", "check", TERMINAL, "--command", "git log main").out == "allow  rule-1\n"
    assert pilothouse(home, "policy", "check", TERMINAL, "--command", "git push -f").out == "deny  rule-2\n"
    checked = json.loads(pilothouse(home, "policy", "check", TERMINAL, "--command", "git push -f", "--json").out)
    assert (checked["verdict"], checked["rule"]) == ("deny", "rule-2")
    asked = pilothouse(home, "policy", "check", TERMINAL, "--command", "git log main; ls")
    told(asked, 0, "no rule", "No rule speaks about it")
    assert pilothouse(home, "policy", "remove", "rule-2").code == 0
    told(pilothouse(home, "policy", "remove", "rule-2"), 2, "There is no rule rule-2.")
    assert [rule["id"] for rule in json.loads(pilothouse(home, "policy", "list", "--json").out)["rules"]] == ["rule-1"]


@pytest.mark.case("ATZ-15")
def test_a_rule_that_cannot_be_kept_is_refused_in_one_sentence(home: Path) -> None:
    told(pilothouse(home, "policy", "add", "allow"), 2, "Not everything can be allowed.")
    told(pilothouse(home, "policy", "add", "allow", "--command", "git log; rm x"), 2, "is more than one command")
    told(pilothouse(home, "policy", "add", "allow", "--command", "git log && rm x"), 2, "is more than one command")
    told(pilothouse(home, "policy", "add", "allow", "--command", "find *"), 2, "allow its exact words")
    told(pilothouse(home, "policy", "add", "allow", "--command", "git 'x"), 2, "a quote that is not closed")
    wrong = pilothouse(home, "policy", "add", "allow", "--tool", "x.y", "--path", "src/**", "--match", "docs/a")
    told(wrong, 2, "Rule “rule-1” should be about its example 1 (x.y, docs/a), and is not.")
    told(pilothouse(home, "policy", "list"), 0, "There are no rules yet.")


@pytest.mark.case("AUTHZ-08")
def test_a_broken_file_of_rules_is_shown_and_not_overwritten(home: Path) -> None:
    pilothouse(home, "policy", "add", "deny", "--command", "git push")
    (home / "policy.json").write_text('{\n  "rules": [\n    {"id": 1}\n  ]\n}\n')
    told(pilothouse(home, "policy", "list"), 0, "policy.json, line 3", "nothing is allowed by rule", "git push")
    told(pilothouse(home, "policy", "add", "deny", "--command", "rm *"), 1, "cannot be read", "Mend it first.")
    assert '{"id": 1}' in (home / "policy.json").read_text()


def waiting(home: Path, script: Script) -> tuple[str, str]:
    """Let a run ask about a write outside its folder; return the conversation and the question."""
    model = script(
        "- [{call: file_operations, arguments: {operation: create_file, filePath: a.txt, content: x}}]\n- Ok."
    )
    folder = home.parent / "work"
    folder.mkdir(exist_ok=True)
    done = pilothouse(home, "run", "--json", "-m", model, "--folder", str(folder), "--mode", "ask", "Write it")
    assert done.code == 3, done
    items = [event["item"] for event in map(json.loads, done.lines) if event.get("type") == "item.created"]
    (question,) = (item for item in items if item["kind"] == "question")
    return question["conversationId"], question["id"]


@pytest.mark.case("ATZ-06", "AUTHZ-09")
def test_what_waits_is_listed_and_permissions_are_given_and_withdrawn(home: Path, script: Script) -> None:
    told(pilothouse(home, "approvals"), 0, "Nothing waits for you.")
    conversation, question = waiting(home, script)
    told(pilothouse(home, "approvals"), 0, question, "Write it")
    listed = pilothouse(home, "answer", "--json")
    assert (listed.code, json.loads(listed.out)["pending"][0]["itemId"]) == (3, question)
    assert pilothouse(home, "approvals", "--json").out == listed.out
    given = pilothouse(
        home, "grants", "give", conversation, "--tool", "file_operations.create_file", "--path", "src/**", "--for", "1h"
    )
    assert given.code == 0, given
    grant = given.out.strip()
    told(pilothouse(home, "grants", "list"), 0, grant, conversation, "once", "at src/**")
    told(pilothouse(home, "grants", "revoke", grant), 0, "Withdrawn")
    told(pilothouse(home, "grants", "list", "--conversation", conversation), 0, "Nothing is allowed in a conversation.")
    told(pilothouse(home, "grants", "list", "--conversation", "c_none"), 2, "no such conversation")
    told(pilothouse(home, "grants", "revoke", "g_none"), 2, "There is no such permission.")
    told(pilothouse(home, "grants", "give", conversation, "--tool", "a.b", "--for", "soon"), 2, "is not a duration")
    told(pilothouse(home, "grants", "give", conversation, "--many"), 2, "Not everything can be allowed")
    told(pilothouse(home, "grants", "give", "c_none", "--tool", "a.b"), 2, "There is no such conversation.")


def test_choices_line_up_and_what_an_answer_changed_can_be_put_back(home: Path, script: Script) -> None:
    _, question = waiting(home, script)
    choices = [line for line in pilothouse(home, "answer").lines if line.startswith("  pilothouse answer")]
    labels = ("Allow once", "For this task", "For 30", "In this", "Always", "Deny")
    assert len({line.index(label) for line, label in zip(choices, labels, strict=True)}) == 1
    answered = pilothouse(home, "answer", question, "allow")
    assert (answered.code, answered.out) == (0, "Ok.\n")
    assert (found := re.fullmatch(r"It changed 1 file. Put back: pilothouse undo (r_\w+)\n", answered.err)), answered
    assert (home.parent / "work" / "a.txt").exists()
    assert pilothouse(home, "undo", found[1]).code == 0
    assert not (home.parent / "work" / "a.txt").exists()


def test_an_answer_for_this_task_lets_the_run_go_on_and_ends_with_it(home: Path, script: Script) -> None:
    _, question = waiting(home, script)
    answered = pilothouse(home, "answer", question, "task")
    assert (answered.code, answered.out) == (0, "Ok.\n"), answered
    assert (home.parent / "work" / "a.txt").exists()
    told(pilothouse(home, "grants", "list"), 0, "Nothing is allowed in a conversation.")


def test_a_run_that_fails_after_it_changed_files_says_how_to_put_them_back(home: Path, script: Script) -> None:
    call = "{call: file_operations, arguments: {operation: create_file, filePath: a.txt, content: x}}"
    model = script(f"- [{call}]\n- [{{fault: 401}}]")
    (folder := home.parent / "work").mkdir()
    failed = pilothouse(home, "run", "-m", model, "--folder", str(folder), "--mode", "auto_edit", "Write it")
    told(failed, 1, "It changed 1 file. Put back: pilothouse undo r_")


@pytest.mark.slow
def test_a_question_that_is_left_open_is_shown_once(home: Path, script: Script) -> None:
    call = "{call: file_operations, arguments: {operation: create_file, filePath: a.txt, content: x}}"
    (folder := home.parent / "work").mkdir()
    talk = ["run", "-m", script(f"- [{call}]"), "--folder", str(folder), "--mode", "ask", "Write it"]
    with Screen(home, talk) as screen:
        screen.until("d  Deny")
        screen.until("›")
        screen.type("\x03")
        assert screen.ended() == 3
        assert screen.text.count("It changes files.") == 2
        assert "pilothouse answer i_" in screen.text


@pytest.mark.case("LOG-01")
def test_the_record_is_exported_and_a_change_of_it_is_found(home: Path, script: Script) -> None:
    conversation, _ = waiting(home, script)
    exported = pilothouse(home, "audit", "export")
    record = json.loads(exported.out)
    assert [entry["operation"] for entry in record["entries"]] == ["file_operations.create_file"]
    (kept := home.parent / "record.json").write_text(exported.out)
    told(pilothouse(home, "audit", "verify", "--against", str(kept)), 0, "1 conversation,", "all as they were written")
    head, events = record["checks"][0]["head"], record["checks"][0]["events"]
    assert re.fullmatch(r"[0-9a-f]{64}", head)
    # Whoever cuts the end off, and says that there never was more, is found out by what was exported.
    with sqlite3.connect(home / "pilothouse.db") as database:
        database.execute("DELETE FROM events WHERE seq = ?", (events,))
        database.execute("UPDATE conversations SET last_seq = ?", (events - 1,))
    database.close()
    assert pilothouse(home, "audit", "verify").code == 0
    told(pilothouse(home, "audit", "verify", "--against", str(kept)), 1, f"{conversation}: what was exported")
    with sqlite3.connect(home / "pilothouse.db") as database:
        database.execute("UPDATE events SET body = replace(body, 'a.txt', 'b.txt')")
    database.close()
    told(pilothouse(home, "audit", "verify", "--conversation", conversation), 1, "is not as it was written")
    told(pilothouse(home, "audit", "verify", "--against", str(home / "models.json")), 2, "is not a record")


@pytest.mark.slow
@pytest.mark.case("ATZ-15")
def test_the_same_commands_ask_a_running_server(home: Path) -> None:
    with server(home):
        assert pilothouse(home, "policy", "add", "deny", "--command", "git push").out == "rule-1\n"
        assert pilothouse(home, "policy", "check", TERMINAL, "--command", "git push").out == "deny  rule-1\n"
        told(pilothouse(home, "policy", "replay"), 0, "There are no calls yet")
        other = home.parent / "rules.json"
        other.write_text('{"rules": [{"id": "a", "verdict": "ask", "pattern": {}}]}')
        told(pilothouse(home, "policy", "replay", str(other)), 0, "There are no calls yet")
        other.write_text("{")
        told(pilothouse(home, "policy", "replay", str(other)), 2, "cannot be read: it is not JSON.")
        told(pilothouse(home, "grants", "list"), 0, "Nothing is allowed in a conversation.")
        told(pilothouse(home, "approvals"), 0, "Nothing waits for you.")
        told(pilothouse(home, "audit", "verify"), 0, "0 conversations")
