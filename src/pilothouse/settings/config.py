"""`config.json`: profiles, the list of MCP servers, and the settings that are not models."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Literal

import msgspec

from pilothouse import __version__
from pilothouse.settings.json_file import JsonFile
from pilothouse.settings.machine import usual_local_servers
from pilothouse.types import limits
from pilothouse.types.api import ConfigPatch, ConfigView, Profile
from pilothouse.types.conversations import ConversationSettings
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject, convert
from pilothouse.types.retention import Retention
from pilothouse.types.runs import Resume
from pilothouse.types.terminals import SHELLS, TerminalSettings
from pilothouse.types.timeouts import ToolTimeouts, ToolTimeoutsPatch

VERSION = "1.0"


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The content of `config.json`."""

    version: str = VERSION
    profiles: tuple[Profile, ...] = ()
    active_profile: str | None = None
    # Kept as it is; the servers in it belong to another part.
    mcps: tuple[JsonObject, ...] = ()
    resume_after_restart: Resume = "auto"
    # How long answers may go on when a server is asked to stop, before they are given back.
    drain_seconds: float = 0.0
    # Where an answer ends that does not end by itself, in characters.
    longest_answer: int = limits.ANSWER_CHARS
    # How many answers are got at once, and how many messages may wait for theirs.
    runs_at_once: int = limits.RUNS_AT_ONCE
    most_waiting: int = limits.WAITING_EVERYWHERE
    # Whether Enter alone sends a message in the page; otherwise it breaks the line.
    enter_sends: bool = True
    tool_timeouts: ToolTimeouts = ToolTimeouts()
    terminal: TerminalSettings = TerminalSettings()
    # How many local MCP servers run side by side; None for as many as the machine has room for.
    local_servers: int | None = None
    # How many rounds an agent may add to a run by itself; 0 to be asked instead.
    most_added_iterations: int = limits.ITERATIONS_ADDED
    # What is removed for good by itself: conversations by age, and the oldest by size.
    retention: Retention = Retention()

    def active_settings(self) -> ConversationSettings:
        """Return what the active profile sets for new conversations."""
        found = (profile.settings for profile in self.profiles if profile.id == self.active_profile)
        return next(found, ConversationSettings())


# The numbers that a person may set: the least, the most, and what they are told about any other.
_BOUNDS: dict[str, tuple[float, float, str]] = {
    "local_servers": (1, limits.SERVERS_ALLOWED, "How many local servers may run at once is a number from {} to {}."),
    "drain_seconds": (
        0,
        limits.DRAIN_MOST,
        "How long answers may go on when a server stops is from {} to {:g} seconds.",
    ),
    "longest_answer": (
        limits.ANSWER_CHARS_FEWEST,
        limits.ANSWER_CHARS_MOST,
        "The longest answer has from {:,} to {:,} characters.",
    ),
    "runs_at_once": (1, limits.RUNS_AT_ONCE_MOST, "How many answers are got at once is a number from {} to {:,}."),
    "most_waiting": (
        1,
        limits.WAITING_MOST,
        "How many messages may wait is a number from {} to {:,}.",
    ),
    "most_added_iterations": (0, math.inf, "How many rounds may be added is a number from {} on."),
}


def parse_config(raw: JsonObject) -> Config:
    """Return the content of `config.json`; raise a BadField for what does not fit."""
    config = convert(raw, Config)
    if config.version.partition(".")[0] != VERSION.partition(".")[0]:
        message = f"Version {config.version} of this file is not known here; this is version {VERSION}."
        raise BadField(("version",), message)
    _check_timeouts(config.tool_timeouts)
    _check_terminal(config.terminal)
    _check_retention(config.retention)
    for name, (fewest, most, message) in _BOUNDS.items():
        number = getattr(config, name)
        if number is not None and not fewest <= number <= most:
            raise BadField((name,), message.format(fewest, most))
    _check_profiles(config)
    return config


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


def _check_terminal(terminal: TerminalSettings) -> None:
    if terminal.shell not in SHELLS:
        raise BadField(("terminal", "shell"), f"The shell is one of: {', '.join(SHELLS)}.")
    if not 1 <= terminal.timeout <= limits.COMMAND_TIME_MOST:
        hours = f"{limits.COMMAND_TIME_MOST / 3600:g} hours"
        raise BadField(("terminal", "timeout"), f"A command's time is from 1 second to {hours}.")


def _check_retention(retention: Retention) -> None:
    for name, value, most in (
        ("days", retention.days, limits.RETENTION_DAYS),
        ("megabytes", retention.megabytes, limits.RETENTION_MEGABYTES),
    ):
        if value is not None and not 1 <= value <= most:
            raise BadField(("retention", name), f"How many {name} are kept is a number from 1 to {most:,}.")


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

    def __init__(self, home: Path, database: Literal["sqlite", "postgresql"]) -> None:
        self._home = home
        self._database: Literal["sqlite", "postgresql"] = database
        self._usual_servers = usual_local_servers()
        backup = home / "cache" / "last-good-config.json"
        self.file = JsonFile(home / "config.json", parse_config, initial_config, backup=backup)

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
            profiles=config.profiles,
            active_profile=config.active_profile,
            resume_after_restart=config.resume_after_restart,
            enter_sends=config.enter_sends,
            version=__version__,
            data_folder=str(self._home),
            database=self._database,
            problem=self.file.problem,
            terminal=config.terminal,
            tool_timeouts=config.tool_timeouts,
            local_servers=config.local_servers,
            usual_local_servers=self._usual_servers,
            retention=config.retention,
        )

    async def patch(self, patch: ConfigPatch) -> ConfigView:
        """Change what the patch names; raise `bad_request` for what does not fit together."""

        def change(raw: JsonObject) -> None:
            if patch.profiles is not None:
                _replace_profiles(raw, patch.profiles)
            if patch.active_profile is not msgspec.UNSET:
                raw["active_profile"] = patch.active_profile
            for name in ("resume_after_restart", "enter_sends", "retention"):
                if getattr(patch, name) is not None:
                    raw[name] = msgspec.to_builtins(getattr(patch, name))
            if patch.tool_timeouts is not None:
                _change_timeouts(raw, patch.tool_timeouts)
            if patch.local_servers is not msgspec.UNSET:
                raw["local_servers"] = patch.local_servers
            if patch.terminal is not None:
                raw["terminal"] = {**raw.get("terminal", {}), **msgspec.to_builtins(patch.terminal)}

        try:
            await asyncio.to_thread(self.file.update, change)
        except BadField as error:
            raise PilothouseError("bad_request", error.message) from None
        return self.view()


def _change_timeouts(raw: JsonObject, patch: ToolTimeoutsPatch) -> None:
    """Change what the patch names; a tool whose time is taken back has none in the file."""
    now, given = raw.get("tool_timeouts") or {}, msgspec.to_builtins(patch)
    tools = {**now.get("tools", {}), **given.pop("tools", {})}
    raw["tool_timeouts"] = {
        **now,
        **given,
        "tools": {name: seconds for name, seconds in tools.items() if seconds is not None},
    }


def _replace_profiles(raw: JsonObject, profiles: tuple[Profile, ...]) -> None:
    """Put the profiles in, each with what else a person wrote into it by hand."""
    before = {entry.get("id"): entry for entry in raw.get("profiles", [])}
    written = [msgspec.to_builtins(profile) for profile in profiles]
    raw["profiles"] = [{**before.get(entry["id"], {}), **entry} for entry in written]
    # The active profile went with its entry.
    if raw.get("active_profile") not in {profile.id for profile in profiles}:
        raw["active_profile"] = None
