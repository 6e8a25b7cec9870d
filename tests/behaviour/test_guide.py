"""What the guide shows for scripts works as it stands there, also the second time."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

from tests.support.servers import ROOT, TOKEN, Server

GUIDE = ROOT / "docs" / "guide" / "server.md"


def example(url: str) -> str:
    """Return the example for a server that is there already, without the line that reads on for ever."""
    [found] = re.findall(r"```sh\n(export PILOTHOUSE_TOKEN.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line for line in found.splitlines() if "export " not in line and " serve " not in line]
    kept = [line for line in lines if "/events" not in line]
    assert len(kept) == len(lines) - 1
    return "\n".join(kept).replace("http://127.0.0.1:7420", url)


def test_the_example_for_scripts_can_be_run_twice(home: Path) -> None:
    with Server(home) as server:
        accepted = []
        for _ in range(2):
            done = subprocess.run(
                ["bash", "-euc", example(server.url)],
                env=dict(os.environ, PILOTHOUSE_TOKEN=TOKEN),
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
            )
            accepted.append(json.loads(done.stdout))
        assert len({one["conversationId"] for one in accepted}) == 2
        for one in accepted:
            server.wait_for_run(one["runId"], "completed", "failed")
            items = server.get(f"/api/conversations/{one['conversationId']}?limit=20")["items"]
            assert [item["text"] for item in items if item["kind"] == "user_message"] == ["Hello"]
