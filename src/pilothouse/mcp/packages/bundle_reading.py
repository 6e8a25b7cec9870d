"""Reading and unpacking MCP bundles (.mcpb, .dxt), in a helper process: a bundle may be made to break its reader."""

from __future__ import annotations

import os
import re
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NoReturn

import msgspec

from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject

MANIFEST = "manifest.json"
HERE = "${__dirname}"
RUNTIME = re.compile(r"(?:node|nodejs|uv|python3?(?:\.\d+)?)(?:\.exe)?")
_DAMAGE = (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError)
_TYPES = ("node", "python", "uv", "binary")
_CHUNK = 256 * 1024
_FOR_ALL = "Ask its maker for a bundle that is whole."


class Unpacking(msgspec.Struct, frozen=True):
    """A bundle, and the empty folder that it is unpacked into."""

    file: str
    folder: str


def read_bundle(file: str) -> JsonObject:
    """Return a bundle's manifest; raise a PilothouseError in one sentence for what is no bundle."""
    with _opened(file) as bundle:
        _checked(bundle, Path(file).stat().st_size)
        return _manifest(bundle)


def unpack_bundle(wanted: Unpacking) -> int:
    """Unpack a bundle and return how many files it has; nothing is written outside of the folder."""
    with _opened(wanted.file) as bundle:
        entries = _checked(bundle, Path(wanted.file).stat().st_size)
        _manifest(bundle)
        left = limits.BUNDLE_UNPACKED_BYTES
        for entry in entries:
            left -= _write(bundle, entry, Path(wanted.folder), left)
        return len(entries)


def _opened(file: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError):
        _refuse("This file is no MCP bundle: it is not a ZIP archive.", "Choose a file that ends in .mcpb or .dxt.")


def _refuse(message: str, fix: str = _FOR_ALL) -> NoReturn:
    raise PilothouseError("bad_request", message, fix=fix) from None


def _checked(bundle: zipfile.ZipFile, size: int) -> list[zipfile.ZipInfo]:
    """Return the files of a bundle, if all of them may be written."""
    entries = [each for each in bundle.infolist() if not each.is_dir()]
    if len(entries) > limits.BUNDLE_FILES:
        _refuse(f"This bundle has more than {limits.BUNDLE_FILES} files.")
    whole = sum(each.file_size for each in entries)
    if whole > limits.BUNDLE_UNPACKED_BYTES or whole > max(size, 1) * limits.BUNDLE_RATIO:
        _refuse("This bundle unpacks to far more than it is; it is not opened.")
    seen: set[str] = set()
    for entry in entries:
        _check_name(entry)
        if entry.filename in seen:
            _refuse("This bundle has two files of the same name.")
        seen.add(entry.filename)
    return entries


def _check_name(entry: zipfile.ZipInfo) -> None:
    name, mode = entry.filename, entry.external_attr >> 16
    parts = PurePosixPath(name).parts
    leads_out = name.startswith("/") or ".." in parts or "\\" in name or "\0" in name or (parts and ":" in parts[0])
    if leads_out or not parts:
        _refuse("This bundle has a file whose path leads out of its folder; it is not opened.")
    kind = stat.S_IFMT(mode)
    if kind and kind not in (stat.S_IFREG, stat.S_IFDIR):
        _refuse("This bundle has a link or a device in it; it is not opened.")
    if entry.flag_bits & 0x1:
        _refuse("This bundle is encrypted.")


def _manifest(bundle: zipfile.ZipFile) -> JsonObject:
    try:
        entry = bundle.getinfo(MANIFEST)
        if entry.file_size > limits.MANIFEST_BYTES:
            _refuse("The manifest of this bundle is too long.")
        with bundle.open(entry) as file:
            manifest = msgspec.json.decode(file.read(limits.MANIFEST_BYTES + 1))
    except KeyError:
        _refuse("This is no MCP bundle: it has no manifest.json.")
    except _DAMAGE:
        _refuse("This bundle is damaged: its manifest cannot be read.")
    except (msgspec.DecodeError, UnicodeDecodeError, OSError):
        _refuse("The manifest of this bundle is not JSON.")
    if not isinstance(manifest, dict) or not isinstance(manifest.get("server"), dict):
        _refuse("The manifest of this bundle does not say how its server is started.")
    if manifest["server"].get("type") not in _TYPES:
        _refuse(
            "The manifest of this bundle names a kind of server that is not known here: node, python, uv or binary."
        )
    for problem in _problems(manifest, set(bundle.namelist())):
        _refuse(problem)
    return manifest


def _problems(manifest: JsonObject, names: set[str]) -> Iterator[str]:
    server = manifest["server"]
    entry = server.get("entry_point")
    if isinstance(entry, str) and (entry.startswith(("/", "~")) or ".." in PurePosixPath(entry).parts):
        yield "The manifest of this bundle names a file outside of it."
    config = server.get("mcp_config")
    if server["type"] != "uv" and not (isinstance(config, dict) and isinstance(config.get("command"), str)):
        yield "The manifest of this bundle does not say which command starts its server."
    elif isinstance(config, dict) and not _is_of(_command(config), names):
        yield "The manifest of this bundle starts a program that is neither in it nor one of node, python and uv."


def _command(config: JsonObject) -> str:
    """Return what is started on this system."""
    overrides = config.get("platform_overrides")
    own = overrides.get(sys.platform) if isinstance(overrides, dict) else None
    return str((own.get("command") if isinstance(own, dict) else None) or config.get("command", ""))


def _is_of(command: str, names: set[str]) -> bool:
    """Return whether a bundle may start this: a runtime of this machine, or a file that it brings."""
    if not command or RUNTIME.fullmatch(command):
        return True
    inside = command.removeprefix(HERE).removeprefix("/") if command.startswith(HERE) else command
    return os.path.normpath(inside) in {os.path.normpath(name) for name in names}


def _write(bundle: zipfile.ZipFile, entry: zipfile.ZipInfo, folder: Path, left: int) -> int:
    path = folder.joinpath(*PurePosixPath(entry.filename).parts)
    mode = 0o700 if (entry.external_attr >> 16) & 0o111 else 0o600
    written = 0
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What a name in the archive says of its size is no promise.
        with (
            bundle.open(entry) as source,
            open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file,
        ):
            while piece := source.read(_CHUNK):
                written += len(piece)
                if written > left:
                    _refuse("This bundle unpacks to far more than it is; it is not opened.")
                file.write(piece)
    except _DAMAGE:
        _refuse("This bundle is damaged: a file in it cannot be read.")
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        _refuse("This bundle has two files of the same name.")
    except OSError as error:
        why = (error.strerror or "unknown reason").lower()
        _refuse(f"This bundle could not be unpacked: {why}.", "Make room on the disk, or ask its maker for another.")
    return written
