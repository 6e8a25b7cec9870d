"""How long a provider asks to wait, in the forms that providers have for it."""

from __future__ import annotations

import json
import time
from email.utils import formatdate

import pytest

from pilothouse.models.retries import retry_after
from pilothouse.types.stream import Retrying
from tests.models.asking import answer_of, model_at, of, said, text_of
from tests.support.scripted_endpoint import Endpoint, Fault, Reply
from tests.support.wire_writers import Say, Text, Wire

HELLO = Say((Text(["Hello."]),))


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("1", 1.0),
        ("0.5", 0.5),
        ("1s", 1.0),
        ("1.5s", 1.5),
        ("120ms", 0.12),
        ("6m0s", 360.0),
        ("2m59.56s", 179.56),
        ("1h2m", 3720.0),
        ("2 seconds", 2.0),
        ("soon", None),
        ("1 beer", None),
        ("-1", None),
        ("inf", None),
        ("9" * 400, None),
        ("", None),
    ],
)
def test_a_wait_in_the_header_may_have_a_unit(value: str, wait: float | None) -> None:
    assert retry_after({"retry-after": value}) == wait


def test_a_moment_in_any_usual_form_is_waited_for() -> None:
    later = time.time() + 30
    iso = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(later))
    for value in (formatdate(later, usegmt=True), iso, f"{later:.0f}", f"{later * 1000:.0f}"):
        wait = retry_after({"retry-after": value})
        assert wait is not None
        assert 20 < wait <= 31


@pytest.mark.parametrize(
    ("words", "wait"),
    [
        ("Rate limit reached. Please try again in 1.5s. Visit our page to learn more.", 1.5),
        ("Please try again in 6m0s.", 360.0),
        ("Please try again in 20ms.", 0.02),
        ("Please retry after 26 seconds. To increase your limit, write to us.", 26.0),
        ("Resource exhausted. Please retry in 1.5s", 1.5),
        ("Try again in 1 minute and 30 seconds", 90.0),
        ("Please try again later.", None),
        ("retry in 5 moons", None),
    ],
)
def test_a_wait_may_be_told_in_words(words: str, wait: float | None) -> None:
    assert retry_after({}, json.dumps({"error": {"message": words}}).encode()) == wait


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        # Which limit it was nobody says: the soonest.
        ({"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"}, 1.0),
        # The one that is used up.
        (
            {
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-remaining-requests": "99",
                "x-ratelimit-reset-tokens": "45s",
                "x-ratelimit-remaining-tokens": "0",
            },
            45.0,
        ),
        ({"anthropic-ratelimit-tokens-reset": "7s", "anthropic-ratelimit-tokens-remaining": "0"}, 7.0),
        # A limit of a day that may not be the one that failed is no reason to give up.
        ({"x-ratelimit-reset-requests": "23h10m"}, None),
        ({"x-ratelimit-reset-requests": "23h", "x-ratelimit-remaining-requests": "0"}, 82_800.0),
        ({"x-ratelimit-reset": "never"}, None),
        ({"retry-after": "3", "x-ratelimit-reset-requests": "1s"}, 3.0),
    ],
)
def test_a_limit_is_waited_for_until_it_begins_anew(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers, b"{}", limited=True) == wait


def test_limits_that_did_not_fail_are_not_waited_for() -> None:
    assert retry_after({"x-ratelimit-reset-requests": "1s"}, b"{}") is None


async def test_the_limits_of_an_answer_are_read_where_it_came(endpoint: Endpoint) -> None:
    headers = (("x-ratelimit-reset-requests", "20ms"), ("x-ratelimit-reset-tokens", "6m0s"))
    endpoint.answer(Reply(status=429, headers=headers), Reply(HELLO))
    events = await answer_of(model_at("openai-compatible", endpoint.url), said("hi"))
    assert [event.wait for event in of(Retrying, events)] == [0.02]
    assert text_of(events) == "Hello."


@pytest.mark.parametrize("wire", ["anthropic-compatible", "openai-compatible", "openai-responses"])
async def test_a_wait_told_inside_a_stream_is_waited_for(wire: Wire, endpoint: Endpoint) -> None:
    told = Fault("error", error=("rate_limit_exceeded", "Rate limit reached. Please try again in 30ms."))
    endpoint.answer(Reply(HELLO, fault=told), Reply(HELLO))
    events = await answer_of(model_at(wire, endpoint.url), said("hi"))
    assert [event.wait for event in of(Retrying, events)] == [0.03]
    assert text_of(events) == "Hello."
