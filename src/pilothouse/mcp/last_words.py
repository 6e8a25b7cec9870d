"""Why a local server ended, made out from its exit code and from what it wrote last."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pilothouse.mcp.channel import ChannelError
from pilothouse.mcp.troubles import Hopeless, missing_value
from pilothouse.types.servers import ServerEntry

# Written for version 1 of the Python SDK, started with version 2.
_OLD_SDK = re.compile(
    r"has no attribute '(list_tools|call_tool|list_resources|request_handlers)'"
    r"|No module named 'mcp\.server\.fastmcp'|cannot import name '\w+' from 'mcp[.'\w]*"
)
_NO_NETWORK = re.compile(
    r"(?i)ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|getaddrinfo|dns error|network (error|is un)"
    r"|error sending request|failed to (fetch|download)|could not connect|temporary failure in name resolution"
)
_NOT_KEPT = re.compile(r"(?i)\bENOTCACHED\b|only-if-cached|network was disabled")
_NO_PACKAGE = re.compile(
    r"(?i)\bE404\b|404 not found|was not found in the package registry|no solution found|not in this registry"
)
_NO_DOCKER = re.compile(r"(?i)cannot connect to the docker daemon|error during connect")
_NO_IMAGE = re.compile(r"(?i)unable to find image|pull access denied|manifest unknown|not found: manifest")
_VARIABLE = re.compile(
    r"\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b[^\n]{0,60}?\b(?:required|not set|must be set|missing|not found|undefined)\b"
    r"|\b(?:required|missing|set|provide|define)\b[^\n]{0,60}?\b([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\b"
)
# A script that is not where the command looks for it.
_NO_FILE = re.compile(r"Cannot find module '((?:\w:)?[/\\][^'\n]+)'|can't open file '([^'\n]+)'")
# What an interpreter or npm writes below an error.
_NO_NEWS = re.compile(r"Node\.js v[\d.]+$|npm (?:error|ERR!).*(?:A complete log|_logs[/\\])")
_ERROR = re.compile(r"(?i:fatal|error|panic)\b|[\w.]*(?:Error|Exception)\b")
_LINE_CHARS = 300


def local_failure(entry: ServerEntry, error: ChannelError, exit_code: int | None, words: Sequence[str]) -> ChannelError:
    """Return what a local server's end means, from its exit code and its last words."""
    said = "\n".join(words)
    if isinstance(error, Hopeless):
        return error
    known = _known_words(entry, said)
    if known is not None:
        return known
    if exit_code is None:
        return error
    last = _telling(words)
    ending = f"ended by signal {-exit_code}" if exit_code < 0 else f"ended with exit code {exit_code}"
    outline = f"“{entry.name}” {ending}"
    if not last:
        return ChannelError(f"{outline} and said nothing.", fix="Check the command.", sent=error.sent)
    fix = "Its log shows the last lines it wrote. Check the command."
    told = ChannelError(f"{outline}: {last[:_LINE_CHARS]}", fix=fix, sent=error.sent)
    return _quoting(told, f"{outline}.")


def _telling(words: Sequence[str]) -> str:
    """Return the last line that says what went wrong, else the last one; what is indented only says where."""
    lines = [line.rstrip() for line in words if line.strip() and not _NO_NEWS.match(line)]
    errors = [line for line in lines if _ERROR.match(line)]
    return next(iter((errors or lines)[-1:]), "").strip()


def wrong_language(entry: ServerEntry, said: str) -> ChannelError:
    """Return that a process writes something else than MCP."""
    fix = "Check that the command starts an MCP server that speaks over standard input and output."
    outline = f"“{entry.name}” does not speak MCP"
    told = ChannelError(f"{outline}: it wrote “{said.strip()[:_LINE_CHARS]}”.", fix=fix, sent=False)
    return _quoting(told, f"{outline}.")


def _quoting(error: ChannelError, outline: str) -> ChannelError:
    """Return a failure that repeats a server's own words to the person, and says only the outline to a model."""
    error.outline = outline
    return error


def _known_words(entry: ServerEntry, said: str) -> ChannelError | None:
    name, kind = entry.name, entry.package.type
    if _OLD_SDK.search(said):
        package = entry.package.identifier
        fix = "Start it with the older mcp package"
        fix += f": uvx --with 'mcp<2' {package}" if kind == "pypi" else ", mcp<2."
        return Hopeless(f"“{name}” does not work with the mcp package it was installed with.", fix=fix, sent=False)
    if kind in ("npm", "pypi"):
        if not entry.config.network and _NOT_KEPT.search(said):
            fix = "Let it use the network for its first start, and switch that off again."
            return Hopeless(f"“{name}” was never downloaded, and may not use the network.", fix=fix, sent=False)
        if _NO_PACKAGE.search(said):
            where = "npm" if kind == "npm" else "PyPI"
            message = f"There is no package {entry.package.identifier} on {where}."
            return Hopeless(message, fix="Check its name and version.", sent=False)
        if _NO_NETWORK.search(said):
            return Hopeless(f"Failed to install {name}. Check network.", sent=False)
    if "docker" in (kind, entry.package.identifier) and (trouble := _docker_words(name, said)):
        return trouble
    if file := _NO_FILE.search(said):
        return _no_file(name, file[1] or file[2])
    if variable := _VARIABLE.search(said):
        return missing_value(name, "--secret-env", variable[1] or variable[2])
    return None


def _docker_words(name: str, said: str) -> ChannelError | None:
    if _NO_DOCKER.search(said):
        return Hopeless("Docker is not running.", fix="Start Docker and try again.", sent=False)
    if _NO_IMAGE.search(said):
        return Hopeless(f"Failed to install {name}. Check network.", fix="Check the image's name too.", sent=False)
    return None


def _no_file(name: str, path: str) -> ChannelError:
    fix = "Give its whole path, or the folder in which the command starts."
    told = Hopeless(f"“{name}” does not start: there is no file {path[:_LINE_CHARS]}.", fix=fix, sent=False)
    return _quoting(told, f"“{name}” does not start: a file is missing.")
