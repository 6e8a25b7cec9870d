"""Writes page/tests/recorded: what the server says to the page, for the page's own tests."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.web import recording
from tests.web.scenes import SCENES


def main(names: list[str]) -> int:
    """Record these scenes, or all."""
    recording.FOLDER.mkdir(exist_ok=True)
    for name in names or SCENES:
        scene, models = SCENES[name]
        with tempfile.TemporaryDirectory() as folder:
            said = asyncio.run(recording.recorded(scene, Path(folder), models))
        (recording.FOLDER / f"{name}.json").write_text(recording.written(said), encoding="utf-8")
        print(f"page/tests/recorded/{name}.json: {len(said)} answers")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
