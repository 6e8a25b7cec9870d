"""Where MCP servers are found: two registries and an index of packages, also as a program that stands beside the tests.

What listens in the tests' own process is counted as left behind while a request of the product is on its way to it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.mcp_gateway import Streamable
from tests.support.package_indexes import Indexes, indexes
from tests.support.registry_server import (
    OfficialServer,
    SmitheryServer,
    npm,
    official_entry,
    registry_addresses,
    remote,
    smithery_details,
    smithery_entry,
)
from tests.support.tiny_http import Answer, Request, TinyHttp

Json = dict[str, Any]
KEY = "a-key-of-the-harbour-office"
TIDES = "io.github.harbour/tides"


def tides(url: str, **more: Any) -> Json:
    """Return a server at an address that wants a key, as the official registry lists it."""
    header = {
        "name": "X-Tides-Key",
        "description": "A key of the harbour office. Get one at https://harbour.example/keys",
        "isSecret": True,
        "isRequired": True,
    }
    given = {"title": "Tide tables", "remotes": [remote(url, headers=[header])], **more}
    return official_entry(TIDES, "High and low water for every harbour.", version="2.1.0", **given)


# One that is like the tides, one that is not to be used any more, one with long words, and one that is a package.
MARKUP = "<b>Bold</b> <img src=x onerror=alert(1)> \u202ereversed"
LONG = "landing-" * 12
OTHERS = (
    official_entry("io.github.other/tide", title="Neap tide", remotes=[remote("https://other.example/mcp")]),
    official_entry(
        "io.github.old/jetty",
        MARKUP,
        title="Jetty <i>old</i>",
        status="deprecated",
        meta={"statusMessage": "Use tides."},
        remotes=[remote("https://old.example/mcp")],
    ),
    official_entry(
        f"io.github.long/{LONG}", "Words " * 30, title=LONG, remotes=[remote(f"https://{LONG[:40]}.example/{LONG}")]
    ),
    official_entry("io.github.tiny/server", title="Tiny", packages=[npm("tiny-server", "1.0.0")]),
)
MOORING = smithery_entry("@quay/mooring", "Finds a berth for the night.", title="Mooring", verified=True, uses=12_431)

CHARTS = smithery_entry("@quay/charts", "Reads charts.", title="Charts")
CHART_SETTINGS = {
    "type": "object",
    "required": ["chartFolders", "apiKey"],
    "properties": {
        "apiKey": {"type": "string", "title": "Chart key", "description": "Your key."},
        "chartFolders": {"type": "array", "items": {"type": "string"}, "title": "Chart folders"},
        "units": {"type": "string", "enum": ["feet", "metres"], "default": "metres", "title": "Units"},
        "night": {"type": "boolean", "title": "Night colours"},
    },
}


@dataclass
class Registries:
    """What a test can change in them while they run."""

    smithery: SmitheryServer
    index: Indexes


def _guarded(behind: Streamable) -> Callable[[Request], Answer]:
    """Answer to the key only."""
    return lambda request: behind(request) if request.headers.get("x-tides-key") == KEY else Answer(401)


@asynccontextmanager
async def registries(patch: pytest.MonkeyPatch) -> AsyncIterator[Registries]:
    """Registries and an index with one package, to which the environment leads."""
    details = [smithery_details(CHARTS, schema=CHART_SETTINGS)]
    async with (
        TinyHttp(_guarded(Streamable())) as gateway,
        OfficialServer([tides(f"{gateway.url}/mcp"), *OTHERS]) as official,
        SmitheryServer([MOORING, CHARTS], details) as smithery,
        indexes(patch) as index,
    ):
        index.node("tiny-server", "1.0.0")
        patch.setenv("PILOTHOUSE_REGISTRIES", registry_addresses(official=official, smithery=smithery))
        yield Registries(smithery, index)


@contextmanager
def registries_beside(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same in a process of their own."""
    command = [sys.executable, "-m", "tests.browser.registries"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for name, value in json.loads(program.stdout.readline()).items():
            if value is None:
                patch.delenv(name, raising=False)
            else:
                patch.setenv(name, value)
        try:
            yield
        finally:
            # It ends with its input.
            program.stdin.close()


async def _serve() -> None:
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        async with registries(patch):
            names = before.keys() | os.environ.keys()
            told = {name: os.environ.get(name) for name in names if os.environ.get(name) != before.get(name)}
            print(json.dumps(told), flush=True)
            await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
