"""Packages of npm, through the npm client as this machine has it configured."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from pathlib import Path

import msgspec

from pilothouse.mcp.packages.facts import PackageFacts, Unpacked, clean, listed
from pilothouse.mcp.packages.failures import NoSuchPackage, explained, no_program, not_found
from pilothouse.mcp.packages.locks import Lock, digest_of, npm_packages, unpinned
from pilothouse.mcp.packages.pins import Pin, Wanted, program_of
from pilothouse.mcp.packages.running import Around, Done, Job, run
from pilothouse.mcp.packages.tools import Node, Tools
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject, encode

_FIELDS = ("name", "version", "description", "license", "bin", "deprecated")
_QUIET = {"npm_config_update_notifier": "false", "npm_config_fund": "false", "npm_config_audit": "false"}
_JS = (".js", ".mjs", ".cjs")
_SHEBANG = re.compile(rb"#!\s*(?:/usr/bin/env\s+(?:-S\s+)?)?(?:\S*/)?node(?:js)?\b[ \t]*([^\r\n]*)")


class Npm:
    """Resolves, describes and installs; nothing of a package runs but where the person allowed its scripts."""

    def __init__(self, tools: Tools, cache: Path) -> None:
        self._tools = tools
        self._cache = cache

    async def facts(self, wanted: Wanted) -> PackageFacts | None:
        """Return what npm says about a package; None if there is none."""
        node = await asyncio.to_thread(self._tools.node)
        with tempfile.TemporaryDirectory(prefix="pilothouse-npm-") as folder:
            spec = f"{wanted.name}@{wanted.version or 'latest'}"
            done = await self._npm(node, Path(folder), ("view", "--json", spec, *_FIELDS), limits.RESOLVE_TIMEOUT)
        if not done.ok:
            error = explained(wanted, f"{done.said}\n{done.output.decode(errors='replace')}")
            if isinstance(error, NoSuchPackage):
                return None
            raise error
        return _facts(wanted, done.output)

    async def resolve(self, wanted: Wanted) -> Lock:
        """Return which packages would be installed; raise a PilothouseError in one sentence."""
        node = await asyncio.to_thread(self._tools.node)
        with tempfile.TemporaryDirectory(prefix="pilothouse-npm-") as made:
            folder = Path(made)
            _write_project(folder, wanted.name, wanted.version or "latest")
            words = ("install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund")
            done = await self._npm(node, folder, words, limits.RESOLVE_TIMEOUT)
            if not done.ok:
                raise explained(wanted, done.said)
            return await asyncio.to_thread(_lock, wanted, folder / "package-lock.json")

    async def install(self, lock: Lock, wanted: Wanted, folder: Path, around: Around) -> Unpacked:
        """Install what was locked into a folder; return how its program is started."""
        node = await asyncio.to_thread(self._tools.node)
        await asyncio.to_thread(_write_locked, folder, lock)
        # Never with scripts: whoever downloads has the person's credentials, and packages of git would be prepared.
        words = ("ci", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund", "--prefer-offline")
        done = await self._npm(node, folder, words, limits.INSTALL_TIMEOUT)
        if done.ok and lock.pin.scripts:
            done = await self._run_scripts(node, folder, around)
        if not done.ok:
            raise explained(wanted, done.said)
        return await asyncio.to_thread(self._unpacked, lock.pin, wanted, folder, node)

    async def _run_scripts(self, node: Node, folder: Path, around: Around) -> Done:
        """Let the packages run what they run when they are installed: in the server's sandbox, if it has one."""
        await asyncio.to_thread(around.home.mkdir, mode=0o700, parents=True, exist_ok=True)
        return await run(
            Job(
                argv=(*node.npm, "rebuild", "--no-audit", "--no-fund"),
                folder=folder,
                variables={
                    **_QUIET,
                    "npm_config_cache": str(around.home / ".npm"),
                    "HOME": str(around.home),
                    "PATH": _path(node),
                },
                runs_code=True,
                within=around.within,
            )
        )

    def _unpacked(self, pin: Pin, wanted: Wanted, folder: Path, node: Node) -> Unpacked:
        base = folder / "node_modules" / pin.name
        programs = _programs(_read_json(base / "package.json"), pin.name)
        script = base / programs.get(pin.program, "")
        inside = script.resolve().is_relative_to(base.resolve())
        if pin.program not in programs or not script.is_file() or not inside:
            raise no_program(wanted, tuple(programs))
        bins = str(folder / "node_modules" / ".bin")
        return Unpacked(command=_start(node.program, script), path=(bins, str(Path(node.program).parent)))

    async def _npm(self, node: Node, folder: Path, words: tuple[str, ...], seconds: float) -> Done:
        await asyncio.to_thread(self._cache.mkdir, mode=0o700, parents=True, exist_ok=True)
        return await run(
            Job(
                argv=(*node.npm, *words),
                folder=folder,
                variables={**_QUIET, "npm_config_cache": str(self._cache), "PATH": _path(node)},
                seconds=seconds,
                output_bytes=limits.LOCK_BYTES,
            )
        )


