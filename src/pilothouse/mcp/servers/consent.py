"""Consent to start a local command: what the person is shown, what it is bound to, and that nobody can forge it."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets as random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from pathlib import Path

import msgspec

from pilothouse.mcp.client.channel import ChannelError
from pilothouse.mcp.packages.pins import Pin, asked_for
from pilothouse.mcp.servers.consent_warnings import moving, visible, warnings
from pilothouse.mcp.servers.entries import SECRET, command_of
from pilothouse.mcp.servers.keys import key_lines
from pilothouse.mcp.servers.named_files import CommandLine
from pilothouse.mcp.servers.programs import OF_THE_SYSTEM, FileFacts, facts_of, find_program, whole_path
from pilothouse.mcp.servers.secret_detection import KeyFinder, keys_in, readable
from pilothouse.types import durable_files
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ports import Secrets
from pilothouse.types.servers import Consent, ServerEntry

_KEY_NAME = "mcp_consent_key"
_KEY_ORIGIN = "mcp:consent"
# Of what is bound; a consent of an earlier kind is bound to the rest when its server next starts.
_KIND = 2
# From this one on it is bound to where its folders lead.
_WITH_PLACES = 1
_BY_PLACE = " (of the system: its place and owner)"


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
    kind: int = 0
    # Folders of it that are links, and where they lead: “/srv/now → /srv/2”.
    places: tuple[str, ...] = ()
    # What it runs that nothing here is bound to, in a sentence each.
    moving: tuple[str, ...] = ()
    # The package that is installed and started; its program stands first in `argv`, by its name.
    pin: Pin | None = None

    def fingerprint(self) -> str:
        """Return the same for the same command, environment, folder, files and sandbox."""
        files = [(file.path, file.owner, file.sha256) for file in self.files]
        held = (self.network,) if self.sandbox else ()
        places = (self.places,) if self.places else ()
        pinned = (self.pin.bound(),) if self.pin is not None else ()
        bound = (self.argv, self.environment, self.folder, files, *held, *places, *pinned)
        return hashlib.sha256(msgspec.json.encode(bound)).hexdigest()

    def allows(self, now: Agreed) -> bool:
        """Return whether this was agreed to for what would be started now."""
        if self.kind < now.kind:
            # Whoever agreed before more files were bound is not asked again; from now on all of them are.
            known = {file.path for file in self.files}
            files = tuple(file for file in now.files if file.path in known)
            now = msgspec.structs.replace(now, files=files, places=now.places if self.kind >= _WITH_PLACES else ())
        # Earlier ones were kept with the keys in them.
        return now.fingerprint() in (self.fingerprint(), _readable(self).fingerprint())

    def allows_but_for(self, lines: Set[str], now: Agreed) -> bool:
        """Return whether this was agreed to, if some lines of the environment do not count."""
        return self.without(lines).allows(now.without(lines))

    def without(self, lines: Set[str]) -> Agreed:
        """Return this without some lines of its environment."""
        kept = tuple(line for line in self.environment if line not in lines)
        return msgspec.structs.replace(self, environment=kept)

    def sandbox_words(self) -> str:
        """Return in one sentence what holds it; empty when nothing does."""
        if not self.sandbox:
            return ""
        reach = "It can use the network." if self.network else "It has no network."
        return f"Runs in a sandbox: only {_named(self.folder)} can be written to. {reach}"


class Record(msgspec.Struct, frozen=True):
    """A consent as it is kept: what was agreed to, sealed so that nobody else can write it."""

    agreed: Agreed
    seal: str


Records = dict[str, Record]


def can_be_pinned(entry: ServerEntry) -> bool:
    """Return whether its package is installed by us: one that a project of its own has is started from there."""
    if not asked_for(entry.package):
        return False
    if not entry.config.cwd or entry.package.type == "mcpb":
        return True
    line = CommandLine(command_of(entry), whole_path(entry.config.cwd), {}, os.defpath)
    return line.is_local(entry.package.program or entry.package.identifier) is None


def look(
    entry: ServerEntry,
    known: Agreed | None = None,
    environ: Mapping[str, str] = os.environ,
    pin: Pin | None = None,
) -> Agreed:
    """Return what starting this server would do now; raise a ChannelError when it cannot be started at all."""
    command, cwd = command_of(entry), entry.config.cwd
    program = find_program(command[0], cwd, environ) if pin is None else Path(pin.program)
    folder, plain = _folder(entry), entry.config.env
    variables = {name: value for name, value in plain.items() if not value.startswith(SECRET)}
    path = variables.get("PATH", environ.get("PATH", os.defpath))
    words = command[1:] if pin is None else entry.config.args
    line = CommandLine((str(program), *words), Path(folder) if folder else Path.home(), variables, path)
    before = {file.path: file for file in known.files} if known else {}
    named = line.files() if pin is None else _named_beside(line)
    try:
        files = tuple(facts_of(path, before.get(str(path)), found=path in line.helpers) for path in named)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ChannelError(f"{error.filename} cannot be read: {reason}.", sent=False) from None
    # A key that someone wrote into the file is a secret like any other: agreed to by its slot, kept nowhere else.
    seen, keys = readable(entry), keys_in(entry)
    declared = seen.config.env
    return Agreed(
        argv=(str(program), *(command_of(seen)[1:] if pin is None else seen.config.args)),
        # The value of a plain variable can be code as well; a secret is known by its name.
        environment=(
            *(f"{name}={declared[name]}" if name in variables else name for name in sorted(declared)),
            # Where a key is read from is a part of what the program gets.
            *key_lines(entry),
        ),
        folder=folder,
        files=files,
        sandbox=entry.config.sandbox,
        network=entry.config.network if entry.config.sandbox else True,
        kind=_KIND,
        places=tuple(_links(line.folders)) if folder else (),
        moving=tuple(dict.fromkeys(_slotted(sentence, keys) for sentence in moving(entry, line)))
        if pin is None
        else (),
        pin=pin,
    )


def _named_beside(line: CommandLine) -> tuple[Path, ...]:
    """Return the files that are named beside a pinned package: its own are known by their hashes."""
    return tuple(path for path in line.files() if path.is_absolute())


def _folder(entry: ServerEntry) -> str:
    if entry.config.cwd:
        return str(whole_path(entry.config.cwd))
    return "" if entry.config.sandbox else str(Path.home())


def _links(folders: Sequence[Path]) -> Iterator[str]:
    for folder in folders:
        real = os.path.realpath(folder)
        if real != os.path.normpath(folder):
            yield f"{folder} → {real}"


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
        self._records: Records = {}
        self._stamp: tuple[int, int] | None = None

    def look(self, entry: ServerEntry, known: Agreed | None = None, pin: Pin | None = None) -> Agreed:
        """Return what starting a server would do now; raise a ChannelError when it cannot be started at all."""
        return look(entry, known, pin=pin)

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
        # What is only told is told anew.
        agreed = msgspec.structs.replace(agreed, moving=())
        record = Record(agreed, self._seal(server_id, agreed))
        self._change(lambda records: {**records, server_id: record})

    def withdraw(self, server_id: str) -> None:
        self._change(lambda records: {name: record for name, record in records.items() if name != server_id})

    def _change(self, change: Callable[[Records], Records]) -> None:
        with self._guard:
            before = self._load()
            after = change(before)
            if after != before:
                self._save(after)

    def _load(self) -> Records:
        with self._guard:
            try:
                info = self._file.stat()
                stamp = (info.st_mtime_ns, info.st_size)
                if stamp != self._stamp:
                    self._records = msgspec.json.decode(self._file.read_bytes(), type=Records)
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

    def _save(self, records: Records) -> None:
        durable_files.replace(self._file, msgspec.json.encode(records))
        self._records, self._stamp = records, None

    def _seal(self, server_id: str, agreed: Agreed) -> str:
        return hmac.new(self._sealing_key(), msgspec.json.encode((server_id, agreed)), "sha256").hexdigest()

    def _sealing_key(self) -> bytes:
        with self._guard:
            if self._key is None:
                self._key = self._secrets.settle(_KEY_NAME, random.token_hex(32), _KEY_ORIGIN).encode()
            return self._key


def shown(entry: ServerEntry, now: Agreed, before: Agreed | None) -> Consent:
    """Return what the person is asked to agree to, in full and with nothing hidden but keys."""
    before = _readable(before) if before else None
    return Consent(
        fingerprint=now.fingerprint(),
        installs=tuple(_installs(now.pin)) if now.pin is not None else (),
        argv=tuple(visible(word) for word in now.argv),
        program=visible(now.files[0].path if now.pin is None else now.pin.program),
        program_owner=now.files[0].owner if now.pin is None else "",
        environment=tuple(visible(line) for line in now.environment),
        folder=visible(now.folder),
        sandbox=now.sandbox_words(),
        files=tuple(visible(file.path) + (_BY_PLACE if file.sha256 == OF_THE_SYSTEM else "") for file in now.files),
        warnings=tuple(warnings(entry, now)),
        changes=tuple(_changes(before, now)) if before else (),
    )


def _installs(pin: Pin) -> Iterator[str]:
    """Yield what is installed before anything starts."""
    what = f"{visible(pin.name)} {visible(pin.version)}".strip()
    if pin.kind == "mcpb":
        yield f"The bundle {what} is unpacked into a folder of its own, with everything that it brings."
        yield f"Its content is fixed: SHA-256 {pin.digest}."
        if pin.program == "uv":
            yield f"What it needs beside that is fetched by uv. {_building(pin)}"
        return
    more = pin.packages - 1
    with_more = f", with {more} {'package' if more == 1 else 'packages'} that it needs" if more else ""
    yield f"{what} of {'npm' if pin.kind == 'npm' else 'PyPI'} is installed into a folder of its own{with_more}."
    yield f"Each version and each content is fixed: SHA-256 of all {pin.digest}."
    if pin.kind == "npm":
        yield "Install scripts may run." if pin.scripts else "Install scripts do not run."
    else:
        yield _building(pin)


def _building(pin: Pin) -> str:
    return "Packages may be built here." if pin.scripts else "Nothing is built here, and nothing runs meanwhile."


def _pin_changes(before: Pin | None, now: Pin | None) -> Iterator[str]:
    if before is None and now is not None:
        yield f"{visible(now.name)} is installed once, at version {visible(now.version)}, instead of at each start."
    if before is None or now is None:
        return
    if (before.kind, before.name) != (now.kind, now.name):
        yield f"Package: was {visible(before.name)}, is {visible(now.name)}."
    if before.version != now.version:
        yield f"Version: was {visible(before.version)}, is {visible(now.version)}."
    elif before.digest != now.digest:
        yield "The content of its packages changed."
    if before.scripts != now.scripts:
        yield f"Install scripts {'may run now' if now.scripts else 'do not run any more'}."


def _readable(agreed: Agreed) -> Agreed:
    """Return an earlier one with slots for the keys in it."""
    look = KeyFinder()
    argv, environment = (agreed.argv[0], *look.words(agreed.argv[1:])), look.lines(agreed.environment)
    return msgspec.structs.replace(agreed, argv=argv, environment=environment) if look.found else agreed


def _slotted(text: str, keys: Mapping[str, str]) -> str:
    for slot, key in keys.items():
        text = text.replace(key, f"${{secret:{slot}}}")
    return text


def _changes(before: Agreed, now: Agreed) -> Iterator[str]:
    if before.argv != now.argv:
        yield from _word_changes(before.argv, now.argv)
    for line in before.environment:
        if line not in now.environment:
            yield f"Environment: {visible(line)} is gone."
    for line in now.environment:
        if line not in before.environment:
            yield f"Environment: {visible(line)} is new."
    yield from _pin_changes(before.pin, now.pin)
    yield from _ground_changes(before, now)
    # Who agreed before a file was bound did not see it change.
    yield from _file_changes(before.files, now.files, alike=before.kind == now.kind)


def _file_changes(before: Sequence[FileFacts], now: Sequence[FileFacts], *, alike: bool) -> Iterator[str]:
    old, new = {file.path: file for file in before}, {file.path: file for file in now}
    for path, file in new.items():
        known = old.get(path)
        if known is None:
            if alike:
                yield f"{visible(path)} is new among the files that it runs."
            continue
        if known.sha256 != file.sha256:
            yield f"The content of {visible(path)} changed."
        if known.owner != file.owner:
            yield f"The owner of {visible(path)} was {known.owner}, is {file.owner}."
    for path in old.keys() - new.keys():
        yield f"{visible(path)} is gone, or is not what it runs any more."


def _ground_changes(before: Agreed, now: Agreed) -> Iterator[str]:
    if before.sandbox_words() != now.sandbox_words():
        yield f"Sandbox: was “{before.sandbox_words() or 'none'}”, is “{now.sandbox_words() or 'none'}”."
    if before.folder != now.folder and not (before.sandbox and now.sandbox):
        yield f"Folder: was {_named(before.folder)}, is {_named(now.folder)}."
    elif before.kind >= _WITH_PLACES and before.places != now.places:
        was, now_is = (visible(", ".join(each.places)) or "no links" for each in (before, now))
        yield f"Where its folders lead: was {was}, is {now_is}."


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
