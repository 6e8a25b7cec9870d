"""Checks that a request repeats the one before it and only adds to its end, byte for byte."""

from __future__ import annotations

import re

import msgspec

# Where each wire keeps the conversation; everything else of a body must not change at all.
TALK = ("messages", "contents", "input")
# Anthropic is told anew each time how far to cache; the marks are not part of what is cached.
MARKS = re.compile(rb',"cache_control":\{[^}]*\}')


def parts(body: bytes) -> dict[str, bytes]:
    """Return a body's fields as the bytes they were sent as."""
    fields = msgspec.json.decode(MARKS.sub(b"", body), type=dict[str, msgspec.Raw])
    return {name: bytes(raw) for name, raw in fields.items()}


def check_extends(before: bytes, after: bytes) -> None:
    """Fail unless the later body is the earlier one with more at the end of its conversation."""
    old, new = parts(before), parts(after)
    assert old.keys() == new.keys()
    for name, value in old.items():
        if name in TALK:
            assert value.endswith(b"]")
            assert new[name].startswith(value[:-1] + b","), f"{name} was rewritten"
        else:
            assert new[name] == value, f"{name} changed"
