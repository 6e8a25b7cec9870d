"""Consent to start a local command: what the person is shown, what it is bound to, and that nobody can forge it."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets as random
import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from pilothouse.mcp.channel import ChannelError
from pilothouse.mcp.entries import SECRET, SLOT, command_of
from pilothouse.mcp.programs import (
    INTERPRETERS,
    Download,
    FileFacts,
    download_of,
    facts_of,
    find_program,
    may_be_changed_by_others,
    script_of,
    whole_path,
)
from pilothouse.mcp.recognising import Recognising
from pilothouse.types.errors import PilothouseError
from pilothouse.types.lookalikes import mixes_scripts
from pilothouse.types.ports import Secrets
from pilothouse.types.servers import Consent, ServerEntry

_KEY_NAME = "mcp_consent_key"
_KEY_ORIGIN = "mcp:consent"
_LOADERS = re.compile(
    r"LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_.*|NODE_OPTIONS|NODE_PATH|PYTHON(PATH|STARTUP|HOME)|BASH_ENV|ENV|PATH|IFS"
    r"|PERL5(OPT|LIB)|RUBYOPT|RUBYLIB|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|ASKPASS)|npm_config_.*|UV_.*INDEX.*|PIP_.*"
)
_CODE_FLAGS = {"-c", "-e", "-p", "--eval", "--print", "--call", "--require", "-r", "--import", "--from"}
_MOUNTS = {"-v", "--volume", "--mount"}
_POWERS = re.compile(r"--(privileged|cap-add|device|security-opt|entrypoint)(=.*)?")
_SHARED = re.compile(r"--(net|network|pid|ipc|userns|uts)(=host)?")


# What is left out when it is not so keeps the seals of those who agreed before there were sandboxes.
class Agreed(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything that a consent is bound to, as it was when the person agreed."""

    argv: tuple[str, ...]
    environment: tuple[str, ...]
    # Empty for a folder of its own, in a sandbox.
    folder: str
    files: tuple[FileFacts, ...]
    sandbox: bool = False
    network: bool = True

    def fingerprint(self) -> str:
        """Return the same for the same command, environment, folder, files and sandbox."""
        files = [(file.path, file.owner, file.sha256) for file in self.files]
        held = (self.network,) if self.sandbox else ()
        bound = (self.argv, self.environment, self.folder, files, *held)
        return hashlib.sha256(msgspec.json.encode(bound)).hexdigest()

    def held(self) -> str:
        """Return in one sentence what holds it; empty when nothing does."""
        if not self.sandbox:
            return ""
        reach = "It can use the network." if self.network else "It has no network."
        return f"Runs in a sandbox: only {_named(self.folder)} can be written to. {reach}"


class _Record(msgspec.Struct, frozen=True):
    agreed: Agreed
    seal: str


def look(entry: ServerEntry, known: Agreed | None = None, environ: Mapping[str, str] = os.environ) -> Agreed:
    """Return what starting this server would do now; raise a ChannelError when it cannot be started at all."""
    command, cwd = command_of(entry), entry.config.cwd
    program = find_program(command[0], cwd, environ)
    script = script_of(command, cwd)
    before = {file.path: file for file in known.files} if known else {}
    paths = [path for path in (program, script) if path is not None]
    try:
        files = tuple(facts_of(path, before.get(str(path))) for path in paths)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ChannelError(f"The program {program} cannot be read: {reason}.", sent=False) from None
    # The value of a plain variable can be code as well; a secret is known by its name.
    environment = tuple(
        name if value.startswith(SECRET) else f"{name}={value}" for name, value in sorted(entry.config.env.items())
    )
    held = entry.config.sandbox
    folder = str(whole_path(cwd)) if cwd else "" if held else str(Path.home())
    return Agreed(
        (str(program), *command[1:]), environment, folder, files, held, entry.config.network if held else True
    )


def named_paths(agreed: Agreed) -> tuple[str, ...]:
    """Return the paths that its arguments and variables name: alone, after a “=”, or in a list."""
    words = (part for word in (*agreed.argv[1:], *agreed.environment) for part in (word, word.partition("=")[2]))
    return tuple(path for word in words for path in (word, *word.split(os.pathsep)) if os.path.isabs(path))


