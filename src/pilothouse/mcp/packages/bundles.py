"""MCP bundles: kept for a while when they are dropped, unpacked into the server's room, started by what they say."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from pilothouse.helper.client import Helper, Unreadable
from pilothouse.mcp.packages.bundle_reading import HERE, Unpacking, read_bundle, unpack_bundle
from pilothouse.mcp.packages.facts import Unpacked, clean
from pilothouse.mcp.packages.failures import MustBeBuilt, must_be_built
from pilothouse.mcp.packages.pins import Pin, asked_for
from pilothouse.mcp.packages.running import Job, run
from pilothouse.mcp.packages.tools import Tools
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.servers import Package

# By itself the first leaves out what the bundle's own project is.
_NO_BUILDS = ("--no-build", "--no-install-project", "--no-install-workspace")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_Given = TypeVar("_Given")
_Returned = TypeVar("_Returned")


class KeptBundle(msgspec.Struct, frozen=True):
    """A bundle that was dropped: its hash, what it says about itself, and what is to be said about it."""

    sha256: str
    manifest: JsonObject
    warnings: tuple[str, ...] = ()


class Start(msgspec.Struct, frozen=True):
    """How a bundle's server is started; "${__dirname}" stands for where it is unpacked."""

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}


class Bundles:
    """Bundles of strangers: each is read in a process of its own."""

    def __init__(self, folder: Path, tools: Tools) -> None:
        self._folder = folder
        self._tools = tools

    async def keep(self, chunks: AsyncIterator[bytes], sha256: str = "") -> KeptBundle:
        """Keep a bundle for an hour, if it has this hash; raise a PilothouseError for what is none, keep nothing."""
        await asyncio.to_thread(self._forget_old)
        fresh, digest, size = await asyncio.to_thread(self._new_file), hashlib.sha256(), 0
        try:
            with fresh.open("wb") as file:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > limits.BUNDLE_BYTES:
                        most = limits.BUNDLE_BYTES // 1024**2
                        raise PilothouseError("too_large", f"A bundle has at most {most} MiB.")
                    digest.update(chunk)
                    await asyncio.to_thread(file.write, chunk)
            if sha256 and digest.hexdigest() != sha256:
                message = "The bundle is not the one that was named: its content has another SHA-256."
                raise PilothouseError("bad_request", message, fix="Do not use it, and tell its maker.")
            manifest = await asyncio.to_thread(_helped, read_bundle, str(fresh), limits.BUNDLE_READ_TIME)
            await asyncio.to_thread(os.replace, fresh, self._folder / digest.hexdigest())
        finally:
            fresh.unlink(missing_ok=True)
        return KeptBundle(digest.hexdigest(), manifest, tuple(_warnings(manifest)))

    def _new_file(self) -> Path:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".new-", dir=self._folder)
        os.close(descriptor)
        return Path(name)

    def _forget_old(self) -> None:
        with contextlib.suppress(OSError):
            for each in os.scandir(self._folder):
                if time.time() - each.stat().st_mtime > limits.BUNDLE_KEPT:
                    os.unlink(each.path)

    async def pin(self, package: Package, room: Path) -> Pin:
        """Return what a bundle is pinned to: its own content. It is put into the room, where it stays."""
        sha256 = package.identifier
        file = await asyncio.to_thread(self._in_room, sha256, room)
        manifest = await asyncio.to_thread(_helped, read_bundle, str(file), limits.BUNDLE_READ_TIME)
        return Pin(
            kind="mcpb",
            name=clean(manifest.get("display_name") or manifest.get("name") or "bundle"),
            version=clean(manifest.get("version")),
            digest=sha256,
            program=package.runtime_hint or "",
            scripts=package.scripts,
            wanted=asked_for(package),
            warnings=tuple(_warnings(manifest)),
        )

    def check(self, sha256: str) -> None:
        """Raise a PilothouseError unless this bundle was dropped and is still here."""
        if not _SHA256.fullmatch(sha256) or not (self._folder / sha256).is_file():
            raise _gone()

    def _in_room(self, sha256: str, room: Path) -> Path:
        """Return the bundle's file in a room, taken there from where it was dropped."""
        place = room / "locks" / f"{sha256}.mcpb"
        dropped = self._folder / sha256
        if not _SHA256.fullmatch(sha256) or not (place.is_file() or dropped.is_file()):
            raise _gone()
        if not place.is_file():
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(dropped, place)
        with place.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == sha256:
                return place
        place.unlink(missing_ok=True)
        raise PilothouseError("server_failed", "The bundle is not the one that was dropped.", fix="Drop it again.")

    async def install(self, package: Package, pin: Pin, room: Path, place: Path) -> Unpacked:
        """Unpack a bundle; return how it is started."""
        file = await asyncio.to_thread(self._in_room, pin.digest, room)
        folder = place / "bundle"
        await asyncio.to_thread(folder.mkdir, mode=0o700)
        wanted = Unpacking(str(file), str(folder))
        await asyncio.to_thread(_helped, unpack_bundle, wanted, limits.BUNDLE_UNPACK_TIME)
        variables = await self._prepared(pin, folder, place)
        command = await asyncio.to_thread(self._command, package.runtime_hint or "", folder)
        return Unpacked(command=command, folder=str(folder), variables=variables)

    async def _prepared(self, pin: Pin, folder: Path, place: Path) -> dict[str, str]:
        """Have uv install what a bundle of its kind needs; return the variables by which it finds that again."""
        if pin.program != "uv":
            return {}
        variables = {
            "UV_PROJECT_ENVIRONMENT": str(place / "venv"),
            "UV_CACHE_DIR": str(place / "uv"),
            "UV_PYTHON_DOWNLOADS": "never",
        }
        uv = await asyncio.to_thread(self._tools.uv)
        # What is built runs code of the bundle, and no sandbox holds it meanwhile.
        builds = () if pin.scripts else _NO_BUILDS
        argv = (uv, "sync", "--quiet", "--no-dev", *builds, "--python", sys.executable, "--directory", str(folder))
        done = await run(Job(argv=argv, folder=folder, variables=variables, runs_code=True))
        if not done.ok and not pin.scripts and must_be_built(done.said):
            raise MustBeBuilt(pin.name)
        if not done.ok:
            why = clean(done.said.strip().splitlines()[0]) if done.said.strip() else "uv says nothing"
            raise PilothouseError("server_failed", f"What {pin.name} needs could not be installed: {why}.")
        await asyncio.to_thread(shutil.rmtree, place / "uv", ignore_errors=True)
        return {**variables, "UV_NO_SYNC": "1"}

    def _command(self, command: str, folder: Path) -> tuple[str, ...]:
        """Return the program that a bundle names: Node, Python or uv of this machine, or a file of its own."""
        plain = command.removesuffix(".exe")
        if plain in ("node", "nodejs"):
            return (self._tools.node().program,)
        if plain == "uv":
            return (self._tools.uv(),)
        if re.fullmatch(r"python3?(\.\d+)?", plain):
            return (shutil.which("python3") or sys.executable,)
        named = Path(command.replace(HERE, str(folder)))
        path = Path(os.path.normpath(named if named.is_absolute() else folder / named))
        if not path.is_relative_to(folder) or not path.is_file():
            message = f"The bundle is started by {clean(command)}, which is neither in it nor known here."
            raise PilothouseError("server_failed", message, fix="Ask its maker for a bundle that is whole.")
        path.chmod(0o700)
        return (str(path),)


