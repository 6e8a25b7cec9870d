"""What a careful reader would notice in a command before it starts: what it runs, what may change, what it is given."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pilothouse.mcp.packages.pins import Pin
from pilothouse.mcp.servers.entries import SLOT
from pilothouse.mcp.servers.named_files import (
    COMMANDS,
    CONTAINERS,
    INLINE,
    MODULE,
    RECIPES,
    RUNNERS,
    CommandLine,
    Program,
    is_code,
)
from pilothouse.mcp.servers.names import mixes_scripts
from pilothouse.mcp.servers.programs import INTERPRETERS, Download, FileFacts, download_of, may_be_changed_by_others
from pilothouse.types import limits
from pilothouse.types.servers import ServerEntry

if TYPE_CHECKING:
    from pilothouse.mcp.servers.consent import Agreed

_LOADERS = re.compile(
    r"LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_.*|NODE_OPTIONS|NODE_PATH|PYTHON(PATH|STARTUP|HOME)|BASH_ENV|ENV|PATH|IFS"
    r"|PERL5(OPT|LIB)|RUBYOPT|RUBYLIB|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|ASKPASS|EXEC_PATH|PROXY_COMMAND)"
    r"|GIT_CONFIG_(GLOBAL|SYSTEM|PARAMETERS|COUNT|KEY_.*|VALUE_.*)"
    r"|(?i:npm_config_.*)|UV_.*INDEX.*|PIP_.*|(JAVA_TOOL|JDK_JAVA|_JAVA|MAVEN|GRADLE|BUN)_OPT(IONS|S)|CLASSPATH"
    r"|DOTNET_STARTUP_HOOKS|(CORECLR|COR)_PROFILER.*|LUA_(INIT|PATH|CPATH).*|PHP_INI_SCAN_DIR|PHPRC|ZDOTDIR"
)
_PROXIES = re.compile(r"(ALL|FTP|HTTP|HTTPS|WS|WSS)_PROXY", re.IGNORECASE)
_AUTHORITIES = re.compile(
    r"NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED|SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|GIT_SSL_NO_VERIFY"
    r"|PYTHONHTTPSVERIFY|AWS_CA_BUNDLE|GIT_SSL_CAINFO|DENO_CERT",
    re.IGNORECASE,
)
_CODE_FLAGS = {"-c", "-e", "-p", "--eval", "--print", "--call", "--require", "-r", "--import", "--from"}
_MOUNTS = {"-v", "--volume", "--mount"}
_POWERS = re.compile(r"--(privileged|cap-add|device|security-opt|entrypoint)(=.*)?")
_SHARED = re.compile(r"--(net|network|pid|ipc|userns|uts)(=host)?")
_MAY = "what runs may change from start to start, and you are not asked again"
# Of npm “1.2” is any of its versions, of PyPI it is one.
_ONE_OF_NPM = re.compile(r".+@v?\d{1,9}\.\d{1,9}\.\d{1,9}[\w.+-]*|.+[@#][0-9a-f]{40}")
_ONE_OF_PYPI = re.compile(r".+(==|@)\d[\w.!+]*|.+@[0-9a-f]{40}")
_DIGEST = re.compile(r".+@sha256:[0-9a-f]{64}")
# Those that fetch a package by its name, with the commands that do so; others start what a project has.
_FETCHERS = {
    **dict.fromkeys(("npx", "bunx", "uvx"), ""),
    **dict.fromkeys(("npm", "pipx", "pnpm", "yarn"), "exec x run dlx"),
    "uv": "tool",
}
_PACKAGES = frozenset({"--package", "-p", "--from", "--spec", "--with", "-w"})
_BUILDERS = frozenset({"go", "dotnet", "gradle", "mvn", *RECIPES})


def visible(text: str) -> str:
    """Return text in which nothing is invisible: what does not print is written by its number."""
    return "".join(char if _prints(char) else f"\\u{{{ord(char):04x}}}" for char in text)


def _prints(char: str) -> bool:
    return char == " " or unicodedata.category(char) not in {"Cc", "Cf", "Co", "Cs", "Cn", "Zs", "Zl", "Zp"}


def warnings(entry: ServerEntry, now: Agreed) -> Iterator[str]:
    """Yield what there is to say about a command, in the order of its words."""
    program, args = Path(now.argv[0]), now.argv[1:]
    if now.pin is None:
        yield from _code_warnings(entry, program.name, args, "in the sandbox" if now.sandbox else "with your rights")
    else:
        yield from _pin_warnings(now.pin)
    yield from now.moving
    if program.name in {"docker", "podman"}:
        yield from _container_warnings(args)
    for word in args:
        yield from _word_warnings(word)
    if any(SLOT.search(word) for word in args):
        yield "A secret stands in its arguments: other programs on this machine can read it while it runs."
    for name in (re.split("[=,]", line)[0] for line in now.environment):
        if _LOADERS.fullmatch(name):
            yield f"The variable {visible(name)} can make the program load other code."
        elif _PROXIES.fullmatch(name):
            yield f"The variable {visible(name)} sends what the program says and gets through a proxy."
        elif _AUTHORITIES.fullmatch(name):
            yield f"The variable {visible(name)} changes which machines the program takes for genuine."
    for file in now.files:
        yield from _file_warnings(file)


def _pin_warnings(pin: Pin) -> Iterator[str]:
    yield from pin.warnings
    if pin.scripts:
        yield "Programs of the packages run while they are installed, with your rights."


def _file_warnings(file: FileFacts) -> Iterator[str]:
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
    if entry.package.type in ("npm", "pypi") and not _has_options(entry):
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


def moving(entry: ServerEntry, line: CommandLine) -> Iterator[str]:
    """Yield a sentence for each thing that is run and that a consent cannot be bound to."""
    if line.is_cut:
        yield "It names more than is looked at: some of the files that it runs may change, and you are not asked again."
    if entry.package.type in ("npm", "pypi") and not _has_options(entry):
        kind = "node" if entry.package.type == "npm" else "python"
        if not _is_pinned(kind, entry.package.identifier) and line.is_local(entry.package.identifier) is None:
            yield f"No version is given: {_MAY}."
        return
    for program in line.programs:
        yield from _of(line, program)


def _has_options(entry: ServerEntry) -> bool:
    """Return whether its starter is told more than a package."""
    return bool(entry.package.program or entry.package.requirements)


def _is_pinned(kind: str, package: str) -> bool:
    found = _ONE_OF_NPM.fullmatch(package) if kind == "node" else _ONE_OF_PYPI.fullmatch(package)
    return found is not None


def _of(line: CommandLine, program: Program) -> Iterator[str]:
    rest = line.words[program.after :]
    if program.name in CONTAINERS:
        if {"run", "create"} & set(rest) and not any(_DIGEST.fullmatch(word) for word in rest):
            yield f"The image is not named by its digest: {_MAY}."
    elif program.name in _FETCHERS and _fetches(program.name, rest):
        yield from _packages(line, program, rest)
    elif program.name in _BUILDERS:
        if not any(map(is_code, line.named(rest))):
            yield f"{program.name} runs what is in its folder: {_MAY}."
    elif INTERPRETERS.fullmatch(program.name):
        yield from _interpreted(line, program, rest)
    elif program.name in RUNNERS and line.programs[-1] == program and not any(map(is_code, line.named(rest))):
        yield f"{program.name} runs what its project or its environment has: {_MAY}."


def _fetches(name: str, rest: list[str]) -> bool:
    first = next((word for word in rest if not word.startswith("-")), "")
    return not _FETCHERS[name] or first in _FETCHERS[name].split()


def _packages(line: CommandLine, program: Program, rest: list[str]) -> Iterator[str]:
    named = [word for option, word in pairwise(rest) if option in _PACKAGES]
    named += [word.partition("=")[2] for word in rest if word.partition("=")[0] in _PACKAGES and "=" in word]
    first = next((word for word in rest if not word.startswith("-") and word not in (*COMMANDS, *named)), "")
    kind = RUNNERS[program.name]
    for package in named or [first]:
        is_bound = _is_pinned(kind, package) or line.is_local(package) or any(map(is_code, line.named([package])))
        if not is_bound:
            yield f"No version is given for {package or 'what it fetches'}: {_MAY}."


def _interpreted(line: CommandLine, program: Program, rest: list[str]) -> Iterator[str]:
    for at, word in enumerate(rest):
        if word in INLINE:
            return
        if MODULE.fullmatch(word) and program.name.startswith("py"):
            yield f"Runs the module {' '.join(rest[at + 1 : at + 2])}, not a file: {_MAY}."
            return
        if not word.startswith("-") and line.script(program) is not None:
            return
    if not any(map(is_code, line.named(rest))) and line.programs[-1] == program:
        yield f"{program.name} is given no file to run: {_MAY}."
