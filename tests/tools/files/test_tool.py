"""The tool as a model gets it."""

from __future__ import annotations

import re

import pytest

from tests.support.files import FileCalls


@pytest.mark.case("FWK-07")
def test_all_sixteen_operations_are_described(at_work: FileCalls) -> None:
    described = re.findall(r"`(\w+)` \(", at_work.tool.spec.description)
    assert len(described) == 16
    assert set(at_work.tool.supported_operations) < set(described)
    assert len(at_work.tool.spec.description) < 2_000


@pytest.mark.case("FIL-17")
def test_only_reading_remains_when_nothing_may_be_written(at_work: FileCalls) -> None:
    limited = at_work.tool.limited(frozenset({"reads"}))
    assert limited is not None
    assert limited.supported_operations == ("read_file", "list_dir")
    assert set(limited.spec.input_schema["properties"]) == {
        "operation",
        "filePath",
        "startLine",
        "endLine",
        "lineNumbers",
        "path",
    }


def test_an_unknown_operation_lists_those_that_exist(at_work: FileCalls) -> None:
    assert at_work.tool.shown({"operation": "format_disk"}).summary == "file_operations"
