"""What npm and uv say when they fail, in one sentence for a person."""

from __future__ import annotations

import re

from pilothouse.mcp.packages.pins import Wanted
from pilothouse.mcp.servers.consent_warnings import visible
from pilothouse.types.errors import PilothouseError

_NO_VERSION = re.compile(
    r"\bETARGET\b|No matching version found|there is no version of|no versions? of \S+ (?:matching|satisf)"
    r"|only the following versions|Couldn't parse requirement|(?:was|were) not found [^\n]{0,200} with the version"
)
_OF_OTHER = re.compile(r"No matching version found for (\S+?)\.?(?:\s|$)")
_NO_PACKAGE = re.compile(r"\bE404\b|404 Not Found|was not found in the package registry|not in this registry", re.I)
_OTHER_CONTENT = re.compile(
    r"EINTEGRITY|integrity checksum failed|Hash mismatch|hashes do not match|THESE PACKAGES", re.I
)
_BUILDS = re.compile(
    r"no usable wheels|no wheels|building [^\n]{0,200} is disabled|source distribution|--no-build|only-binary", re.I
)
_PYTHON = re.compile(r"(?:requires|depends on|needs?) Python\s?([^\s,]{0,59}[^\s,.])|Python version", re.I)
_NO_NETWORK = re.compile(
    r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|getaddrinfo|dns error|error sending request"
    r"|failed to fetch|could not connect|name resolution|client error \(Connect\)|tunnel error|\bE50\d\b"
    r"|operation timed out",
    re.I,
)
_REFUSED = re.compile(r"\bE40[13]\b|401 Unauthorized|403 Forbidden|ENEEDAUTH", re.I)
_FULL = re.compile(r"ENOSPC|No space left", re.I)
_NOISE = re.compile(
    r"npm (?:warn|notice)|\s*$|.*(?:A complete log|debug-0\.log)|npm (?:error|ERR!) (?:code|errno|syscall)"
)
_PREFIX = re.compile(r"^(?:npm (?:error|ERR!)|error:|[×╰├│─▶\s]+)+\s*")
_LINE_CHARS = 300


class NoSuchPackage(PilothouseError):
    """The index has no package of this name, or not in this version."""

    def __init__(self, message: str) -> None:
        super().__init__("bad_request", message, fix="Check its name and version.")


class MustBeBuilt(PilothouseError):
    """Something is offered only in a form that runs code of its own before it is installed."""

    def __init__(self, name: str) -> None:
        message = f"{visible(name)} must be built here, which runs code of its packages before it is installed."
        fix = "If you trust it, allow its install scripts and try again."
        super().__init__("server_failed", message, fix=fix)


def not_found(wanted: Wanted, said: str = "") -> NoSuchPackage:
    """Return that there is no such package, or no such version of it."""
    if wanted.version and not _NO_PACKAGE.search(said):
        return NoSuchPackage(f"{wanted.where} has no version {visible(wanted.version)} of {visible(wanted.name)}.")
    return NoSuchPackage(f"There is no package {visible(wanted.name)} on {wanted.where}.")


def no_program(wanted: Wanted, programs: tuple[str, ...]) -> PilothouseError:
    """Return that a package has nothing that could be started."""
    name = visible(wanted.name)
    if not programs:
        message = f"The package {name} of {wanted.where} has no program that could be started: it is a library."
        return PilothouseError("bad_request", message, fix="Look for the server's own package.")
    shown = visible(", ".join(programs[:10]))
    option = f"npx -y --package={name} PROGRAM" if wanted.kind == "npm" else f"uvx --from {name} PROGRAM"
    asked = f" named {visible(wanted.program)}" if wanted.program else " of its own name"
    message = f"The package {name} has no program{asked}; it has {shown}."
    return PilothouseError("bad_request", message, fix=f"Say which: {option}")


def explained(wanted: Wanted, said: str) -> PilothouseError:
    """Return why a package could not be resolved or installed."""
    name = visible(wanted.name)
    if _OTHER_CONTENT.search(said):
        message = (
            f"What {wanted.where} has for {name} now is not what you agreed to: its content changed behind its version."
        )
        fix = "Nothing was started. Look at the package before you trust it, then remove the server and add it again."
        return PilothouseError("server_failed", message, fix=fix)
    if _FULL.search(said):
        return PilothouseError(
            "disk_full", f"There is no room left on the disk for {name}.", fix="Make room, and try again."
        )
    if _REFUSED.search(said):
        fix = "Sign in to it with its own program, or check the settings of npm or uv."
        return PilothouseError("server_failed", f"{wanted.where} refused to hand out {name}.", fix=fix)
    if _NO_VERSION.search(said) and not _NO_PACKAGE.search(said) and not _PYTHON.search(said):
        return _no_version(wanted, said)
    if _NO_NETWORK.search(said) and not _NO_PACKAGE.search(said):
        return PilothouseError(
            "server_failed", f"Failed to install {name}: {wanted.where} could not be reached.", fix="Check the network."
        )
    return _not_for_us(wanted, said)


def _no_version(wanted: Wanted, said: str) -> PilothouseError:
    """Return that there is no such version: of the package, or of one that it needs."""
    other = _OF_OTHER.search(said)
    if other is not None and other[1].rpartition("@")[0] != wanted.name:
        message = f"{visible(wanted.name)} needs {visible(other[1])}, which {wanted.where} does not have."
        return PilothouseError("server_failed", message, fix="Try an older version of it, or ask its maker.")
    return not_found(wanted, said) if wanted.version else _other(wanted, said)


def _not_for_us(wanted: Wanted, said: str) -> PilothouseError:
    name = visible(wanted.name)
    if _NO_PACKAGE.search(said):
        return not_found(wanted, said)
    if wanted.kind == "pypi" and _PYTHON.search(said):
        return PilothouseError(
            "server_failed",
            f"{name} needs another version of Python than this machine has.",
            fix="Install that version of Python, and try again.",
        )
    if wanted.kind == "pypi" and must_be_built(said):
        return MustBeBuilt(wanted.name)
    return _other(wanted, said)


def must_be_built(said: str) -> bool:
    """Return whether uv failed because it was not allowed to build anything."""
    return _BUILDS.search(said) is not None


def _other(wanted: Wanted, said: str) -> PilothouseError:
    lines = (_PREFIX.sub("", line).strip() for line in said.splitlines() if not _NOISE.match(line))
    told = next((line for line in lines if line), "")
    why = f": {visible(told)[:_LINE_CHARS]}" if told else "."
    return PilothouseError("server_failed", f"{visible(wanted.name)} could not be installed{why}")
