"""What a careful reader would notice in a command before it starts: what it runs, what may change, what it is given."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse.mcp.entries import SLOT
from pilothouse.mcp.programs import INTERPRETERS, Download, download_of, may_be_changed_by_others
from pilothouse.types import limits
from pilothouse.types.lookalikes import mixes_scripts
from pilothouse.types.servers import ServerEntry

if TYPE_CHECKING:
    from pilothouse.mcp.consent import Agreed

_LOADERS = re.compile(
    r"LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_.*|NODE_OPTIONS|NODE_PATH|PYTHON(PATH|STARTUP|HOME)|BASH_ENV|ENV|PATH|IFS"
    r"|PERL5(OPT|LIB)|RUBYOPT|RUBYLIB|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|ASKPASS)|npm_config_.*|UV_.*INDEX.*|PIP_.*"
)
_CODE_FLAGS = {"-c", "-e", "-p", "--eval", "--print", "--call", "--require", "-r", "--import", "--from"}
_MOUNTS = {"-v", "--volume", "--mount"}
_POWERS = re.compile(r"--(privileged|cap-add|device|security-opt|entrypoint)(=.*)?")
_SHARED = re.compile(r"--(net|network|pid|ipc|userns|uts)(=host)?")


def visible(text: str) -> str:
    """Return text in which nothing is invisible: what does not print is written by its number."""
    return "".join(char if _prints(char) else f"\\u{{{ord(char):04x}}}" for char in text)


def _prints(char: str) -> bool:
    return char == " " or unicodedata.category(char) not in {"Cc", "Cf", "Co", "Cs", "Cn", "Zs", "Zl", "Zp"}


def warnings(entry: ServerEntry, now: Agreed) -> Iterator[str]:
    """Yield what there is to say about a command, in the order of its words."""
    program, args = Path(now.argv[0]), now.argv[1:]
    yield from _code_warnings(entry, program.name, args, "in the sandbox" if now.sandbox else "with your rights")
    yield from now.moving
    if program.name in {"docker", "podman"}:
        yield from _container_warnings(args)
    for word in args:
        yield from _word_warnings(word)
    if any(SLOT.search(word) for word in args):
        yield "A secret stands in its arguments: other programs on this machine can read it while it runs."
    for line in now.environment:
        if _LOADERS.fullmatch(line.partition("=")[0]):
            yield f"The variable {visible(line.partition('=')[0])} can make the program load other code."
    for file in now.files:
        if may_be_changed_by_others(Path(file.path)):
            yield f"Other accounts on this machine can change {visible(file.path)}."
        if file.stamp and file.stamp[0] > limits.HASHED_FILE_BYTES:
            yield f"{visible(file.path)} is large: only its size and the time of its last change are compared."


def _word_warnings(word: str) -> Iterator[str]:
    if mixes_scripts(word):
        yield f"“{visible(word)[:60]}” mixes letters of scripts that look alike: {ascii(word)[:120]}"
    if any(not _prints(char) for char in word):
        yield "An argument has characters that cannot be seen; they are written out here."
    if re.search(r" {16,}", word) or len(word) > 1_000:
        yield "An argument is unusually long or padded; read it to its end."
    if re.search(r"[;|&`]|\$\(|>\s*/", word):
        yield f"“{visible(word)[:60]}” looks like a shell command; it is passed on as plain text."


def _code_warnings(entry: ServerEntry, program: str, args: Sequence[str], rights: str) -> Iterator[str]:
    download = download_of((program, *args))
    if entry.package.type in ("npm", "pypi"):
        yield f"Downloads a package from {'npm' if entry.package.type == 'npm' else 'PyPI'} and runs it {rights}."
        return
    if download is not None:
        yield from _download_warnings(download, rights)
    runner = program in {"npx", "npm", "pnpm", "yarn", "bunx", "uvx", "uv", "pipx", "env", "xargs", "sudo"}
    flagged = any(word.partition("=")[0] in _CODE_FLAGS for word in args)
    if (INTERPRETERS.fullmatch(program.lower()) and flagged) or runner:
        yield f"Runs arbitrary code: what its arguments say is executed {rights}."
    elif INTERPRETERS.fullmatch(program.lower()):
        yield f"Runs a script {rights}."


def _download_warnings(download: Download, rights: str) -> Iterator[str]:
    if not download.named:
        yield f"Downloads a package from {download.registry} and runs it {rights}."
    for package in download.named:
        where = "" if "://" in package else f" from {download.registry}"
        yield f"Downloads a package{where} and runs it {rights}: {visible(package)}."


def _container_warnings(args: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(args):
        following = args[index + 1] if index + 1 < len(args) else ""
        name, _, value = word.partition("=")
        if name in _MOUNTS:
            yield f"Gives the container a part of this machine: {visible(value or following)}."
        elif re.match(r"-v.", word):
            yield f"Gives the container a part of this machine: {visible(word[2:])}."
        if _POWERS.fullmatch(word):
            yield f"Gives the container special powers: {visible(word)}."
        if _SHARED.fullmatch(word) and "host" in (value, following):
            yield f"Shares this machine's own {name.lstrip('-')} with the container."
