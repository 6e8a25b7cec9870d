"""A form that asks for a secret: what is typed there would stand in the conversation, so it is not asked at all."""

from __future__ import annotations

import re

from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask

_WORDS = re.compile(
    r"pass[\s_-]?(word|phrase|code)|\bpwd\b|\bsecrets?\b|api[\s_-]?key|private[\s_-]?key|(access|auth|bearer|refresh)[\s_-]?token"
    r"|\btoken\b|credential|card[\s_-]?(number|no\b)|credit[\s_-]?card|\b(cvv|cvc|csc|iban|ssn|otp)\b|\bpin\b"
    r"|one[\s_-]?time[\s_-]?code|seed[\s_-]?phrase|recovery[\s_-]?(code|phrase)",
    re.IGNORECASE,
)
# Between the words of camelCase names.
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def secret_asked(asks: tuple[Ask, ...]) -> str:
    """Return the name of the first field that asks for a secret; empty when none does."""
    for ask in asks:
        if ask.kind != "form":
            continue
        fields = ask.schema.get("properties")
        for name, field in fields.items() if isinstance(fields, dict) else ():
            if _is_secret(str(name), field if isinstance(field, dict) else {}):
                return str(name)
    return ""


def _is_secret(name: str, field: JsonObject) -> bool:
    if field.get("format") == "password" or field.get("writeOnly") is True:
        return True
    said = (_SEAM.sub(" ", name).replace("_", " "), name, str(field.get("title") or ""))
    # A description may say “never your password”: only what the field is called counts.
    return any(_WORDS.search(text) for text in said)


def names_secret(name: str) -> bool:
    """Return whether a variable of this name holds a secret, as far as its name says."""
    return _is_secret(name, {}) or re.search(r"(?i)(^|[_-])(key|pat|auth|dsn)$", name) is not None
