"""`config.json`: profiles, the list of MCP servers, and the settings that are not models."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from pilothouse import __version__
from pilothouse.settings.json_file import JsonFile
from pilothouse.types import limits
from pilothouse.types.api import ConfigPatch, ConfigView
from pilothouse.types.conversations import ConversationSettings, check_numbers
from pilothouse.types.embeddings import Embeddings, endpoint_problem
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject
from pilothouse.types.setting import check_bounds, fields_of, shown
from pilothouse.types.settings import Profile, Settings
from pilothouse.types.spelling import from_file
from pilothouse.types.timeouts import ToolTimeouts

if TYPE_CHECKING:
    from pilothouse.types.shared import OpenJson

VERSION = "1.0"


class Config(Settings, frozen=True, kw_only=True):
    """The content of `config.json`: the settings, spelled with underscores there, and the servers."""

    version: str = VERSION
    # Kept as it is; the servers in it belong to another part.
    mcps: tuple[JsonObject, ...] = ()
    # Registries of one's own, and other addresses of those that everyone has; they belong to another part, too.
    registries: tuple[JsonObject, ...] = ()

    def active_settings(self) -> ConversationSettings:
        """Return what the active profile sets for new conversations."""
        found = (profile.settings for profile in self.profiles if profile.id == self.active_profile)
        return next(found, ConversationSettings())


def parse_config(raw: JsonObject) -> Config:
    """Return the content of `config.json`; raise a BadField for what does not fit."""
    config = from_file(raw, Config)
    if config.version.partition(".")[0] != VERSION.partition(".")[0]:
        message = f"Version {config.version} of this file is not known here; this is version {VERSION}."
        raise BadField(("version",), message)
    _check_timeouts(config.tool_timeouts)
    check_bounds(config)
    _check_profiles(config)
    _check_embeddings(config.embeddings)
    return config


def _write(raw: JsonObject, kind: type[msgspec.Struct], changes: JsonObject) -> None:
    """Put changes, spelled as in the API, among what the file has of a group of settings; whatever else stays."""
    for field in fields_of(kind):
        if field.encode_name not in changes:
            continue
        value, before = changes[field.encode_name], raw.get(field.name)
        if value is None and field.default is not None:
            raw.pop(field.name, None)
        elif field.group is not None:
            # Whole, so that a person who reads the file sees what else there is.
            raw[field.name] = {each.name: each.default for each in fields_of(field.group)} | (before or {})
            _write(raw[field.name], field.group, value)
        elif isinstance(value, dict):
            merged = {**(before or {}), **value}
            raw[field.name] = {name: each for name, each in merged.items() if each is not None}
        else:
            raw[field.name] = value


def _check_embeddings(embeddings: Embeddings) -> None:
    if embeddings.source != "endpoint":
        return
    if problem := endpoint_problem(embeddings.url or "", embeddings.model or ""):
        raise BadField(("embeddings", "model" if embeddings.url else "url"), problem)


def _check_profiles(config: Config) -> None:
    seen: set[str] = set()
    for index, profile in enumerate(config.profiles):
        if not profile.id or not profile.name.strip():
            raise BadField(("profiles", index), "A profile needs an id and a name.")
        if profile.id in seen:
            raise BadField(("profiles", index, "id"), f"Two profiles have the id “{profile.id}”.")
        if len(profile.name) > limits.TITLE_CHARS:
            raise BadField(
                ("profiles", index, "name"), f"A profile's name has at most {limits.TITLE_CHARS} characters."
            )
        seen.add(profile.id)
    if config.active_profile is not None and config.active_profile not in seen:
        raise BadField(("active_profile",), f"The active profile “{config.active_profile}” is not in the list.")


def _check_timeouts(timeouts: ToolTimeouts) -> None:
    given: dict[tuple[str, ...], float | None] = {("tool_timeouts", "default"): timeouts.default}
    given |= {("tool_timeouts", "tools", name): seconds for name, seconds in timeouts.tools.items()}
    for path, seconds in given.items():
        if seconds is not None and not 0 < seconds < float("inf"):
            raise BadField(path, "A timeout is a number of seconds above 0.")


def initial_config() -> JsonObject:
    """Return what a new `config.json` holds."""
    return {
        "version": VERSION,
        "profiles": [],
        "active_profile": None,
        "mcps": [],
        "resume_after_restart": "auto",
        "enter_sends": True,
    }


class ConfigService:
    """Reads and changes `config.json`."""

    def __init__(self, home: Path, database: Literal["sqlite", "postgresql"], open_json: OpenJson = JsonFile) -> None:
        self._home = home
        self._database: Literal["sqlite", "postgresql"] = database
        self._usual_servers = usual_local_servers()
        about = shown(Settings)
        room = msgspec.structs.replace(about["localServers"], usual=str(self._usual_servers))
        self._about = about | {"localServers": room}
        backup = home / "cache" / "last-good-config.json"
        self.file = open_json(home / "config.json", parse_config, initial_config, backup=backup)

    @property
    def config(self) -> Config:
        """Return the settings as they are now."""
        return self.file.value

    def local_servers(self) -> int:
        """Return how many local MCP servers may run side by side."""
        return self.config.local_servers or self._usual_servers

    def view(self) -> ConfigView:
        """Return the settings as the page shows them."""
        config = self.config
        return ConfigView(
            **{field.name: getattr(config, field.name) for field in fields_of(Settings)},
            version=__version__,
            data_folder=str(self._home),
            database=self._database,
            problem=self.file.problem,
            about=self._about,
            usual_local_servers=self._usual_servers,
        )

    async def patch(self, patch: ConfigPatch) -> ConfigView:
        """Change what the patch names; raise `bad_request` for what does not fit together."""
        _check_changed(patch.profiles or (), self.file.value.profiles)
        changes: JsonObject = msgspec.to_builtins(patch)

        def change(raw: JsonObject) -> None:
            if patch.profiles is not msgspec.UNSET:
                _replace_profiles(raw, changes["profiles"] or [])
            _write(raw, Settings, {name: value for name, value in changes.items() if name != "profiles"})

        try:
            await asyncio.to_thread(self.file.update, change)
        except BadField as error:
            raise PilothouseError("bad_request", error.message) from None
        return self.view()


def _check_changed(profiles: tuple[Profile, ...], before: tuple[Profile, ...]) -> None:
    """Raise for what cannot be; what stands in the file already keeps nobody from changing something else."""
    for profile in profiles:
        if profile not in before:
            check_numbers(profile.settings)


def _replace_profiles(raw: JsonObject, profiles: list[JsonObject]) -> None:
    """Put the profiles in, each with what else a person wrote into it by hand."""
    before = {entry.get("id"): entry for entry in raw.get("profiles", [])}
    raw["profiles"] = [{**before.get(entry["id"], {}), **entry} for entry in profiles]
    # The active profile went with its entry.
    if raw.get("active_profile") not in {entry["id"] for entry in profiles}:
        raw["active_profile"] = None


def usual_local_servers(root: Path = Path("/")) -> int:
    """Return how many local servers run side by side when nobody said otherwise: as many as a share of memory holds."""
    share = memory(root) * limits.SERVERS_SHARE / limits.SERVER_BYTES
    return int(min(max(share, limits.SERVERS_LEAST), limits.SERVERS_MOST))


def memory(root: Path = Path("/")) -> int:
    """Return the bytes of memory that this process may use: the machine's, or what its container was given of it."""
    return min([_installed(root), *_allowed(root)])


def _installed(root: Path) -> int:
    try:
        lines = (root / "proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemTotal:"))
    except (OSError, ValueError, IndexError, StopIteration):
        # No Linux.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _allowed(root: Path) -> Iterator[int]:
    """Yield the bounds of the control groups that it is in, from its own outwards; both generations of them."""
    try:
        groups = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return
    for group in groups:
        _, _, rest = group.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        top, name = ("memory", "memory.limit_in_bytes") if controllers else ("", "memory.max")
        base = root / "sys/fs/cgroup" / top
        inner = base / path.strip("/")
        # In a container the path may be that of the machine around it; its own group is then the top one.
        for folder in (inner, *inner.parents):
            if folder.is_relative_to(base):
                yield from _bound(folder / name)


def _bound(file: Path) -> Iterator[int]:
    try:
        yield int(file.read_text(encoding="ascii"))
    except (OSError, ValueError):
        # There is none, or it says "max".
        return
