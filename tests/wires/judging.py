"""The judge at work: the program in an environment of its own that has the makers' SDKs."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tests.support.real_servers import MISSING, ROOT
from tests.wires.replies import Foreign, Json, Reply, Wire

HERE = Path(__file__).parent
PYTHON = ROOT / ".cache" / "sdks" / "bin" / "python"
# Fields of dialects: what others who speak the format take beside what its maker does.
DIALECTS: dict[str, tuple[str, ...]] = {
    "chat": (
        *("chat_template_kwargs", "reasoning_content", "reasoning_details", "reasoning", "extra_content"),
        *("thinking_blocks", "provider_specific_fields"),
    ),
    # Models of earlier years take it; the SDK has forgotten them.
    "anthropic": ("temperature",),
    # The server has them, its SDK not yet.
    "ollama": ("tool_call_id", "id"),
}
_UNKNOWN = " is unknown to the SDK"


class Judge:
    """Asks the program, and waits for its word."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def requests(self, wire: Wire | Literal["converse"], bodies: Iterable[Json]) -> list[str]:
        """Return what is wrong with requests, but for fields of dialects."""
        judged = self._judged([{"wire": wire, "request": body} for body in bodies])
        named = [f"request {number}: {each}" for number, found in enumerate(judged) for each in found]
        return [each for each in named if not _is_dialect(wire, each)]

    def replies(self, replies: Iterable[Reply]) -> list[str]:
        """Return what is wrong with the events of answers; those that nobody knows are left out."""
        events = [(reply.wire, event) for reply in replies for event in reply.events if not isinstance(event, Foreign)]
        judged = self._judged([{"wire": wire, "event": event} for wire, event in events])
        return [f"{event}: {each}" for (_, event), found in zip(events, judged, strict=True) for each in found]

    def _judged(self, cases: list[Json]) -> list[list[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(cases) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the judge ended; what it said stands above"
        found: list[list[str]] = json.loads(answer)
        return found


@contextmanager
def judging() -> Iterator[Judge]:
    """Start the judge, and end it."""
    assert PYTHON.is_file(), f"the environment with the makers' SDKs {MISSING}"
    command = [str(PYTHON), str(HERE / "judge.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Judge(process)
        finally:
            process.kill()


def _is_dialect(wire: str, complaint: str) -> bool:
    fields = DIALECTS.get(wire, ())
    return complaint.endswith(tuple(f".{name}{_UNKNOWN}" for name in fields))