class Consents:
    """The consents that were given, in a file that only whoever holds our key can write."""

    def __init__(self, file: Path, secrets: Secrets) -> None:
        self._file = file
        self._secrets = secrets
        # Several servers are looked at side by side, in threads.
        self._guard = threading.RLock()
        self._key: bytes | None = None
        self._records: dict[str, _Record] = {}
        self._stamp: tuple[int, int] | None = None

    def look(self, entry: ServerEntry, known: Agreed | None = None) -> Agreed:
        """Return what starting a server would do now; raise a ChannelError when it cannot be started at all."""
        return look(entry, known)

    def shown(self, entry: ServerEntry, now: Agreed, before: Agreed | None) -> Consent:
        """Return what the person is asked to agree to."""
        return shown(entry, now, before)

    def agreed(self, server_id: str) -> Agreed | None:
        """Return what was agreed to for a server, if anything."""
        record = self._load().get(server_id)
        if record is None or not hmac.compare_digest(record.seal, self._seal(server_id, record.agreed)):
            return None
        return record.agreed

    def give(self, server_id: str, agreed: Agreed) -> None:
        """Keep that the person agreed."""
        with self._guard:
            self._save({**self._load(), server_id: _Record(agreed, self._seal(server_id, agreed))})

    def withdraw(self, server_id: str) -> None:
        """Forget a consent."""
        with self._guard:
            records = dict(self._load())
            if records.pop(server_id, None) is not None:
                self._save(records)

    def _load(self) -> dict[str, _Record]:
        with self._guard:
            try:
                info = self._file.stat()
                stamp = (info.st_mtime_ns, info.st_size)
                if stamp != self._stamp:
                    self._records = msgspec.json.decode(self._file.read_bytes(), type=dict[str, _Record])
                    self._stamp = stamp
            except (FileNotFoundError, msgspec.MsgspecError):
                # Without a record nothing was agreed to; the person is asked again.
                self._records, self._stamp = {}, None
            except OSError as error:
                # Nobody knows what was agreed to: nothing is started, and nothing is written over it.
                reason = (error.strerror or str(error)).lower()
                fix = f"Make sure that {self._file} can be read, and try again."
                raise PilothouseError("data_folder", f"What you agreed to cannot be read: {reason}.", fix=fix) from None
            return self._records

    def _save(self, records: dict[str, _Record]) -> None:
        temporary = self._file.with_name(f".{self._file.name}.new")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(msgspec.json.encode(records))
        os.replace(temporary, self._file)
        self._records, self._stamp = records, None

    def _seal(self, server_id: str, agreed: Agreed) -> str:
        return hmac.new(self._sealing_key(), msgspec.json.encode((server_id, agreed)), "sha256").hexdigest()

    def _sealing_key(self) -> bytes:
        with self._guard:
            if self._key is None:
                kept = self._secrets.get(_KEY_NAME, _KEY_ORIGIN)
                if kept is None:
                    kept = random.token_hex(32)
                    self._secrets.put(_KEY_NAME, kept, _KEY_ORIGIN)
                self._key = kept.encode()
            return self._key


def shown(entry: ServerEntry, now: Agreed, before: Agreed | None) -> Consent:
    """Return what the person is asked to agree to, in full and with nothing hidden but keys."""
    fingerprint, now, before = now.fingerprint(), _readable(now), _readable(before) if before else None
    return Consent(
        fingerprint=fingerprint,
        argv=tuple(visible(word) for word in now.argv),
        program=visible(now.files[0].path),
        program_owner=now.files[0].owner,
        environment=tuple(visible(line) for line in now.environment),
        folder=visible(now.folder),
        sandbox=now.held(),
        warnings=tuple(_warnings(entry, now)),
        changes=tuple(_changes(before, now)) if before else (),
    )


def _readable(agreed: Agreed) -> Agreed:
    """Return it with slots for the keys that someone wrote into the file."""
    look = Recognising()
    argv, environment = (agreed.argv[0], *look.words(agreed.argv[1:])), look.lines(agreed.environment)
    return msgspec.structs.replace(agreed, argv=argv, environment=environment) if look.found else agreed


def visible(text: str) -> str:
    """Return text in which nothing is invisible: what does not print is written by its number."""
    return "".join(char if _prints(char) else f"\\u{{{ord(char):04x}}}" for char in text)


def _prints(char: str) -> bool:
    return char == " " or unicodedata.category(char) not in {"Cc", "Cf", "Co", "Cs", "Cn", "Zs", "Zl", "Zp"}


def _changes(before: Agreed, now: Agreed) -> Iterator[str]:
    if before.argv != now.argv:
        yield from _word_changes(before.argv, now.argv)
    for line in before.environment:
        if line not in now.environment:
            yield f"Environment: {visible(line)} is gone."
    for line in now.environment:
        if line not in before.environment:
            yield f"Environment: {visible(line)} is new."
    yield from _ground_changes(before, now)
    old = {file.path: file for file in before.files}
    for file in now.files:
        known = old.get(file.path)
        if known is not None and known.sha256 != file.sha256:
            yield f"The content of {visible(file.path)} changed."
        if known is not None and known.owner != file.owner:
            yield f"The owner of {visible(file.path)} was {known.owner}, is {file.owner}."


def _ground_changes(before: Agreed, now: Agreed) -> Iterator[str]:
    if before.held() != now.held():
        yield f"Sandbox: was “{before.held() or 'none'}”, is “{now.held() or 'none'}”."
    if before.folder != now.folder and not (before.sandbox and now.sandbox):
        yield f"Folder: was {_named(before.folder)}, is {_named(now.folder)}."


def _named(folder: str) -> str:
    return visible(folder) if folder else "a folder of its own"


def _word_changes(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    for index in range(max(len(before), len(now))):
        old = visible(before[index]) if index < len(before) else None
        new = visible(now[index]) if index < len(now) else None
        if old == new:
            continue
        what = "Program" if index == 0 else f"Argument {index}"
        if old is None:
            yield f"{what}: {new} is new."
        elif new is None:
            yield f"{what}: {old} is gone."
        else:
            yield f"{what}: was {old}, is {new}."


def _warnings(entry: ServerEntry, now: Agreed) -> Iterator[str]:
    program, args = Path(now.argv[0]), now.argv[1:]
    yield from _code_warnings(entry, program.name, args, "in the sandbox" if now.sandbox else "with your rights")
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
        if not re.search(r".@[\d]|==\d", entry.package.identifier):
            yield "No version is given: what runs may change from start to start."
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
