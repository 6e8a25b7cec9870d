"""A setting that nobody reads does nothing; there is none."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

import msgspec
import pytest

from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.models import ModelConfig
from pilothouse.types.retention import Retention
from pilothouse.types.selection import Selection
from pilothouse.types.servers import Package, ServerEntry, ServerSettings
from pilothouse.types.settings import Profile, Settings
from pilothouse.types.terminals import TerminalSettings
from pilothouse.types.timeouts import ToolTimeouts
from tests.support.source import ROOT, modules

KINDS = (Settings, Profile, Retention, TerminalSettings, ToolTimeouts, ConversationSettings, Selection)
SERVERS = (ServerEntry, ServerSettings, Package)
# They are read by the page alone.
OF_THE_PAGE = {"enter_sends"}


@cache
def read() -> frozenset[str]:
    """Return the name of every attribute that the code reads, whose ever it is."""
    return frozenset(_loads())


def _loads() -> Iterator[str]:
    for module in modules():
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                yield node.attr


@pytest.mark.parametrize("kind", [*KINDS, *SERVERS, ModelConfig])
def test_every_setting_that_is_kept_has_a_reader(kind: type[msgspec.Struct]) -> None:
    assert [name for name in kind.__struct_fields__ if name not in read() | OF_THE_PAGE] == []


def test_what_the_page_alone_reads_it_reads() -> None:
    sources = [file for file in (ROOT / "page/src").rglob("*.ts*") if file.name != "schema.d.ts"]
    text = "\n".join(file.read_text(encoding="utf-8") for file in sources)
    for name in OF_THE_PAGE:
        humps = re.sub("_(.)", lambda match: match[1].upper(), name)
        assert f"config?.{humps}" in text or f"config.{humps}" in text