def _path(node: Node) -> str:
    """Return a search path on which scripts of npm find this node."""
    places = (Path(node.program).parent, Path(node.npm[0]).parent, os.environ.get("PATH", os.defpath))
    return os.pathsep.join(map(str, places))


def _write_project(folder: Path, name: str, version: str) -> None:
    project = {"name": "server", "version": "0.0.0", "private": True, "dependencies": {name: version}}
    (folder / "package.json").write_bytes(encode(project))


def _write_locked(folder: Path, lock: Lock) -> None:
    """Write a project that has exactly one solution, the lock."""
    _write_project(folder, lock.pin.name, lock.pin.version)
    (folder / "package-lock.json").write_text(lock.text, encoding="utf-8")


def _lock(wanted: Wanted, file: Path) -> Lock:
    """Return what npm resolved, with the one version in place of the tag or range that was asked for."""
    whole = _read_json(file)
    packages = npm_packages(encode(whole).decode())
    root = packages.get(f"node_modules/{wanted.name}")
    if root is None or not root.get("version"):
        raise not_found(wanted)
    version = str(root["version"])
    project = whole["packages"].setdefault("", {})
    project["dependencies"] = {wanted.name: version}
    text = encode(whole).decode()
    programs = _programs(root, wanted.name)
    program = program_of(wanted.name, tuple(programs), wanted.program) or _only_script(wanted, programs)
    if program is None:
        raise no_program(wanted, tuple(programs))
    pin = Pin(
        kind="npm",
        name=wanted.name,
        version=version,
        digest=digest_of("npm", text),
        program=program,
        packages=len(packages),
        scripts=wanted.scripts,
        wanted=wanted.text,
        warnings=tuple(_warnings(wanted, root, text, packages)),
    )
    return Lock(pin, text)


def _warnings(wanted: Wanted, root: JsonObject, text: str, packages: dict[str, JsonObject]) -> list[str]:
    said: list[str] = []
    if root.get("deprecated"):
        said.append(f"Its maker says that it is out of date: {clean(root['deprecated'])}")
    if loose := list(unpinned(text)):
        names = ", ".join(place.rpartition("node_modules/")[2] for place in loose[: limits.PACKAGES_NAMED])
        said.append(f"Nobody vouches for the content of {clean(names)}: it may change.")
    scripted = [place for place, each in packages.items() if each.get("hasInstallScript")]
    if scripted and wanted.scripts:
        said.append(
            f"{listed(len(scripted), 'package runs', 'packages run')} a program of its own when it is installed."
        )
    return said


def _only_script(wanted: Wanted, programs: dict[str, str]) -> str | None:
    """Return the first of several programs that are one and the same."""
    return next(iter(programs)) if not wanted.program and len(set(programs.values())) == 1 else None


def _programs(package: JsonObject, name: str) -> dict[str, str]:
    found = package.get("bin")
    if isinstance(found, str):
        found = {name.rpartition("/")[2]: found}
    if not isinstance(found, dict):
        return {}
    return {str(key).rpartition("/")[2]: str(value) for key, value in found.items()}


def _start(node: str, script: Path) -> tuple[str, ...]:
    """Return how a package's program is started: by Node, unless it says that something else runs it."""
    with script.open("rb") as file:
        first = file.read(256)
    if found := _SHEBANG.match(first):
        return (node, *found[1].decode(errors="replace").split(), str(script))
    if script.suffix in _JS or not first.startswith((b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")):
        return (node, str(script))
    script.chmod(script.stat().st_mode | 0o100)
    return (str(script),)


def _facts(wanted: Wanted, output: bytes) -> PackageFacts | None:
    try:
        told = msgspec.json.decode(output) if output.strip() else None
    except msgspec.DecodeError:
        raise PilothouseError("server_failed", "npm answered with something that is no JSON.") from None
    # A range has several answers, the newest last.
    told = told[-1] if isinstance(told, list) and told else told
    if not isinstance(told, dict) or not told.get("version"):
        return None
    licence = told.get("license")
    licence = licence.get("type") if isinstance(licence, dict) else licence
    return PackageFacts(
        kind="npm",
        name=wanted.name,
        version=clean(told["version"]),
        description=clean(told.get("description")),
        licence=clean(licence),
        programs=tuple(map(clean, _programs(told, wanted.name))),
        deprecated=clean(told.get("deprecated")),
    )


def _read_json(file: Path) -> JsonObject:
    try:
        data = file.read_bytes()
        found = msgspec.json.decode(data) if len(data) <= limits.LOCK_BYTES else None
    except (OSError, msgspec.DecodeError):
        found = None
    if not isinstance(found, dict):
        raise PilothouseError("server_failed", f"{file.name} of the package cannot be read.")
    return found
