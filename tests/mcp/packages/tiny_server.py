"""Servers that are packages of an index on loopback: published, asked about, and asked where they run."""

from __future__ import annotations

import json

import pytest

from pilothouse.types.servers import Consent, ServerInput, ServerView
from tests.support.mcp_hosting import McpHost, text
from tests.support.package_indexes import Indexes
from tests.support.waiting import eventually

# A test for each kind of package.
KINDS = pytest.mark.parametrize("line", ["npx -y tiny-server", "uvx tiny-server"])


def publish(index: Indexes, version: str) -> None:
    """Publish a version of the tiny server on both indexes."""
    index.node("tiny-server", version)
    index.python("tiny-server", version)


async def where(hosted: McpHost, name: str = "tiny-server") -> dict[str, object]:
    """Return what the running server says about itself."""

    async def offered() -> bool:
        return f"{name}.where" in await hosted.tools()

    # npm and uv take seconds where others are at work, too.
    await eventually(offered, f"the tool of {name}", 90)
    said: dict[str, object] = json.loads(text(await hosted.call(f"{name}.where")))
    return said


async def consent_of(hosted: McpHost, line: str) -> tuple[ServerView, Consent]:
    """Add a server; return it with what the person would agree to."""
    view = await hosted.add(ServerInput(command_line=line), agree=False)
    assert view.consent is not None, view.last_error
    return view, view.consent
