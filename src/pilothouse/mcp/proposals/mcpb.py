"""The manifest of an MCP bundle made into what could be added: what would start, and what it wants filled in."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pilothouse.mcp.proposals.blanks import Blanks, Kind, Wanted
from pilothouse.mcp.proposals.texts import shown
from pilothouse.types import limits
from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject, an_object
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import ManualSource, ServerInput

_KINDS: dict[object, Kind] = {
    "string": "string",
    "number": "number",
    "boolean": "boolean",
    "directory": "folder",
    "file": "file",
}
_SLOT = re.compile(r"\$\{([^{}$]{1,120})\}")
_PLATFORMS = {"linux": "linux", "darwin": "darwin", "win32": "win32"}
_FOLDERS = {"HOME": "", "DESKTOP": "Desktop", "DOCUMENTS": "Documents", "DOWNLOADS": "Downloads"}
# Where a bundle is unpacked is known when it is added.
_UNPACKED = "__dirname"
_USUAL = {
    "node": ("node", "${__dirname}/{}"),
    "python": ("python3", "${__dirname}/{}"),
    "uv": ("uv", "run", "--directory", "${__dirname}", "{}"),
    "binary": ("${__dirname}/{}",),
}


def proposal_of(manifest: JsonObject, sha256: str, warnings: Sequence[str] = ()) -> Proposal:
    """Return what a bundle offers; one that cannot be used says why."""
    title = shown(manifest.get("display_name"), limits.KEY_LABEL_CHARS)
    name = title or shown(manifest.get("name"), limits.KEY_LABEL_CHARS) or "bundle"
    version = shown(manifest.get("version"), 40)
    made = Proposal(
        name=name,
        kind="mcpb",
        runs=f"the bundle {name} {version}".strip(),
        server=None,
        source=ManualSource(),
        description=shown(manifest.get("description")),
        warnings=tuple(warnings),
    )
    try:
        return _Bundle(manifest, name, sha256).filled_into(made)
    except BadField as error:
        return msgspec.structs.replace(made, problem=error.message)


class _Bundle:
    """One bundle: its command with marks for what is to be filled in."""

    def __init__(self, manifest: JsonObject, name: str, sha256: str) -> None:
        self._manifest = manifest
        self._name = name
        self._sha256 = sha256
        self._blanks = Blanks()
        self._wanted = {
            str(key): _wanted(str(key), an_object(raw))
            for key, raw in list(an_object(manifest.get("user_config")).items())[: limits.PROPOSAL_FIELDS]
        }

    def filled_into(self, made: Proposal) -> Proposal:
        """Return the proposal with its server and its fields."""
        self._check_platform()
        config = self._config()
        command, *args = config.command
        env = self._env(config.env)
        server = ServerInput(
            name=self._name,
            command=self._text(command),
            args=tuple(self._text(word) for word in args),
            plain_env=env,
            bundle=self._sha256,
        )
        if re.search(r"\$\{(field|secret):", server.command or ""):
            raise BadField((), "Its manifest wants what it starts filled in, and not only what it is given.")
        return msgspec.structs.replace(
            made, server=server, fields=self._blanks.fields, auth_type=self._blanks.auth_type
        )

    def _check_platform(self) -> None:
        platforms = an_object(self._manifest.get("compatibility")).get("platforms")
        if isinstance(platforms, list) and platforms and _PLATFORMS.get(sys.platform, sys.platform) not in platforms:
            named = ", ".join(shown(each, 20) for each in platforms[:5])
            raise BadField((), f"The bundle is made for {named}, and not for this system.")

    def _config(self) -> _Config:
        server = an_object(self._manifest.get("server"))
        given = an_object(server.get("mcp_config"))
        own = an_object(an_object(given.get("platform_overrides")).get(_PLATFORMS.get(sys.platform, "")))
        command = own.get("command", given.get("command"))
        args, env = own.get("args", given.get("args", [])), {**an_object(given.get("env")), **an_object(own.get("env"))}
        if command is None:
            return _Config(_by_entry_point(server), env)
        if not isinstance(command, str) or not command.strip():
            raise BadField((), "The manifest's command is not a text.")
        if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
            raise BadField((), "The manifest's arguments are not a list of texts.")
        if len(args) > limits.PROPOSAL_WORDS:
            raise BadField((), "The manifest's command line is too long.")
        return _Config((command, *args), env)

    def _env(self, raw: Mapping[str, object]) -> dict[str, str]:
        plain: dict[str, str] = {}
        for name, value in raw.items():
            if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
                raise BadField((), "The manifest's variables are not names and texts.")
            whole = re.fullmatch(r"\$\{user_config\.([^{}]+)\}", value)
            known = self._wanted.get(whole[1]) if whole else None
            if known is not None and known.secret:
                self._blanks.key(f"env:{name}", known)
            else:
                plain[name] = self._text(value)
        return plain

    def _text(self, text: str) -> str:
        if _UNPACKED in text and ".." in re.split(r"[\\/]", text):
            raise BadField((), "The manifest names a path that leads out of the bundle.")
        return _SLOT.sub(self._one, text)

    def _one(self, hit: re.Match[str]) -> str:
        inside = hit[1]
        if inside == _UNPACKED:
            return hit[0]
        if inside in ("/", "pathSeparator"):
            return "/"
        if inside in _FOLDERS:
            return str(Path.home() / _FOLDERS[inside])
        key = inside.removeprefix("user_config.")
        known = self._wanted.get(key) if key != inside else None
        if known is None:
            raise BadField((), f"The manifest refers to “{shown(inside, 60)}”, which it does not describe.")
        return self._blanks.slot(known) if known.secret else self._blanks.value(known)


class _Config(msgspec.Struct, frozen=True):
    """What starts, and its variables."""

    command: tuple[str, ...]
    env: Mapping[str, object]


def _by_entry_point(server: JsonObject) -> tuple[str, ...]:
    entry, kind = server.get("entry_point"), server.get("type")
    if not isinstance(entry, str) or not isinstance(kind, str) or kind not in _USUAL:
        raise BadField((), "The manifest does not say what to start.")
    if entry.startswith("/") or ".." in re.split(r"[\\/]", entry) or "$" in entry:
        raise BadField((), "The manifest's entry point leads out of the bundle.")
    return tuple(word.replace("{}", entry) for word in _USUAL[kind])


def _wanted(key: str, raw: JsonObject) -> Wanted:
    default = raw.get("default")
    rows = default if isinstance(default, list) else [default]
    plain = [_home(each) if isinstance(each, str) else each for each in rows if isinstance(each, str | int | float)]
    is_many = raw.get("multiple") is True
    return Wanted(
        name=key,
        title=str(raw.get("title") or ""),
        about=str(raw.get("description") or ""),
        kind=_KINDS.get(raw.get("type"), "string"),
        required=raw.get("required") is True,
        secret=raw.get("sensitive") is True,
        default=plain if is_many else next(iter(plain), None),
        repeated=is_many,
    )


def _home(text: str) -> str:
    """Return a default with the person's own folders in it."""

    def one(hit: re.Match[str]) -> str:
        return str(Path.home() / _FOLDERS[hit[1]]) if hit[1] in _FOLDERS else hit[0]

    return _SLOT.sub(one, text)
