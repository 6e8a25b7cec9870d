"""A run on a real store, for each test that asks for one."""

from __future__ import annotations

from tests.agent.run_bench import bench

__all__ = ["bench"]
