"""Failures to start or reach a server, and which of them stay until the person does something."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.client.key_labels import labels_of, spoken
from pilothouse.mcp.client.missing_keys import Lack, lacking
from pilothouse.types import limits
from pilothouse.types.servers import ServerEntry

# Answers that stay the same however often one asks.
_FINAL_STATUS = {200, 400, 401, 402, 403, 404, 405, 406, 410, 415}


# Too many requests, or nobody there behind a gateway: a while later it may be otherwise.
_TOO_MANY = 429
TURNED_AWAY = frozenset({_TOO_MANY, 502, 503, 504})

# Written for version 1 of the Python SDK, started with version 2.
_OLD_SDK = re.compile(
    r"has no attribute '(list_tools|call_tool|list_resources|request_handlers)'"
    r"|No module named 'mcp\.server\.fastmcp'|cannot import name '\w+' from 'mcp[.'\w]*"
)
# Lines that npm and uv write by themselves; what the server says when it runs is another matter.
_NPM = re.compile(r"npm (?:error|ERR!)")
_UV = re.compile(r"\s*+(?:error:|hint:|[×╰├│]|Caused by:|Because |\d*+\s*+╰)")
_INSTALLER = {"npm": _NPM.match, "pypi": _UV.match}
_INSTALLED = re.compile(r"Installed \d+ packages?|Traceback \(most recent call last\)")
_NO_NETWORK = re.compile(
    r"(?i)ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|getaddrinfo|dns error|network (error|is un)"
    r"|error sending request|failed to (fetch|download)|could not connect|temporary failure in name resolution"
)
_NOT_KEPT = re.compile(r"(?i)\bENOTCACHED\b|only-if-cached|network was disabled")
_NO_PACKAGE = re.compile(
    r"(?i)\bE404\b|404 not found|was not found in the package registry|no solution found|not in this registry"
)
_NO_DOCKER = re.compile(r"(?i)cannot connect to the docker daemon|error during connect")
_NO_IMAGE = re.compile(r"(?i)pull access denied|manifest unknown|not found: manifest|manifest for \S+ not found")
_NOT_PULLED = re.compile(r"(?i)unable to find image")
# The exit codes of docker itself, and of a shell that found no program.
_DOCKER_FAILED = 125
_NO_PROGRAM_CODE = 127
_NO_PROGRAM = re.compile(
    r"env: [‘'\"]?([^‘’'\":\n]+)[’'\"]?: No such file|(?:^|[:\s])([\w./@-]+): (?:command )?not found", re.M
)
# A script that is not where the command looks for it.
_NO_FILE = re.compile(r"Cannot find module '((?:\w:)?[/\\][^'\n]+)'|can't open file '([^'\n]+)'")
# What an interpreter, npm or a package writes around an error.
_NO_NEWS = re.compile(
    r"Node\.js v[\d.]+$|npm (?:error|ERR!)(?:.*(?:A complete log|_logs[/\\])|\s*$| (?:code|syscall|errno|path|dest)\b)"
    r"|(?i:npm (?:warn|notice)\b)|\(node:\d+\)|\(Use `node --trace|.*(?:Deprecation|Experimental|User|Future)Warning\b"
)
_USAGE = re.compile(
    r"(?i)\s*(?:usage|options|commands|(?:positional )?arguments|examples?)\s*:|\s*-|(?:run|try) .*--?help"
)
_TRACEBACK = "Traceback (most recent call last)"
# What begins with a word for a failure, perhaps behind a time, a level's brackets or a program's name.
_ERROR = re.compile(
    r"(?:[\d\[][^a-z]{0,100}|[\w./@-]++: |npm |[^\w\s]++ )?"
    r"(?:(?i:fatal|error|panic|critical)\b|[\w.]{0,100}(?:Error|Exception)\b)"
)
_SAYS_ERROR = re.compile(
    r"(?i)(?<![\w-])(?:error|fatal|exception|failed|cannot|can't|missing|invalid|unknown|required)\b"
)
_LINE_CHARS = 300
# What went wrong is said early in a line; so much of it is read.
_LOOKED_AT_CHARS = 1_000


class NeedsPerson(ChannelError):
    """A failure that stays until the person does something; nothing was sent, and nobody tries again by themselves."""

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message, fix=fix, sent=False)


class NeedsConsent(NeedsPerson):
    """A local command that the person has not agreed to, or that changed since."""


class MissingKeys(NeedsPerson):
    """A server that lacks keys, which a person knows by their labels."""

    def __init__(self, message: str, lacks: Sequence[Lack], *, fix: str) -> None:
        super().__init__(message, fix=fix)
        self.lacks = tuple(lacks)


class NoRoom(NeedsPerson):
    """As many local servers run as may run at once."""


def needs_person(error: ChannelError) -> bool:
    """Return whether trying again would change nothing."""
    return isinstance(error, NeedsPerson) or error.status in _FINAL_STATUS or bool(error.certificate)


def patience(attempt: int, asked: float | None) -> float:
    """Return the seconds before another try after so many: 1, 2, 4, 8, and never less than the server asks for."""
    return max(min(limits.RETRY_FIRST_WAIT * 2.0 ** (attempt - 1), limits.RETRY_MAX_WAIT), asked or 0.0)


def rate_limited(seconds: float) -> str:
    """Return what a person reads while a server lets nobody in."""
    return f"Rate limited. Try again in {math.ceil(seconds)} seconds."


def waiting(error: ChannelError, seconds: float) -> str:
    """Return what a person reads while a call waits for a server that turned it away."""
    if error.status == _TOO_MANY:
        return rate_limited(seconds)
    return f"{error.message} Trying again in {math.ceil(seconds)} seconds."


def needs_consent(name: str, *, changed: bool) -> NeedsConsent:
    """Return that the person must be asked first."""
    why = "changed since you agreed to it" if changed else "was never started before"
    fix = "Look at its command in Settings, MCP, and allow it."
    return NeedsConsent(f"“{name}” {why}; it starts once you allow it.", fix=fix)


def missing_keys(name: str, lacks: Sequence[Lack]) -> MissingKeys:
    """Return that a server needs keys that it was not given."""
    message = f"“{name}” needs its {labels_of(each.id for each in lacks)}."
    told = MissingKeys(message, lacks, fix=f"Give {'them' if len(lacks) > 1 else 'it'} in {_places(name)}")
    # The labels are made of the server's words.
    told.outline = f"“{name}” needs a key that it was not given."
    return told


def moved_key(name: str, key_id: str) -> MissingKeys:
    """Return that a key belongs to another address."""
    message = f"The {spoken(key_id)} was given for another address and is not sent to where “{name}” is now."
    return MissingKeys(message, (Lack(key_id, message),), fix=f"Give it again in {_places(name)}")


def places_to_give(name: str) -> str:
    """Return how a person gives a server its keys, as the end of a sentence."""
    return f"give it in {_places(name)}"


def _places(name: str) -> str:
    return f"Settings, MCP, or with `{shlex.join(['pilothouse', 'mcp', 'keys', name])}`."


def local_failure(entry: ServerEntry, error: ChannelError, exit_code: int | None, words: Sequence[str]) -> ChannelError:
    """Return what a local server's end means, from its exit code and its last words."""
    if isinstance(error, NeedsPerson):
        return error
    words = [line[:_LOOKED_AT_CHARS] for line in words]
    known = _known_words(entry, words, exit_code)
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
    """Return the first line that says what went wrong, else the last that is no usage; indented lines say only where.

    What follows an error is how a program is used, or what failed because of it. Python puts the reason last.
    """
    lines = [line.rstrip() for line in words if line.strip() and not _NO_NEWS.match(line)]
    traces = [number for number, line in enumerate(lines) if line.startswith(_TRACEBACK)]
    if traces:
        return _raised(lines[traces[-1] + 1 :])
    bare = [line for line in lines if not line.startswith((" ", "\t"))]
    telling = [line for line in bare if not _USAGE.match(line)]
    for says in (_ERROR.match, _SAYS_ERROR.search):
        if errors := [line for line in telling if says(line)]:
            return errors[0].strip()
    return next(iter((telling or bare or lines)[-1:]), "").strip()


