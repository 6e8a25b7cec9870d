"""How many local servers a machine has room for, by its memory and what a container was given of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilothouse.settings.config import memory, usual_local_servers

GB = 1024**3


def machine(root: Path, total: int, group: str = "", **bounds: str) -> Path:
    """Write what a kernel tells: memory in all, the control group, and the bounds in its folders."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(f"MemTotal:       {total // 1024} kB\nMemFree: 1 kB\n")
    (root / "proc/self/cgroup").write_text(group)
    for path, text in bounds.items():
        file = root / "sys/fs/cgroup" / path.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


@pytest.mark.case("CON-31")
@pytest.mark.parametrize(("total", "servers"), [(GB // 2, 4), (2 * GB, 7), (8 * GB, 29), (64 * GB, 50)])
def test_a_quarter_of_the_memory_holds_the_servers(tmp_path: Path, total: int, servers: int) -> None:
    assert usual_local_servers(machine(tmp_path, total)) == servers


@pytest.mark.case("CON-31")
def test_what_a_container_was_given_counts(tmp_path: Path) -> None:
    def files(path: str, name: str) -> dict[str, str]:
        return {f"{path}__{name}": str(2 * GB)}

    inner = machine(tmp_path / "a", 64 * GB, "0::/user/app\n", **files("user__app", "memory.max"))
    assert memory(inner) == 2 * GB
    outer = machine(tmp_path / "b", 64 * GB, "0::/user/app\n", **files("user", "memory.max"), user__app="")
    assert memory(outer) == 2 * GB
    older = "5:cpu:/x\n4:hugetlb,memory:/docker/1\n"
    assert memory(machine(tmp_path / "c", 64 * GB, older, **files("memory", "memory.limit_in_bytes"))) == 2 * GB
    free = machine(tmp_path / "d", 64 * GB, "0::/\n", **{"memory.max": "max\n"})
    assert memory(free) == 64 * GB


def test_this_machine_has_room_for_some() -> None:
    assert memory() > 0
    assert 4 <= usual_local_servers() <= 50
