"""The addresses that finding servers knows by itself: the only file that has any.

PILOTHOUSE_REGISTRIES points elsewhere, for companies with a mirror and for tests: `official=URL,smithery=URL`; the
names are those of `KNOWN`. A registry of one's own is no address of ours: it stands in `config.json`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from pilothouse.types.errors import PilothouseError
from pilothouse.types.origins import origin_of

VARIABLE = "PILOTHOUSE_REGISTRIES"
OFFICIAL, SMITHERY, ADVISORIES = "official", "smithery", "advisories"

KNOWN: Mapping[str, str] = {
    OFFICIAL: "https://registry.modelcontextprotocol.io",
    SMITHERY: "https://registry.smithery.ai",
    # Where Smithery runs servers for others, each under its name.
    "smithery-servers": "https://server.smithery.ai",
    # Known weaknesses of packages, and packages that are known to be malicious.
    ADVISORIES: "https://api.osv.dev",
    # Where Git hosts serve single files.
    "github-files": "https://raw.githubusercontent.com",
    "gitlab-files": "https://gitlab.com",
    "codeberg-files": "https://codeberg.org",
    "bitbucket-files": "https://bitbucket.org",
}

# Where a person gets a key for a registry that wants one.
KEY_PAGES: Mapping[str, str] = {SMITHERY: "https://smithery.ai/account/api-keys"}


def address(name: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return the address of something in `KNOWN`, without a slash at its end."""
    return _elsewhere(environ.get(VARIABLE, "")).get(name, KNOWN[name]).rstrip("/")


def _elsewhere(text: str) -> dict[str, str]:
    """Return what the variable points elsewhere; raise `bad_config` for what it cannot mean."""
    found: dict[str, str] = {}
    for each in filter(None, (part.strip() for part in text.split(","))):
        name, _, url = (part.strip() for part in each.partition("="))
        if name not in KNOWN or not origin_of(url):
            message = f"The variable {VARIABLE} has “{each[:80]}” in it, which is no NAME=URL."
            raise PilothouseError("bad_config", message, fix=f"Names are {', '.join(KNOWN)}.")
        found[name] = url
    return found
