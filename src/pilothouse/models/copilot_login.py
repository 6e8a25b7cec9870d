"""A person's sign-in for GitHub Copilot, found where GitHub's own tools keep it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home

# Where a token for Copilot stands in the environment, and where one of GitHub's that may be good for it too.
COPILOT_VARIABLES = ("COPILOT_GITHUB_TOKEN", "GITHUB_COPILOT_TOKEN")
GITHUB_VARIABLES = ("GH_TOKEN", "GITHUB_TOKEN")
# Copilot takes no token of this kind.
CLASSIC = "ghp_"
_HOST = "github.com"
# A header takes no other.
_TOKEN = re.compile(r"[!-~]+")
_NOTES = re.compile(r"^[ \t]*//.*$", re.MULTILINE)
_FIX = (
    "Sign in with Copilot in an editor or with the Copilot CLI, or set COPILOT_GITHUB_TOKEN to a fine-grained token "
    "with the permission “Copilot Requests”."
)


def find_token(path: str = "", environ: Mapping[str, str] = os.environ) -> str:
    """Return the token of whoever signed in on this machine; raise one that says how to."""
    if path:
        found = next(_tokens(path), "")
    else:
        found = _named(environ, COPILOT_VARIABLES) or saved_token(environ) or _named(environ, GITHUB_VARIABLES)
    if not found:
        where = f"in {path}" if path else "on this machine"
        raise PilothouseError("no_key", f"Nobody is signed in to GitHub Copilot {where}.", fix=_FIX)
    return found


def saved_token(environ: Mapping[str, str] = os.environ) -> str:
    """Return the token that an editor or the Copilot CLI saved; empty for none."""
    return next((token for path in _files(environ) for token in _tokens(str(path))), "")


def _named(environ: Mapping[str, str], names: tuple[str, ...]) -> str:
    found = (environ.get(name, "").strip() for name in names)
    return next((token for token in found if token and not token.startswith(CLASSIC)), "")


def _files(environ: Mapping[str, str]) -> tuple[Path, ...]:
    home = Path(environ.get("HOME") or Path.home())
    folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "github-copilot"
    cli = Path(environ.get("COPILOT_HOME") or home / ".copilot")
    return folder / "apps.json", folder / "hosts.json", cli / "config.json"


def _tokens(path: str) -> Iterator[str]:
    """Return the tokens for github.com in a file; none where it is missing or something else."""
    try:
        file = at_home(path)
        # A pipe would be waited for.
        if not file.is_file():
            return
        with file.open(encoding="utf-8-sig") as opened:
            content = opened.read(limits.COPILOT_FILE_CHARS)
        # The Copilot CLI writes a note to the reader above its own.
        kept = msgspec.json.decode(_NOTES.sub("", content))
    except (OSError, msgspec.MsgspecError, ValueError, RuntimeError):
        return
    # "github.com", "github.com:Iv1.…" or "https://github.com:octocat"; a company's own server has another name.
    for whose, login in _logins(kept):
        token = login.get("oauth_token") if isinstance(login, dict) else login
        if isinstance(token, str) and _TOKEN.fullmatch(token.strip()) and _host(whose) == _HOST:
            yield token.strip()


def _logins(kept: object) -> Iterator[tuple[str, object]]:
    """Return who signed in, and with what; the Copilot CLI had two names for the place where it keeps them."""
    if not isinstance(kept, dict):
        return
    yield from kept.items()
    for name in ("copilot_tokens", "copilotTokens"):
        if isinstance(logins := kept.get(name), dict):
            yield from logins.items()


def _host(whose: str) -> str:
    return whose.removeprefix("https://").partition(":")[0].rstrip("/").lower()
