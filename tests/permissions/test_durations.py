"""Lengths of time as people write them, and permissions that end by two clocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilothouse.permissions.grants import Expiry
from pilothouse.types.authority import Pattern
from pilothouse.types.durations import seconds_of, words_of
from pilothouse.types.errors import PilothouseError
from tests.support.authorizers import a_grant


@pytest.mark.case("ATZ-07", "ATZ-12")
@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("5m", 300),
        ("300", 300),
        ("90s", 90),
        ("1h 30m", 5400),
        ("1h30m", 5400),
        ("2 hours", 7200),
        ("1 hour, 5 minutes", 3900),
        ("1d", 86400),
        (" 10 MIN ", 600),
        ("0.5h", 1800),
    ],
)
def test_a_duration_is_what_it_says(said: str, seconds: float) -> None:
    assert seconds_of(said) == seconds


@pytest.mark.case("ATZ-12")
@pytest.mark.parametrize("said", ["", "soon", "5 bananas", "-5m", "5m and more", "1 2", "0m", "2d", "1e3s", "m"])
def test_what_is_no_duration_is_refused_with_a_sentence(said: str) -> None:
    with pytest.raises(PilothouseError) as refused:
        seconds_of(said)
    assert refused.value.code == "bad_request"
    assert refused.value.fix


@given(st.integers(1, 24 * 3600))
def test_a_duration_in_words_means_the_same(seconds: int) -> None:
    assert seconds_of(words_of(seconds)) == seconds


class Clocks:
    """A wall clock that can be set, and a steady one."""

    def __init__(self, now: float) -> None:
        self.wall = now
        self.steady = 100.0

    def pass_by(self, seconds: float) -> None:
        self.wall += seconds
        self.steady += seconds


@pytest.mark.case("AUTHZ-07", "ATZ-10")
def test_setting_the_clock_back_revives_nothing() -> None:
    grant = a_grant(Pattern(), lasts=300.0)
    clocks = Clocks(grant.created_at)
    expiry = Expiry(lambda: clocks.wall, lambda: clocks.steady)
    assert expiry.stands(grant)
    clocks.pass_by(299)
    assert expiry.stands(grant)
    clocks.pass_by(2)
    assert not expiry.stands(grant)
    clocks.wall -= 250
    assert not expiry.stands(grant)


@pytest.mark.case("AUTHZ-07")
def test_a_clock_before_the_beginning_of_a_permission_is_not_believed() -> None:
    grant = a_grant(Pattern(), lasts=300.0)
    assert not Expiry(lambda: grant.created_at - 3600, lambda: 0.0).stands(grant)
    assert Expiry(lambda: grant.created_at + 1, lambda: 0.0).stands(grant)
