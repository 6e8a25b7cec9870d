"""Calls in a terminal: a server of which nothing is heard is named, and how to stop waiting for it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pilothouse.cli.call_lines import CallLines, no_sign
from pilothouse.types.items import Call


def at_work(**data: Any) -> Call:
    about = {"server": "Slow", "serverTool": "slow.block", "display": "slow.block", "phase": "executing", **data}
    return Call(
        id="i1",
        conversation_id="c1",
        run_id="r1",
        position=1,
        kind="tool_call",
        status="streaming",
        text="",
        raw=about,
        created_at=0.0,
        updated_at=0.0,
    )


@pytest.mark.case("TMO-11", "PRF-03")
@pytest.mark.slow
def test_a_call_of_which_nothing_is_heard_says_so_and_how_to_stop_it() -> None:
    lines, item = CallLines(), at_work()
    lines.begin(item)
    assert "no sign" not in lines.now()
    assert no_sign(item) == ""
    item = at_work(quietSince=time.time() - 34)
    lines.change(item)
    assert lines.now().endswith(", no sign for 34 s; Ctrl+C stops")
    assert no_sign(item) == "· slow.block — no sign for 34 s; Ctrl+C stops"
    lines.change(at_work(quietSince=None))
    assert "no sign" not in lines.now()