def _raised(lines: Sequence[str]) -> str:
    """Return what was raised, from the lines below a traceback's first; pydantic says further down what is wrong."""
    at = next((number for number, line in enumerate(lines) if not line.startswith(" ")), len(lines) - 1)
    told = lines[at : at + 3] if at >= 0 and "validation error" in lines[at] else lines[at : at + 1]
    return " ".join(line.strip() for line in told)


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


def _known_words(entry: ServerEntry, words: Sequence[str], exit_code: int | None) -> ChannelError | None:
    name, kind, said = entry.name, entry.package.type, "\n".join(words)
    if _OLD_SDK.search(said):
        package = entry.package.identifier
        fix = "Start it with the older mcp package"
        fix += f": uvx --with 'mcp<2' {package}" if kind == "pypi" else ", mcp<2."
        return NeedsPerson(f"“{name}” does not work with the mcp package it was installed with.", fix=fix)
    if kind in _INSTALLER and (trouble := _installer_words(entry, words)):
        return trouble
    if "docker" in (kind, entry.package.identifier) and (trouble := _docker_words(name, said, exit_code)):
        return trouble
    if exit_code == _NO_PROGRAM_CODE and (program := _NO_PROGRAM.search(said)):
        return _no_program(name, program[1] or program[2])
    if file := _NO_FILE.search(said):
        return _no_file(name, file[1] or file[2])
    # What was given is not what is missing.
    given = {*(f"env:{name}" for name in entry.config.env), *entry.config.keys}
    lacks = [each for each in lacking(words) if each.id not in given]
    return missing_keys(name, lacks) if lacks else None


