"""`pilothouse compare`: one message to several models, from a terminal and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.commands import pilothouse


def model(folder: Path, name: str, *turns: str) -> str:
    """Return the id of a scripted model."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"turns": list(turns)}))
    return f"scripted:{file}"


def test_two_models_answer_one_message_and_one_of_them_is_gone_on_with(home: Path, tmp_path: Path) -> None:
    first, second = model(tmp_path, "first", "North.", "West."), model(tmp_path, "second", "South.")
    shown = pilothouse(home, "compare", "Which way?", "-m", first, "-m", second)
    assert shown.code == 0
    told = shown.out.index("North."), shown.out.index("South.")
    assert told[0] < told[1]
    assert "(branch 1)" in shown.out
    [conversation] = json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"]
    asked = pilothouse(
        home, "compare", "Now?", "-m", first, "-m", second, "--conversation", conversation["id"], "--json"
    )
    found = [json.loads(line) for line in asked.lines]
    assert [(one["branch"], one["answer"]["model"]) for one in found] == [(0, first), (2, second)]
    assert found[0]["answer"]["answer"] == "West."
    assert pilothouse(home, "conversations", "choose", conversation["id"], "2").code == 0


@pytest.mark.parametrize("models", [("first",), ("first", "first"), ("first", "gone")])
def test_what_cannot_be_compared_is_one_sentence_and_leaves_no_conversation(
    home: Path, tmp_path: Path, models: tuple[str, ...]
) -> None:
    names = {"first": model(tmp_path, "first", "North."), "gone": f"scripted:{tmp_path / 'gone.json'}"}
    options = [word for name in models for word in ("-m", names[name])]
    refused = pilothouse(home, "compare", "Which way?", *options)
    assert refused.code == 2
    assert "Traceback" not in refused.err
    assert refused.err.count("\n") <= 2
    assert json.loads(pilothouse(home, "conversations", "list", "--json").out)["conversations"] == []
