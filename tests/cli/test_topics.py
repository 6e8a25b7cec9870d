"""Topics and prompts on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import assert_told
from tests.support.commands import pilothouse


@pytest.fixture
def model(tmp_path: Path) -> str:
    file = tmp_path / "script.json"
    file.write_text(json.dumps({"turns": ["Aye."]}))
    return f"scripted:{file}"


@pytest.mark.case("CHT-15")
def test_topics_are_made_listed_renamed_removed_and_brought_back(home: Path) -> None:
    assert "There are no topics yet." in pilothouse(home, "topic", "list").err
    made = pilothouse(home, "topic", "create", "Garden", "--about", "What grows")
    assert made.code == 0
    topic = made.out.strip()
    assert_told(pilothouse(home, "topic", "create", "garden"), 1, "There is a topic “garden” already.")
    assert pilothouse(home, "topic", "rename", "garden", "Yard").code == 0
    [line] = pilothouse(home, "topic", "list").lines[1:]
    assert line.split() == ["Yard", "0", "0", "0", "0", "What", "grows"]
    removed = pilothouse(home, "topic", "remove", "Yard")
    assert f"pilothouse topic restore {topic}" in " ".join(removed.err.split())
    assert_told(pilothouse(home, "topic", "remove", "Yard"), 2, "There is no topic “Yard”.")
    assert pilothouse(home, "topic", "restore", topic).code == 0
    listed = json.loads(pilothouse(home, "topic", "list", "--json").out)
    assert [each["name"] for each in listed["topics"]] == ["Yard"]


@pytest.mark.case("CHT-15", "CHT-16")
def test_a_run_is_put_into_a_topic_and_has_prompts(home: Path, model: str) -> None:
    assert pilothouse(home, "topic", "create", "Garden").code == 0
    (home / "prompts").mkdir()
    (home / "prompts" / "pirate.md").write_text("You are {{name}} of the {{ship=Albatross}}.")
    options = ("--topic", "garden", "--prompt", "pirate", "--var", "name=Anne", "--mini", "concise")
    done = pilothouse(home, "run", "Hello", "--model", model, *options)
    assert (done.code, done.out.strip()) == (0, "Aye.")
    [found] = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    settings = found["settings"]
    assert settings["systemPrompt"] == "You are Anne of the Albatross."
    assert settings["miniPrompts"] == ["concise"]
    assert settings["topicId"].startswith("t_")
    [line] = pilothouse(home, "topic", "list").lines[1:]
    assert line.split()[:2] == ["Garden", "1"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--topic", "Nowhere"), "There is no topic “Nowhere”."),
        (("--prompt", "nobody"), "There is no prompt “nobody”."),
        (("--mini", "nobody"), "There is no mini prompt “nobody”."),
        (("--var", "a=b"), "There are variables and no prompt."),
        (("--prompt", "teacher", "--var", "ab"), "“ab” is no variable."),
        (("--prompt", "teacher"), "The prompt “teacher” needs a value for: subject."),
        (("--prompt", "teacher", "--system", "x"), "There is a prompt and a system prompt."),
    ],
)
def test_what_there_is_not_is_told_in_a_sentence(home: Path, model: str, options: tuple[str, ...], said: str) -> None:
    done = pilothouse(home, "run", "Hello", "--model", model, *options)
    assert done.code in (1, 2)
    assert said in " ".join(done.err.split())
    assert json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"] == []


@pytest.mark.case("CHT-16")
def test_prompts_are_listed_shown_and_found_for_an_editor(home: Path) -> None:
    listed = pilothouse(home, "prompt", "list")
    assert any(line.split()[:3] == ["teacher", "Teacher", "subject,"] for line in listed.lines)
    assert "as briefly as" in pilothouse(home, "prompt", "show", "concise", "--mini").out
    path = Path(pilothouse(home, "prompt", "edit", "concise", "--mini").out.strip())
    assert path == home / "mini-prompts" / "concise.md"
    path.write_text("---\nbroken")
    broken = pilothouse(home, "prompt", "list", "--mini")
    assert "concise.md begins with “---”" in " ".join(broken.err.split())
    # What comes with the program is there again.
    assert "concise" in broken.out
    assert_told(pilothouse(home, "prompt", "show", "nobody"), 2, "There is no prompt “nobody”.")
