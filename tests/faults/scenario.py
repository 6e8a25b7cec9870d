"""One scripted run with everything in it: thinking, calls, text, several turns; and an answer that stands still."""

from __future__ import annotations

from pathlib import Path

from tests.support.servers import Server
from tests.support.waiting import until

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


def write_held(folder: Path, text: str, *, said: int = 40) -> Path:
    """Write a script whose answer stands still after so many letters until it is let go; return its path."""
    path = folder / "held.yaml"
    path.write_text(
        f'turns:\n  - - text: "{text}"\n      pieces: {said}\n      every: 600\n      until: {_go(path)}\n',
        encoding="utf-8",
    )
    return path


def begin_held(server: Server, script: Path, text: str = "Go") -> tuple[str, str]:
    """Begin a held answer to a message in a new conversation; return the conversation and the run."""
    conversation = server.post("/api/conversations", {"settings": {"modelId": f"scripted:{script}"}}, 201)["id"]
    run = server.post(f"/api/conversations/{conversation}/messages", {"text": text}, 202)["runId"]
    until(lambda: "word3" in str(server.get(f"/api/conversations/{conversation}?limit=20")), "the answer to begin")
    return str(conversation), str(run)


def let_go(script: Path) -> None:
    """Let answers from such a script go on, from now on without a pause."""
    _go(script).touch()


def hold(script: Path) -> None:
    """Let answers that begin from now on stand still again."""
    _go(script).unlink()


def _go(script: Path) -> Path:
    return script.with_suffix(".go")
