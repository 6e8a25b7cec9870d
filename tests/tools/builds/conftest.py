"""A repository with one commit, and the tool on it."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from pilothouse.helper.client import Helper
from tests.support.repositories import make_repository, open_git_tool
from tests.support.terminals import TerminalCalls


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with one commit, to be copied."""
    return make_repository(tmp_path_factory.mktemp("repository"), readme__md="Hello\n", old__txt="old\n")


@pytest.fixture
def work(repository: Path, tmp_path: Path) -> Path:
    return shutil.copytree(repository, tmp_path / "work", symlinks=True)


@pytest_asyncio.fixture
async def builds(home: Path, work: Path, helper: Helper) -> AsyncIterator[TerminalCalls]:
    async with open_git_tool(home, work, helper=helper) as hands:
        yield hands
