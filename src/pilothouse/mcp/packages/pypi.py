"""Packages of PyPI, through uv as this machine has it configured."""

from __future__ import annotations

import asyncio
import configparser
import contextlib
import email.parser
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pilothouse.mcp.packages.facts import PackageFacts, Unpacked, clean
from pilothouse.mcp.packages.failures import NoSuchPackage, explained, no_program, not_found
from pilothouse.mcp.packages.locks import Lock, digest_of
from pilothouse.mcp.packages.pins import Pin, Wanted, program_of
from pilothouse.mcp.packages.running import Done, Job, run
from pilothouse.mcp.packages.tools import Tools
from pilothouse.types import limits

_PINNED = re.compile(r"^([A-Za-z0-9][\w.-]*+)(?:\[[^\]\n]{0,200}\])?==([^\s;\\]+)", re.M)
_YANKED = re.compile(r"(?i)warning:[^\n]{0,400}?\byanked\b[^\n]*")
_NEEDS_PYTHON = re.compile(r"(?i)requires-python|Python\s?[<>=]|does not satisfy Python")
_WHEELS = ("--only-binary", ":all:")
_INDEXES = ("UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL")


class PyPI:
    """Resolves, describes and installs; wheels alone, which run nothing, unless the person allowed building."""

    def __init__(self, tools: Tools, cache: Path) -> None:
        self._tools = tools
        self._cache = cache

    async def facts(self, wanted: Wanted) -> PackageFacts | None:
        """Return what PyPI says about a package; None if there is none."""
        try:
            found = await self._compiled(wanted, "--no-deps")
        except NoSuchPackage:
            return None
        return await self._described(wanted, found)

    async def resolve(self, wanted: Wanted) -> Lock:
        """Return which packages would be installed; raise a PilothouseError in one sentence."""
        found = await self._compiled(wanted, "--generate-hashes")
        facts = await self._described(wanted, found)
        program = program_of(wanted.name, facts.programs, wanted.program)
        if program is None:
            raise no_program(wanted, facts.programs)
        warnings = (f"Its maker took this version back: {facts.deprecated}",) if facts.deprecated else ()
        pin = Pin(
            kind="pypi",
            name=wanted.name,
            version=facts.version,
            digest=digest_of("pypi", found.text),
            program=program,
            packages=len(_PINNED.findall(found.text)),
            scripts=wanted.scripts,
            wanted=wanted.text,
            warnings=warnings,
            python="" if found.python == sys.executable else found.python,
        )
        return Lock(pin, found.text)

    async def install(self, lock: Lock, wanted: Wanted, folder: Path) -> Unpacked:
        """Install what was locked into a folder; return how its program is started."""
        uv = await asyncio.to_thread(self._tools.uv)
        requirements, venv = folder / "requirements.txt", folder / "venv"
        await asyncio.to_thread(requirements.write_text, lock.text, "utf-8")
        python = lock.pin.python or sys.executable
        done = await self._run((uv, "venv", "--quiet", "--no-project", "--python", python, str(venv)), folder)
        if not done.ok:
            raise explained(wanted, done.said)
        words = ("pip", "install", "--quiet", "--require-hashes", "--no-deps", "--python", str(venv / "bin" / "python"))
        # In a sandbox nothing could keep what each start would compile anew.
        argv = (uv, *words, "--compile-bytecode", *_builds(wanted), "-r", str(requirements))
        done = await self._run(argv, folder, runs_code=lock.pin.scripts)
        if not done.ok:
            raise explained(wanted, done.said)
        program = venv / "bin" / lock.pin.program
        if not os.access(program, os.X_OK):
            raise no_program(wanted, ())
        return Unpacked(command=(str(program),), path=(str(venv / "bin"),))

    async def _compiled(self, wanted: Wanted, option: str) -> _Compiled:
        """Return what a wish resolves to, for our Python or for the newest of this machine where it needs that."""
        python, done = sys.executable, await self._compile(wanted, option, sys.executable)
        if not done.ok and _NEEDS_PYTHON.search(done.said) and (other := await self._newest_python()):
            python, done = other, await self._compile(wanted, option, other)
        if not done.ok:
            raise explained(wanted, done.said)
        return _Compiled(done.output.decode(errors="replace"), done.said, python)

    async def _compile(self, wanted: Wanted, option: str, python: str) -> Done:
        uv = await asyncio.to_thread(self._tools.uv)
        # Before the person agreed nothing is built, whatever the file of servers says.
        words = ("pip", "compile", "-", option, "--no-header", "--no-annotate", "--python", python, *_WHEELS)
        given = "\n".join((wanted.spoken, *wanted.requirements, "")).encode()
        with tempfile.TemporaryDirectory(prefix="pilothouse-uv-") as folder:
            return await self._run((uv, *words), Path(folder), given=given)

    async def _newest_python(self) -> str:
        """Return the newest other Python of this machine; empty where ours is that."""
        uv = await asyncio.to_thread(self._tools.uv)
        newer = f">{sys.version_info.major}.{sys.version_info.minor}.{sys.version_info.micro}"
        done = await self._run((uv, "python", "find", "--no-project", "--system", newer), Path(tempfile.gettempdir()))
        return done.output.decode(errors="replace").strip() if done.ok else ""

    async def _described(self, wanted: Wanted, found: _Compiled) -> PackageFacts:
        """Return what the package's own wheel says; it is put aside, and nothing of it runs."""
        uv, version = await asyncio.to_thread(self._tools.uv), _version_of(wanted, found.text)
        with tempfile.TemporaryDirectory(prefix="pilothouse-uv-") as made:
            target = Path(made) / "it"
            words = ("pip", "install", "--quiet", "--no-deps", *_WHEELS, "--target", str(target))
            argv = (uv, *words, "--python", found.python, f"{wanted.name}=={version}")
            done = await self._run(argv, Path(made))
            if not done.ok:
                raise explained(wanted, done.said)
            programs, about = await asyncio.to_thread(_of_wheel, target)
        return PackageFacts(
            kind="pypi",
            name=wanted.name,
            version=version,
            description=clean(about.get("Summary")),
            licence=clean(about.get("License-Expression") or about.get("License")),
            programs=programs,
            deprecated=_yanked(found.said),
        )

    async def _run(self, argv: tuple[str, ...], folder: Path, *, given: bytes = b"", runs_code: bool = False) -> Done:
        await asyncio.to_thread(self._cache.mkdir, mode=0o700, parents=True, exist_ok=True)
        installs = argv[1:3] == ("pip", "install")
        return await run(
            Job(
                argv=argv,
                folder=folder,
                variables={"UV_CACHE_DIR": str(self._cache), "UV_PYTHON_DOWNLOADS": "never", **_index_of_pip()},
                given=given,
                seconds=limits.INSTALL_TIMEOUT if installs else limits.RESOLVE_TIMEOUT,
                runs_code=runs_code,
                output_bytes=limits.LOCK_BYTES,
            )
        )


