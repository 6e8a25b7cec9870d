"""A studio whose model counts and costs as a test says, and what was used on days before."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.browser.studio import Studio

WINDOW = 128_000
# Dollars for a million tokens.
PRICES = {"input": 3, "output": 15, "cacheRead": 0.3}


def priced(folder: Path, config: Mapping[str, Any] | None = None, **models: Mapping[str, Any]) -> Studio:
    """Return a studio with a model of a known window and price."""
    model = {"name": "Script", "provider": "scripted", "model": str(folder / "script.json"), "supportsThinking": True}
    script = {**model, "contextWindow": WINDOW, "prices": PRICES}
    others = {name: {**model, **fields} for name, fields in models.items()}
    return Studio(folder / "home", config=config, models={"script": script, **others})


def counted(given: int, answer: int = 0, cached: int = 0) -> dict[str, Any]:
    """A step of a script: what the provider counts."""
    return {"usage": {"input": given, "output": answer, "cache_read": cached}}


def day(ago: int) -> str:
    """Return a day as it is kept, by the clock of this machine."""
    now = time.localtime()
    noon = time.mktime((now.tm_year, now.tm_mon, now.tm_mday - ago, 12, 0, 0, 0, 0, -1))
    return time.strftime("%Y-%m-%d", time.localtime(noon))


def used_before(studio: Studio, *rows: tuple[str, str, int, float | None]) -> None:
    """Write down what was used on a day: by which model, how many tokens went in, and what that cost."""
    columns = "owner, day, model, requests, input, output, cache_read, cache_write, cost, cost_known_for, estimated"
    kept = [
        ("local", on, model, 4, given, given // 20, given // 2, 0, cost or 0.0, 0 if cost is None else 4, 0)
        for on, model, given, cost in rows
    ]
    places = ", ".join("?" * len(columns.split(",")))
    with closing(sqlite3.connect(studio.home / "pilothouse.db", timeout=20)) as database, database:
        database.executemany(f"INSERT INTO usage_days ({columns}) VALUES ({places})", kept)
