"""Packages as servers have them: each pinned, and installed once in the server's own room."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec

from pilothouse.mcp.packages.bundle_reading import HERE
from pilothouse.mcp.packages.bundles import Bundles
from pilothouse.mcp.packages.facts import Unpacked
from pilothouse.mcp.packages.failures import MustBeBuilt
from pilothouse.mcp.packages.index import AskAdvisories, PackageIndex, no_advisories
from pilothouse.mcp.packages.locks import Lock
from pilothouse.mcp.packages.pins import PackageKind, Pin, Wanted, wanted_of
from pilothouse.mcp.packages.running import Around, Within
from pilothouse.mcp.packages.tools import Tools
from pilothouse.types import durable_files, limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.servers import Package

_DONE = "installed.json"
_LOCKS = "locks"


class PackageRooms:
    """Finds what a server is pinned to, and has it installed."""

    def __init__(self, index: PackageIndex, bundles: Bundles) -> None:
        self.index = index
        self.bundles = bundles
        # Two connections of one server install it once.
        self._installing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def pin(self, package: Package, room: Path) -> Pin | None:
        """Return what a package would be pinned to now; None for one that its starter finds."""
        if package.type == "mcpb":
            return await self.bundles.pin(package, room)
        wanted = wanted_of(package)
        if wanted is None:
            return None
        lock = await asyncio.to_thread(_recent, room, wanted)
        if lock is None:
            try:
                lock = await self.index.lock(wanted)
            except MustBeBuilt:
                if not wanted.scripts:
                    raise
                # Building runs its code, and nobody agreed to that yet: its starter does it, after the consent.
                return None
            await asyncio.to_thread(_keep, room, lock)
        return lock.pin

    async def check(self, package: Package) -> None:
        """Raise a PilothouseError for a package that is not there, has no program or is malicious."""
        await self.index.tidy()
        if package.type == "mcpb":
            await asyncio.to_thread(self.bundles.check, package.identifier)
        elif (wanted := wanted_of(package)) is not None:
            try:
                await self.index.lock(wanted)
            except PilothouseError as error:
                # An index that does not answer just now is told by the server itself, which can try again.
                if error.code == "bad_request":
                    raise

    async def keep(self, package: Package, pin: Pin, room: Path) -> None:
        """Keep what was agreed to, so that it can be installed at any time."""
        if pin.kind == "mcpb":
            return
        await asyncio.to_thread(_keep, room, await self._lock(package, pin, room))

    async def locked(self, pin: Pin, room: Path) -> Lock | None:
        """Return the lock that is kept of a pin, if it is whole."""
        file = room / _LOCKS / f"{pin.digest}.json"
        lock = await asyncio.to_thread(_read_lock, file) if pin.kind != "mcpb" else None
        return lock if lock is not None and lock.pin.digest == pin.digest else None

    def is_installed(self, pin: Pin, room: Path) -> bool:
        """Return whether it was installed to its end."""
        return (_place(room, pin) / _DONE).is_file()

    async def installed(self, package: Package, pin: Pin, room: Path, within: Within | None = None) -> Unpacked:
        """Return how a pinned package is started, installed if it is not; raise a PilothouseError that says why not.

        `within` holds what a package runs when it is installed.
        """
        place = _place(room, pin)
        turn = self._installing.setdefault(str(place), asyncio.Lock())
        async with turn:
            return await asyncio.to_thread(_read_done, place) or await self._install(package, pin, room, within)

    async def _install(self, package: Package, pin: Pin, room: Path, within: Within | None) -> Unpacked:
        place = _place(room, pin)
        # What an interrupted one left is never used.
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
        await asyncio.to_thread(place.mkdir, mode=0o700, parents=True)
        try:
            if pin.kind == "mcpb":
                made = await self.bundles.install(package, pin, room, place)
            else:
                lock = await self._lock(package, pin, room)
                # The home that it has in its sandbox, too.
                around = Around(room / "cache" / "home", within)
                made = await self.index.install(lock, _wanted(package, pin), place, around)
            await asyncio.to_thread(_write, place / _DONE, msgspec.json.encode(made))
        except BaseException as error:
            await asyncio.shield(asyncio.to_thread(shutil.rmtree, place, ignore_errors=True))
            if isinstance(error, OSError):
                why = (error.strerror or str(error)).lower()
                raise PilothouseError("server_failed", f"{pin.name} could not be installed: {why}.") from None
            raise
        return made

    async def _lock(self, package: Package, pin: Pin, room: Path) -> Lock:
        """Return the lock of a pin: the kept one, else the same once more from its index."""
        kept = await self.locked(pin, room)
        if kept is not None:
            return kept
        for wanted in (wanted_of(package), _wanted(package, pin)):
            if wanted is not None:
                lock = await self.index.lock(wanted)
                if lock.pin.digest == pin.digest:
                    return lock
        message = f"What {pin.name} {pin.version} brings is not what you agreed to any more."
        fix = "Remove the server and add it again, or take a newer version."
        raise PilothouseError("server_failed", message, fix=fix)

    async def clear(self, room: Path, but: Pin) -> None:
        """Remove every other version from a room."""
        kept = {_place(room, but).name, f"{but.digest}.json", f"{but.digest}.mcpb"}

        def clear() -> None:
            for folder in (room / "packages", room / _LOCKS):
                for each in folder.iterdir() if folder.is_dir() else ():
                    if each.name not in kept:
                        shutil.rmtree(each) if each.is_dir() else each.unlink(missing_ok=True)

        await asyncio.to_thread(clear)


def rooms_in(cache: Path, advisories: AskAdvisories = no_advisories) -> PackageRooms:
    """Return who installs packages, with what they download below a folder."""
    tools = Tools()
    return PackageRooms(PackageIndex(cache / "packages", tools, advisories), Bundles(cache / "bundles", tools))


def _wanted(package: Package, pin: Pin) -> Wanted:
    """Return the wish for exactly what is pinned."""
    wanted = wanted_of(package)
    kind: PackageKind = "npm" if pin.kind == "npm" else "pypi"
    if wanted is None or wanted.kind != kind:
        wanted = Wanted(kind=kind, name=pin.name)
    return msgspec.structs.replace(wanted, version=pin.version, scripts=pin.scripts)


def _keep(room: Path, lock: Lock) -> None:
    _write(room / _LOCKS / f"{lock.pin.digest}.json", msgspec.json.encode(lock))


def _read_lock(file: Path) -> Lock | None:
    try:
        lock = msgspec.json.decode(file.read_bytes(), type=Lock)
    except (OSError, msgspec.MsgspecError):
        return None
    return lock if lock.is_whole() else None


def _recent(room: Path, wanted: Wanted) -> Lock | None:
    """Return what was resolved for this server a while ago, perhaps by another process of ours."""
    for file in (room / _LOCKS).glob("*.json"):
        with contextlib.suppress(OSError):
            if time.time() - file.stat().st_mtime < limits.LOCK_AGE:
                lock = _read_lock(file)
                if lock is not None and lock.pin.wanted == wanted.text:
                    return lock
    return None


def place_in(room: str, pin: Pin) -> str:
    """Return the folder that a pinned package is installed in."""
    return str(_place(Path(room), pin))


def _place(room: Path, pin: Pin) -> Path:
    # With their scripts they are not what they are without.
    return room / "packages" / (f"{pin.digest}-scripts" if pin.scripts else pin.digest)


def started_as(
    unpacked: Unpacked, argv: Sequence[str], env: Mapping[str, str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the command and the variables of an installed package: the program itself, with the given arguments."""
    here = unpacked.folder
    words = tuple(word.replace(HERE, here) for word in argv[1:])
    given = {name: value.replace(HERE, here) for name, value in env.items()}
    path = given.get("PATH") or os.environ.get("PATH", os.defpath)
    own = {"PATH": os.pathsep.join((*unpacked.path, path))} if unpacked.path else {}
    return (*unpacked.command, *words), {**unpacked.variables, **given, **own}


def _read_done(place: Path) -> Unpacked | None:
    try:
        found = msgspec.json.decode((place / _DONE).read_bytes(), type=Unpacked)
    except (OSError, msgspec.MsgspecError):
        return None
    # Node may have been moved or removed since, or the data folder.
    paths = [*found.path[:1], *(word for word in found.command if os.path.isabs(word))]
    is_here = any(Path(path).is_relative_to(place) for path in (*paths, found.folder))
    return found if paths and is_here and all(map(os.path.exists, paths)) else None


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    durable_files.replace(path, data)