class _Compiled(msgspec.Struct, frozen=True):
    """What uv resolved, what it said about it, and for which Python."""

    text: str
    said: str
    python: str


def _builds(wanted: Wanted) -> tuple[str, ...]:
    return () if wanted.scripts else _WHEELS


def _index_of_pip() -> dict[str, str]:
    """Return the index that pip is told of, where uv is told of none."""
    other = os.environ.get("PIP_INDEX_URL", "")
    return {"UV_DEFAULT_INDEX": other} if other and not any(os.environ.get(name) for name in _INDEXES) else {}


def _version_of(wanted: Wanted, text: str) -> str:
    name = _plain(wanted.name)
    version = next((found[2] for found in _PINNED.finditer(text) if _plain(found[1]) == name), None)
    if version is None:
        raise not_found(wanted)
    return version


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _yanked(said: str) -> str:
    found = _YANKED.search(said)
    return clean(found[0].partition(":")[2]) if found else ""


def _of_wheel(target: Path) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the programs of a wheel that was unpacked into a folder, and its metadata."""
    programs: dict[str, None] = {}
    about: Mapping[str, str] = {}
    for metadata in target.glob("*.dist-info"):
        entries = configparser.ConfigParser(delimiters=("=",), interpolation=None)
        entries.optionxform = str  # type: ignore[assignment,method-assign]
        with contextlib.suppress(OSError, configparser.Error, UnicodeDecodeError):
            entries.read_string((metadata / "entry_points.txt").read_text("utf-8"))
        if entries.has_section("console_scripts"):
            programs |= dict.fromkeys(entries.options("console_scripts"))
        with contextlib.suppress(OSError, UnicodeDecodeError):
            headers = email.parser.HeaderParser().parsestr((metadata / "METADATA").read_text("utf-8"))
            about = {name: str(headers[name]) for name in ("Summary", "License-Expression", "License") if headers[name]}
    scripts = target / "bin"
    programs |= dict.fromkeys(sorted(each.name for each in scripts.iterdir()) if scripts.is_dir() else ())
    return tuple(programs), about