def start_of(manifest: JsonObject, platform: str = sys.platform) -> Start:
    """Return how a bundle's server is started on a platform, in the words of its manifest."""
    server = manifest["server"]
    config = server.get("mcp_config")
    config = config if isinstance(config, dict) else {}
    if server.get("type") == "uv" and not config:
        entry = str(server.get("entry_point") or "server.py")
        return Start("uv", ("run", "--directory", HERE, entry))
    overrides = config.get("platform_overrides")
    other = overrides.get(platform) if isinstance(overrides, dict) else None
    other = other if isinstance(other, dict) else {}
    args = other.get("args", config.get("args"))
    return Start(
        command=str(other.get("command") or config.get("command") or ""),
        args=tuple(map(str, args)) if isinstance(args, list) else (),
        env={**_texts(config.get("env")), **_texts(other.get("env"))},
    )


def _gone() -> PilothouseError:
    message = "The bundle is not here any more; one that was dropped is kept for an hour."
    return PilothouseError("bad_request", message, fix="Drop it again.")


def _texts(given: object) -> dict[str, str]:
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, Mapping) else {}


def _warnings(manifest: JsonObject) -> list[str]:
    compatible = manifest.get("compatibility")
    platforms = compatible.get("platforms") if isinstance(compatible, dict) else None
    if isinstance(platforms, list) and platforms and sys.platform not in platforms:
        return [f"Its maker says that it runs on {clean(', '.join(map(str, platforms)))}, not on this system."]
    return []


def _helped(function: Callable[[_Given], _Returned], given: _Given, seconds: float) -> _Returned:
    """Return what a function of the helper gives; a process of its own, since a bundle takes longer than a file."""
    helper = Helper()
    try:
        return helper.ask(function, given, seconds)
    except Unreadable as error:
        raise PilothouseError("bad_request", f"The bundle cannot be read: {error.why}.") from None
    finally:
        helper.close()
