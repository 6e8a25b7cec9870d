"""Secret values are hidden in the forms in which they travel, and other text is left alone."""

from __future__ import annotations

import base64
from urllib.parse import quote, quote_plus

import pytest

from pilothouse.secrets.redaction import Redactor

KEY = 'sk-a"b/c+d=e fgh'


@pytest.fixture
def redactor() -> Redactor:
    redactor = Redactor()
    redactor.learn(KEY)
    return redactor


@pytest.mark.case("SECRET-04", "AUT-28")
@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY, safe=""),
        quote_plus(KEY),
        KEY.replace('"', '\\"'),
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
