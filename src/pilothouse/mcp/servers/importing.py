"""Servers out of other programs' settings files: Claude, VS Code, Cursor, Windsurf, Zed, Cline, Gemini CLI and more."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from pilothouse.mcp.servers.entries import SLOT
from pilothouse.mcp.servers.placeholders import Input, Placeholders, inputs_of
from pilothouse.types import jsonc, limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.guarded_places import is_in, of_person, of_system
from pilothouse.types.home_paths import at_home
from pilothouse.types.json import JsonObject, is_within
from pilothouse.types.servers import ImportQuestion, ServerInput, ToolTimes, Wire

_WIRES: dict[str, Wire] = {
    "sse": "sse",
    "http": "auto",
    "streamable-http": "streamable",
    "streamableHttp": "streamable",
    "ws": "websocket",
    "websocket": "websocket",
}
_PLACES = ("mcpServers", "servers", "context_servers", "amp.mcpServers")
_URLS = ("url", "serverUrl", "httpUrl")
_OFF_TOOLS = ("disabledTools", "excludeTools", "disabled_tools")
# Whom the other program did not ask any more: that was said there, for there.
_TRUST = ("alwaysAllow", "autoApprove", "alwaysApprove", "trust", "trusted")
# What is understood, and what says nothing about how a server is run.
_TAKEN = {
    *_URLS, *_OFF_TOOLS, *_TRUST,
    "type", "transport", "transportType", "command", "args", "env", "environment", "headers", "cwd", "envFile",
    "timeout", "disabled", "enabled",
}  # fmt: skip
_IDLE = {"name", "description", "version", "gallery", "source", "icon", "iconUrl", "$schema"}
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(.*)")
_REMARK = re.compile(r"(?<!\s)\s++#.*")
# Who gives a timeout in seconds gives one hour at most; thousandths below a second are nobody's patience.
_SECONDS = 3_600
_THOUSANDTHS = 1_000
_WHICH = "Choose the file that lists the MCP servers."


class File(msgspec.Struct, frozen=True):
    """A settings file: its servers as they stand there, and what its program would ask for."""

    entries: tuple[tuple[str, Any], ...]
    inputs: dict[str, Input]


class Found(msgspec.Struct, frozen=True):
    """A server found in a file, or why it cannot be taken; and what a person should know of it, a sentence each."""

    name: str
    body: ServerInput | None
    problem: str = ""
    notes: tuple[str, ...] = ()
    # Whether the other program had it switched off.
    was_off: bool = False


def read(text: str) -> File:
    """Return what is in a settings file; raise `bad_request` for one without servers.

    Who wrote it may want to hold us up: this is done in the helper process.
    """
    if len(text.encode()) > limits.IMPORT_BYTES:
        raise PilothouseError("bad_request", "The file is too large to be a settings file.", fix="Choose another file.")
    try:
        content = msgspec.json.decode(jsonc.plain(text))
    except (msgspec.DecodeError, RecursionError) as error:
        message = f"The file is not JSON: {error}." if str(error) else "The file is not JSON."
        raise PilothouseError("bad_request", message, fix=_WHICH) from None
    entries = tuple(_entries(content))
    if not is_within(entries, limits.JSON_DEPTH, limits.IMPORT_PIECES):
        message = "The file cannot be read: there is too much in it, or it is nested too deeply."
        raise PilothouseError("bad_request", message, fix=_WHICH)
    if not entries:
        fix = "Such a file has “mcpServers” or “servers” in it."
        raise PilothouseError("bad_request", "There are no MCP servers in this file.", fix=fix)
    if len(entries) > limits.IMPORT_SERVERS:
        message = f"There are {len(entries)} servers in this file; at most {limits.IMPORT_SERVERS} are taken at once."
        raise PilothouseError("bad_request", message, fix="Leave those in it that you use.")
    nested = content.get("mcp")
    inputs = {**inputs_of(nested.get("inputs") if isinstance(nested, Mapping) else None)}
    return File(entries, {**inputs, **inputs_of(content.get("inputs"))})


def questions(file: File, environ: Mapping[str, str] = os.environ) -> tuple[ImportQuestion, ...]:
    """Return what must be asked before the servers of a file are whole, each once."""
    asked: dict[str, ImportQuestion] = {}
    for name, raw in file.entries:
        placeholders = Placeholders(file.inputs, None, environ)
        _found(name, raw, placeholders)
        for one in placeholders.questions(name):
            before = asked.get(one.id, one)
            servers = tuple(dict.fromkeys((*before.servers, *one.servers)))
            asked[one.id] = msgspec.structs.replace(one, secret=one.secret or before.secret, servers=servers)
    return tuple(asked.values())


def taken(file: File, answers: Mapping[str, str | None], environ: Mapping[str, str] = os.environ) -> list[Found]:
    """Return the servers of a file with what the person answered, in their order."""
    return [_found(name, raw, Placeholders(file.inputs, answers, environ)) for name, raw in file.entries]


def _entries(content: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(content, Mapping):
        return
    places = [content.get(name) for name in _PLACES]
    nested = content.get("mcp")
    if isinstance(nested, Mapping):
        inner = nested.get("servers")
        places.append(inner if isinstance(inner, Mapping) else _servers_among(nested))
    projects = content.get("projects")
    if isinstance(projects, Mapping):
        places += [project.get("mcpServers") for project in projects.values() if isinstance(project, Mapping)]
    for place in places:
        if isinstance(place, Mapping):
            yield from ((str(name), raw) for name, raw in place.items())


def _servers_among(nested: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: raw
        for name, raw in nested.items()
        if isinstance(raw, Mapping) and ("command" in raw or any(key in raw for key in _URLS))
    }


def _found(name: str, raw: Any, placeholders: Placeholders) -> Found:
    try:
        if not isinstance(raw, Mapping):
            raise BadField((), "It is not an object.")
        return _Entry(name, dict(raw), placeholders).found()
    except BadField as error:
        return Found(name, None, error.message)


class _Entry:
    """One server of a file on its way to ours."""

    def __init__(self, name: str, raw: JsonObject, placeholders: Placeholders) -> None:
        self._name = name
        self._raw = _flat(raw)
        self._placeholders = placeholders
        self._notes: list[str] = []

    def found(self) -> Found:
        raw = self._raw
        url = next((raw[key] for key in _URLS if raw.get(key)), None)
        body = self._remote(url) if url is not None else self._local()
        body = msgspec.structs.replace(
            body, name=self._name, times=self._times(), off_tools=self._off_tools(), secrets=self._placeholders.slots
        )
        self._tell_rest(url is not None)
        return Found(self._name, body, notes=tuple(self._notes), was_off=self._is_off())

    def _remote(self, url: Any) -> ServerInput:
        kind = self._raw.get("type") or self._raw.get("transport") or self._raw.get("transportType")
        whole, templates = self._values("headers", {})
        # Nobody agreed to talk to this address yet: it is added switched off.
        return ServerInput(
            url=self._text(url, "url"),
            wire=_WIRES.get(str(kind or "http"), "auto"),
            headers=whole,
            plain_headers=templates,
            enabled=False,
        )

    def _local(self) -> ServerInput:
        raw = self._raw
        command = raw.get("command")
        if not isinstance(command, str) or not command.strip():
            raise BadField((), "It has neither a command nor a URL.")
        args = raw.get("args") or []
        if not isinstance(args, list) or not all(isinstance(word, str) for word in args):
            raise BadField((), "Its “args” are not a list of texts.")
        cwd = self._text(raw["cwd"], "cwd") if raw.get("cwd") else None
        whole, templates = self._values("env", self._env_file())
        return ServerInput(
            command=self._text(command, "command"),
            args=tuple(self._text(word, "args") for word in args),
            env=whole,
            plain_env=templates,
            cwd=cwd,
            enabled=not self._is_off(),
        )

    def _is_off(self) -> bool:
        return bool(self._raw.get("disabled")) or self._raw.get("enabled") is False

    def _text(self, text: Any, where: Any) -> str:
        if not isinstance(text, str):
            raise BadField((), f"Its “{where}” is not text.")
        return self._placeholders.filled(text, where)

    def _values(self, key: Any, more: Mapping[str, str]) -> tuple[dict[str, str | None], dict[str, str]]:
        """Return the values that are whole, which are kept as secrets, and those with a slot in them."""
        values = self._raw.get(key) or {}
        if not isinstance(values, Mapping):
            raise BadField((), f"Its “{key}” is not an object.")
        whole: dict[str, str | None] = dict(more)
        templates: dict[str, str] = {}
        for name, value in values.items():
            text = self._text(value if isinstance(value, str) else msgspec.json.encode(value).decode(), key)
            whole.pop(str(name), None)
            (templates if SLOT.search(text) else whole)[str(name)] = text
        return whole, templates

    def _env_file(self) -> dict[str, str]:
        named = self._raw.get("envFile")
        if not named:
            return {}
        path = Path(str(named))
        try:
            path = at_home(self._text(named, "envFile"))
            if self._placeholders.looking:
                return {}
            if not path.is_absolute():
                raise BadField((), "it is half a path")
            found = _variables(path)
        except (OSError, UnicodeDecodeError, BadField) as error:
            why = error.message if isinstance(error, BadField) else getattr(error, "strerror", None) or "no text"
            self._notes.append(f"The variables of its envFile {path} are missing: {why.rstrip('.')}.")
            return {}
        count = "One variable was" if len(found) == 1 else f"{len(found)} variables were"
        self._notes.append(f"{count} taken from {path} and kept as secrets; later changes of that file do not count.")
        return found

    def _times(self) -> ToolTimes:
        given = self._raw.get("timeout")
        if given is None:
            return ToolTimes()
        if isinstance(given, bool) or not isinstance(given, int | float) or given <= 0:
            self._notes.append("Its “timeout” is no number of seconds and was left out.")
            return ToolTimes()
        # Cline and Roo count seconds and say whom they trust; others count thousandths.
        counts_seconds = given < _THOUSANDTHS or (given <= _SECONDS and any(key in self._raw for key in _TRUST))
        seconds = min(max(1.0, float(given) if counts_seconds else given / _THOUSANDTHS), limits.CALL_TIME_MOST)
        self._notes.append(f"A call may take {seconds:g} s in all, as its “timeout” says.")
        return ToolTimes(total=seconds)

    def _off_tools(self) -> tuple[str, ...]:
        named = [each for key in _OFF_TOOLS for each in self._raw.get(key) or () if isinstance(each, str)]
        if named:
            self._notes.append(f"Switched off as it was there: {', '.join(named)}.")
        return tuple(named)

    def _tell_rest(self, remote: bool) -> None:
        raw = self._raw
        if trusted := [key for key in _TRUST if raw.get(key)]:
            named = " and ".join(f"“{key}”" for key in trusted)
            self._notes.append(f"{named} was not taken over: here you are asked before its tools do something.")
        useless = {"command", "args", "env", "cwd", "envFile"} if remote else {"headers"}
        left = [key for key in raw if key not in _TAKEN | _IDLE or (key in useless and raw[key])]
        if left:
            named = ", ".join(f"“{key}”" for key in left)
            self._notes.append(f"Left out, because it means nothing here: {named}.")
        if missing := [slot for slot, value in self._placeholders.slots.items() if value is None]:
            self._notes.append(f"It needs a value for {', '.join(missing)} before it can start.")


def _flat(raw: JsonObject) -> JsonObject:
    """Return an entry in the form that most programs use: one command, its arguments beside it."""
    made = dict(raw)
    command = raw.get("command")
    if isinstance(command, Mapping):
        made |= {"command": command.get("path"), "args": command.get("args") or [], "env": command.get("env") or {}}
    elif isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        made |= {"command": command[0], "args": [*command[1:], *(raw.get("args") or [])]}
    if "environment" in made:
        made["env"] = made.pop("environment")
    return made


def _guarded(path: Path) -> str:
    """Return why a file is not for whoever wrote the settings that name it; or nothing."""
    real, home = os.path.realpath(path), os.path.realpath(os.path.expanduser("~"))
    places = (*of_person(home, os.environ), *of_system())
    found = (place.why for where, place in places if not place.may_be_read and is_in(real, os.path.realpath(where)))
    return next(found, "")


def _variables(path: Path) -> dict[str, str]:
    """Return the variables of a file as shells and programs write them."""
    if not path.is_file():
        raise BadField((), "there is no such file")
    if why := _guarded(path):
        raise BadField((), f"{why[0].lower()}{why[1:]} Enter what the server needs by hand")
    with path.open("rb") as file:
        data = file.read(limits.ENV_FILE_BYTES + 1)
    if len(data) > limits.ENV_FILE_BYTES:
        raise BadField((), "it is too large")
    found = {}
    for line in data.decode("utf-8-sig").splitlines():
        if hit := _LINE.fullmatch(line.strip()):
            value = hit[2].strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            else:
                value = _REMARK.sub("", value)
            found[hit[1]] = value
    return found


def left_open(file: File, placeholders: Placeholders) -> list[Found]:
    """Return the servers of a file with what `placeholders` puts where they leave something open; no file is read."""
    return [_found(name, raw, placeholders) for name, raw in file.entries]
