"""What the page's own tests are told by their server is what the real one says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.web import recording
from tests.web.scenes import SCENES

# Each holds conversations with a whole server.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", SCENES)
async def test_the_server_still_says_what_was_recorded_of_it(name: str, tmp_path: Path) -> None:
    scene, models = SCENES[name]
    kept = json.loads((recording.FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    now = json.loads(recording.written(await recording.recorded(scene, tmp_path, models)))
    assert list(recording.differences(now, kept)) == [], f"run scripts/recordings {name}"


def test_every_recording_has_a_scene() -> None:
    assert {path.stem for path in recording.FOLDER.glob("*.json")} == SCENES.keys()
