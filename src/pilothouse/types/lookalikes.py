"""Names that are made to look like others: letters of scripts that share their shapes, and hosts written in them."""

from __future__ import annotations

import unicodedata

# Scripts whose letters pass for each other's; a name in one of them is a name, one in several is a disguise.
_ALIKE = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "FULLWIDTH", "MATHEMATICAL"})


def mixes_scripts(text: str) -> bool:
    """Return whether a name has letters of several scripts that look alike."""
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha()}
    return len(scripts & _ALIKE) > 1


def plain_host(host: str) -> str:
    """Return a host as the network knows it: in ASCII, so that no letter passes for another."""
    if host.isascii():
        return host
    try:
        return host.encode("idna").decode()
    except UnicodeError:
        return ".".join(_plain_label(label) for label in host.split("."))


def _plain_label(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
