"""Servers that people really use, called by a model, and shown by the page."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, expect

from tests.browser.approving import add_any, call, open_reviewer, wait_until_connected
from tests.browser.studio import Studio
from tests.support import real_servers
from tests.support.tiny_http import site

PAGE = {"/page": (200, b"<html><body><p>a page of ours</p></body></html>")}
# What the servers that need the network are given before their answer counts as none.
AWAY = {"total": 8}
SLOWEST_MS = 30_000
THOUGHT = {"thought": "one", "nextThoughtNeeded": False, "thoughtNumber": 1, "totalThoughts": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a file in it."""
    place = tmp_path / "place"
    place.mkdir()
    (place / "note.txt").write_text("hello", encoding="utf-8")
    subprocess.run(["git", "init", "-q", place], check=True)
    return place


def _commands(folder: Path) -> dict[str, tuple[list[str], dict[str, Any]]]:
    """Return how each is started, and what its entry has besides."""
    memory = {"plainEnv": {"MEMORY_FILE_PATH": str(folder / "memory.json")}}
    return {
        "everything": (real_servers.everything(), {}),
        "filesystem": (real_servers.filesystem(folder), {}),
        "memory": (real_servers.memory(), memory),
        "thinking": (real_servers.sequential_thinking(), {}),
        "github": (real_servers.github(), {"times": AWAY}),
        "context7": (real_servers.context7(), {"times": AWAY}),
        "git": (real_servers.git(folder), {}),
        "time": (real_servers.time(), {}),
        "fetch": (real_servers.fetch(), {}),
    }


@pytest_asyncio.fixture(loop_scope="session")
async def page_url() -> AsyncIterator[str]:
    """A page of this machine."""
    async with site(PAGE) as page:
        yield f"{page.url}/page"


def _calls(folder: Path, page_url: str) -> dict[str, tuple[dict[str, Any], str]]:
    """Return a call for each, and what its answer says; nothing for those that need the network."""
    return {
        "everything": (call("echo", "everything", message="ahoy"), "Echo: ahoy"),
        "over_http": (call("echo", "over_http", message="by HTTP"), "Echo: by HTTP"),
        "over_sse": (call("echo", "over_sse", message="by events"), "Echo: by events"),
        "filesystem": (call("list_directory", "filesystem", path=str(folder)), "[FILE] note.txt"),
        "memory": (call("read_graph", "memory"), "entities:"),
        "thinking": (call("sequentialthinking", "thinking", **THOUGHT), "thoughtNumber:1"),
        "github": (call("search_repositories", "github", query="x"), ""),
        "context7": (call("resolve-library-id", "context7", query="x", libraryName="x"), ""),
        "git": (call("git_status", "git", repo_path=str(folder)), "note.txt"),
        "time": (call("get_current_time", "time", timezone="UTC"), "UTC"),
        "fetch": (call("fetch", "fetch", url=page_url, raw=True), "a page of ours"),
    }


def _name(server: str, step: dict[str, Any]) -> str:
    """Return a call's tool as people read it."""
    return f"{server}.{step['call'].partition('__')[2]}"


@pytest.mark.case("TST-09", "PLT-05", "PLT-07")
async def test_a_chat_calls_a_tool_on_each_server_and_the_page_shows_it(
    own: Studio, browser_context: BrowserContext, folder: Path, page_url: str
) -> None:
    with ExitStack() as running:
        for name, (argv, more) in _commands(folder).items():
            add_any(own, {"name": name, "commandLine": shlex.join(argv), "cwd": str(folder), **more})
        for name, url in (
            ("over_http", running.enter_context(real_servers.everything_over("streamable"))),
            ("over_sse", running.enter_context(real_servers.everything_over("sse"))),
        ):
            add_any(own, {"name": name, "url": url})
        calls = _calls(folder, page_url)
        wait_until_connected(own, *calls)
        # There are more tools than the model's window has room for.
        names = [_name(server, step) for server, (step, _) in calls.items()]
        reviewer = await open_reviewer(own, browser_context, "Everybody", selection={"pinned": names})
        allow = [f"{name}.*" for name in calls]
        await reviewer.say("Call them all", [step for step, _ in calls.values()], "All were called.", allow=allow)
        await expect(reviewer.chat.answers.last).to_contain_text("All were called.", timeout=SLOWEST_MS)
        await reviewer.chat.open_steps()
        await expect(reviewer.chat.rows("tool_call")).to_have_count(len(calls))
        for name, (step, answer) in calls.items():
            card = await reviewer.opened(_name(name, step))
            # Without a network there are servers that fail, each in its own words.
            await expect(card).to_have_attribute(
                "data-phase", "completed" if answer else re.compile("completed|failed")
            )
            await expect(card.get_by_label("Result", exact=True)).to_contain_text(answer or re.compile(r"\w+"))
