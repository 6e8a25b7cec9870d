"""Secret values are hidden in the forms in which they travel, and other text is left alone."""

from __future__ import annotations

import base64
import html
import json
import re
import time
from urllib.parse import quote, quote_plus

import pytest

from pilothouse.secrets.redaction import MARK, Redactor

KEY = 'sk-a"b/c+d=e\\fgh&ë <i>'
SECRET = "sk-known-secret-40112"


@pytest.fixture
def redactor() -> Redactor:
    redactor = Redactor()
    redactor.learn(KEY)
    redactor.learn(SECRET)
    return redactor


@pytest.mark.case("SECRET-04", "AUT-28")
@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY, safe=""),
        quote_plus(KEY),
        quote(KEY),
        quote(KEY, safe="-_.!~*'()"),
        quote(KEY, safe=";,/?:@&=+$-_.!~*'()#"),
        re.sub("%..", lambda code: code[0].lower(), quote(KEY, safe="")),
        json.dumps(KEY)[1:-1],
        json.dumps(KEY, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(KEY))[3:-3],
        html.escape(KEY),
        html.escape(KEY, quote=False),
        base64.b64encode(KEY.encode()).decode(),
        base64.urlsafe_b64encode(KEY.encode()).decode().rstrip("="),
    ],
)
def test_a_secret_is_hidden_in_every_form(redactor: Redactor, form: str) -> None:
    redacted = redactor.redact(f"before {form} after")
    assert form.rstrip("=") not in redacted
    assert redacted.startswith("before [redacted]")
    assert redacted.endswith(" after")


def test_text_without_secrets_is_the_same_text(redactor: Redactor) -> None:
    text = "nothing to hide, not even sk-a"
    assert redactor.redact(text) is text


def test_a_placeholder_is_not_taken_for_a_secret(redactor: Redactor) -> None:
    redactor.learn("ollama")
    redactor.learn("")
    assert redactor.redact("ask ollama") == "ask ollama"


def test_a_secret_inside_a_longer_one_does_not_cut_it_in_two() -> None:
    redactor = Redactor()
    redactor.learn("12345678")
    redactor.learn("key-12345678-end")
    assert redactor.redact("x key-12345678-end y 12345678") == "x [redacted] y [redacted]"


@pytest.mark.case("SECRET-04")
def test_no_half_of_a_secret_stays_beside_a_cut(redactor: Redactor) -> None:
    """Tools cut long lines before they are masked, and mark where."""
    for size in range(8, len(SECRET)):
        assert redactor.redact(f"a = {SECRET[:size]}… [90 more characters]") == "a = [redacted]… [90 more characters]"
        assert redactor.redact(f"3: …{SECRET[-size:]}, b") == "3: …[redacted], b"
        assert (
            redactor.redact(f"…{SECRET[-size:]} {SECRET} x {SECRET[:size]}…") == "…[redacted] [redacted] x [redacted]…"
        )


def test_what_only_stands_beside_a_cut_stays(redactor: Redactor) -> None:
    for text in (
        "…",
        "a…b",
        f"{SECRET[:4]}…",
        f"…{SECRET[-4:]}",
        f"{SECRET[1:12]}…",
        f"… {SECRET[-12:]}",
        "……and so on…",
    ):
        assert redactor.redact(text) == text


@pytest.mark.slow
def test_a_text_that_is_nothing_but_cuts_is_masked_fast(redactor: Redactor) -> None:
    for number in range(50):
        redactor.learn(f"another-secret-{number}-{'x' * 40}")
    began = time.process_time()
    redactor.redact("…sk-" * 500_000)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("user", ["", "u", "me", "bob", "alice", "müller"])
@pytest.mark.parametrize("after", ["", "x", ":realm"])
def test_a_secret_in_the_midst_of_base64_is_found_wherever_it_begins(user: str, after: str) -> None:
    redactor = Redactor()
    redactor.learn("correct horse battery")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(f"{user}:correct horse battery{after}".encode()).decode()
        assert MARK in redactor.redact(f"Authorization: Basic {text}")
    other = base64.b64encode(f"{user}:another one altogether{after}".encode()).decode()
    assert redactor.redact(other) == other
