"""One scripted run with everything in it: thinking, calls, text, several turns; more than forty events."""

from __future__ import annotations

from pathlib import Path

TURNS = 6
ANSWER = "All six steps are done. " * 4

_TURN = """
  - - thinking: Step {n} needs a moment of thought before anything is done about it.
    - text: Working on step {n}.
    - call: {tool}
      arguments: {{thoughts: "step {n}"}}
"""


def write_script(folder: Path, *, tool: str = "think") -> Path:
    """Write the script and return its path; every other turn calls `tool`."""
    turns = "".join(_TURN.format(n=n, tool=tool if n % 2 == 0 else "think") for n in range(1, TURNS))
    path = folder / "everything.yaml"
    path.write_text(f'turns:{turns}\n  - - thinking: Done.\n    - text: "{ANSWER}"\n', encoding="utf-8")
    return path
