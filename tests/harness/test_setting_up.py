"""The scripts of the repository work in any folder, and with a home that cannot be written to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts import page_build

ROOT = Path(__file__).parents[2]
# A script in there names its interpreter in its first line, which cannot be done for a path with a space.
STARTED = re.compile(r"""\.venv/bin/(?!python\b)\w+|BIN / "(?!python")""")


def test_npm_keeps_its_downloads_in_the_repository_when_the_home_folder_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("npm_config_cache", raising=False)
    monkeypatch.setenv("HOME", "/dev/null")
    assert page_build.npm_cache() == {"npm_config_cache": str(ROOT / ".cache" / "npm")}
    monkeypatch.setenv("HOME", str(tmp_path))
    assert page_build.npm_cache() == {}
    monkeypatch.setenv("HOME", "/dev/null")
    monkeypatch.setenv("NPM_CONFIG_CACHE", "/chosen")
    assert page_build.npm_cache() == {}


def test_no_script_starts_an_installed_tool_by_its_own_script() -> None:
    named = {path.name: STARTED.findall(path.read_text()) for path in (ROOT / "scripts").iterdir() if path.is_file()}
    assert {name: found for name, found in named.items() if found} == {}
