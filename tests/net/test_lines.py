"""Lines out of a stream of bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse.net.errors import NetError
from pilothouse.net.lines import Lines, json_lines, sse_data


@given(st.lists(st.binary(max_size=30).map(lambda part: part.replace(b"x", b"\n")), max_size=20))
@pytest.mark.slow
def test_lines_are_the_same_however_the_bytes_are_cut(chunks: list[bytes]) -> None:
    lines = Lines()
    got = [line for chunk in chunks for line in lines.feed(chunk)] + lines.rest()
    whole = b"".join(chunks).split(b"\n")
    assert got == whole[:-1] + ([whole[-1]] if whole[-1].strip() else [])


def test_data_lines_are_found_among_comments_names_and_blanks() -> None:
    stream = [
        b": comment",
        b"event: x",
        b"data: {1}\r",
        b"data:{2}",
        b"data:",
        b"data:  \r",
        b"",
        b"id: 1",
        b"database: 3",
    ]
    assert [data.strip() for data in sse_data(stream)] == [b"{1}", b"{2}"]


def test_blank_lines_hold_no_document() -> None:
    assert json_lines([b"", b"\r", b"{1}\r", b"  "]) == [b"{1}\r"]


def test_a_line_that_never_ends_is_given_up_at_the_cap() -> None:
    lines = Lines(limit=1000)
    for _ in range(100):
        lines.feed(b"x" * 10)
    with pytest.raises(NetError):
        lines.feed(b"x")


def test_a_long_line_below_the_cap_arrives_whole() -> None:
    lines = Lines(limit=1000)
    for _ in range(100):
        assert lines.feed(b"x" * 10) == []
    assert lines.feed(b"\n") == [b"x" * 1000]
