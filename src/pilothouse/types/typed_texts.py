"""Texts that a person types into settings: why one cannot be what it is meant to be."""

from __future__ import annotations

import re

from pilothouse.types import limits
from pilothouse.types.origins import origin_of

_HOST = re.compile(r"(?:[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,250})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?")


def address_problem(text: str) -> str:
    """Return why a text is no address of a service, in a sentence; empty if it is one."""
    shown = text[: limits.TITLE_CHARS]
    if len(text) > limits.WEB_URL_CHARS or not text.isprintable() or " " in text or not origin_of(text):
        return f"“{shown}” is no web address: it begins with https:// or http://."
    if "@" in text.partition("://")[2].partition("/")[0]:
        return "The address has a name or a password in it: leave them out."
    if "?" in text or "#" in text:
        return "The address ends before the first “?” or “#”."
    return ""


def hosts_problem(text: str) -> str:
    """Return why a text is no list of hosts, in a sentence; empty if it is one."""
    if len(text) > limits.WEB_URL_CHARS:
        return f"The hosts have at most {limits.WEB_URL_CHARS:,} characters together."
    odd = next((each for each in text.replace(",", " ").split() if not _HOST.fullmatch(each)), "")
    return f"“{odd[: limits.TITLE_CHARS]}” is no host: write wiki.example.lan or localhost:3000." if odd else ""


def name_problem(text: str) -> str:
    """Return why a text is no name of a model, in a sentence; empty if it is one."""
    fits = len(text) <= limits.TITLE_CHARS and text.isprintable() and text == text.strip()
    return "" if fits else f"A model's name has at most {limits.TITLE_CHARS} characters, all of which can be seen."
