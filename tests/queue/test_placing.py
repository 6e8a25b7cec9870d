"""Who goes on with a conversation: the process with its terminal, or one that may have its folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from pilothouse.store.connections import Connections
from pilothouse.types.processes import ProcessAbout
from pilothouse.wiring.fleet import Fleet, Here


def _fleet(
    here: Sequence[str] = (), folder: Path | None = None, *, programs: bool = True, **others: ProcessAbout
) -> Fleet:
    async def folder_of(_conversation_id: str) -> str | None:
        return str(folder) if folder is not None else None

    async def needs_programs(_conversation_id: str) -> bool:
        return folder is not None

    execution = SimpleNamespace(slots=4, at_work=0)
    where = Here(lambda: here, folder_of, needs_programs, programs)
    url = "postgresql://nobody@127.0.0.1:1/none"
    made = Fleet(url, Connections(), execution, "p_here", "worker", where)  # type: ignore[arg-type]

    async def beat() -> None:
        pass

    made._liveness = SimpleNamespace(others=others, beat=beat)  # type: ignore[assignment]
    return made


WORKER = ProcessAbout(role="worker", slots=4)
BUSY = ProcessAbout(role="worker", slots=4, at_work=2)
WITHOUT_PROGRAMS = ProcessAbout(role="worker", slots=4, programs=False)
WITH_TERMINAL = ProcessAbout(role="worker", slots=4, terminals=("c_one",))


@pytest.mark.parametrize(
    ("fleet", "declined", "who"),
    [
        (_fleet(), (), None),
        (_fleet(p_a=WORKER), (), None),
        (_fleet(folder=Path("/"), p_a=WORKER, p_b=WITH_TERMINAL), (), "p_b"),
        # It was asked already, and sent it on.
        (_fleet(folder=Path("/"), p_b=WITH_TERMINAL), ("p_b",), None),
        # It is here.
        (_fleet(here=("c_one",), folder=Path("/"), p_a=WORKER, p_b=WORKER), (), None),
        # A process for the page works on nothing, whatever it says.
        (_fleet(folder=Path("/"), p_web=ProcessAbout(role="web", terminals=("c_one",))), (), None),
        # The folder is not on this machine: another may have it.
        (_fleet(folder=Path("/not/there"), p_a=WORKER), (), "p_a"),
        (_fleet(folder=Path("/not/there"), p_a=WORKER), ("p_a",), None),
        (_fleet(folder=Path("/"), p_a=WORKER), (), None),
        # No programs are started here: one that does it and has the most room goes on, if there is one.
        (_fleet(folder=Path("/"), programs=False, p_a=BUSY, p_b=WORKER), (), "p_b"),
        (_fleet(folder=Path("/"), programs=False, p_a=WORKER, p_b=WITH_TERMINAL), (), "p_b"),
        (_fleet(folder=Path("/"), programs=False, p_a=WITHOUT_PROGRAMS), (), None),
        (_fleet(programs=False, p_a=WORKER), (), None),
    ],
)
async def test_a_conversation_goes_on_where_its_terminal_and_folder_are(
    fleet: Fleet, declined: Sequence[str], who: str | None
) -> None:
    assert await fleet._place("c_one", declined) == who