def _installer_words(entry: ServerEntry, words: Sequence[str]) -> ChannelError | None:
    """Return why a package could not be installed; None where its server has started and speaks for itself."""
    name, kind = entry.name, entry.package.type
    if any(_INSTALLED.match(line) for line in words):
        return None
    said = "\n".join(line for line in words if _INSTALLER[kind](line))
    if not entry.config.network and _NOT_KEPT.search(said):
        fix = "Let it use the network for its first start, and switch that off again."
        return NeedsPerson(f"“{name}” was never downloaded, and may not use the network.", fix=fix)
    if _NO_PACKAGE.search(said):
        where = "npm" if kind == "npm" else "PyPI"
        message = f"There is no package {entry.package.identifier} on {where}."
        return NeedsPerson(message, fix="Check its name and version.")
    if _NO_NETWORK.search(said):
        return NeedsPerson(f"Failed to install {name}. Check network.")
    return None


def _docker_words(name: str, said: str, exit_code: int | None) -> ChannelError | None:
    if _NO_DOCKER.search(said):
        return NeedsPerson("Docker is not running.", fix="Start Docker and try again.")
    # An image that is not here is pulled, which docker tells too when that went well.
    if _NO_IMAGE.search(said) or (exit_code == _DOCKER_FAILED and _NOT_PULLED.search(said)):
        return NeedsPerson(f"Failed to install {name}. Check network.", fix="Check the image's name too.")
    return None


def _no_program(name: str, program: str) -> ChannelError:
    fix = "Install it, or give its whole path in the command."
    told = NeedsPerson(f"“{name}” does not start: there is no program {program[:_LINE_CHARS]} here.", fix=fix)
    return _quoting(told, f"“{name}” does not start: a program is missing.")


def _no_file(name: str, path: str) -> ChannelError:
    fix = "Give its whole path, or the folder in which the command starts."
    told = NeedsPerson(f"“{name}” does not start: there is no file {path[:_LINE_CHARS]}.", fix=fix)
    return _quoting(told, f"“{name}” does not start: a file is missing.")
