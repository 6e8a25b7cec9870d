"""The entries of `mcps` in `config.json`: read with patience, written with everything else in them kept."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from pilothouse.mcp.client.key_labels import AUTHORIZATION
from pilothouse.mcp.servers.names import plain_host, slug
from pilothouse.mcp.servers.programs import INTERPRETERS
from pilothouse.types import limits
from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject, plain
from pilothouse.types.origins import origin_of
from pilothouse.types.servers import (
    ManualSource,
    Package,
    PackageType,
    ServerEntry,
    ServerSettings,
    ToolTimes,
    Wire,
)
from pilothouse.types.spelling import from_file, to_file

# What stands in an entry instead of a value that is kept elsewhere.
SECRET = "secret:"  # noqa: S105
# The same inside a larger text: the secret of this name that belongs to the entry.
SLOT = re.compile(r"\$\{secret:([^{}]+)\}")
_SCHEMES = ("http", "https", "ws", "wss")
# Path segments that say nothing about what is there.
_USUAL_PATHS = {"mcp", "sse", "ws", "message", "messages", "api", "v1"}
_VARIABLE = re.compile(r"[^=\0\s]+")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_KEY_NAMES = {"env": _VARIABLE, "header": _HEADER, "slot": re.compile(r"[^{}]+")}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_STARTERS: dict[PackageType, tuple[str, ...]] = {
    "npm": ("npx", "-y"),
    "pypi": ("uvx",),
    "docker": ("docker", "run", "-i", "--rm"),
}


class BadEntry(msgspec.Struct, frozen=True):
    """An entry that cannot be used, and why in one sentence; the others work."""

    id: str
    name: str
    message: str


class Entries(msgspec.Struct, frozen=True):
    """All entries in their order, good and bad."""

    good: tuple[ServerEntry, ...] = ()
    bad: tuple[BadEntry, ...] = ()


def has_local(raw: Iterable[JsonObject]) -> bool:
    """Return whether one of these servers, as the file has them, is a program that is switched on."""
    return any(entry.transport == "stdio" and entry.enabled for entry in parse_entries(raw).good)


def parse_entries(raw: Iterable[JsonObject]) -> Entries:
    """Return the entries; what is wrong with one does not touch another."""
    good: list[ServerEntry] = []
    bad: list[BadEntry] = []
    seen: set[str] = set()
    for number, entry in enumerate(raw, 1):
        try:
            parsed = parse_entry(entry)
            if parsed.id in seen:
                raise BadField(("id",), f"Another server has the id “{parsed.id}”.")
            seen.add(parsed.id)
            good.append(parsed)
        except BadField as error:
            bad.append(BadEntry(entry_id(entry), _called(entry, number), error.message))
    return Entries(tuple(good), tuple(bad))


def parse_entry(raw: JsonObject) -> ServerEntry:
    """Return one entry; raise a BadField for what does not fit."""
    raw = {key: value for key, value in raw.items() if value is not None}
    if "package" not in raw and "endpoint" in raw:
        raw = _from_endpoint(raw)
    raw["id"] = entry_id(raw)
    if not str(raw.get("name") or "").strip():
        raw["name"] = _derived_name(raw)
    package = raw.get("package")
    if "transport" not in raw and isinstance(package, dict):
        raw["transport"] = "http" if package.get("type") == "http" else "stdio"
    entry = from_file(raw, ServerEntry)
    if entry.package.type == "http":
        config = msgspec.structs.replace(entry.config, url=entry.config.url or entry.package.identifier)
        entry = msgspec.structs.replace(entry, config=config, transport="http")
    return checked(entry)


def checked(entry: ServerEntry) -> ServerEntry:
    """Return the entry if it makes sense; raise a BadField if not."""
    if not _ID.fullmatch(entry.id):
        raise BadField(("id",), "The id of a server has letters, digits, dashes and underscores only.")
    if len(entry.name) > limits.TITLE_CHARS:
        raise BadField(("name",), f"A server's name has at most {limits.TITLE_CHARS} characters.")
    if entry.package.type == "http":
        check_url(entry.config.url)
    elif not entry.package.identifier.strip():
        raise BadField(("package", "identifier"), "The command is empty.")
    elif entry.package.type != "command" and entry.package.identifier.startswith("-"):
        raise BadField(("package", "identifier"), "The name of a package does not begin with a dash.")
    _check_sandbox(entry)
    _check_values(entry)
    _check_times(entry)
    return entry


def seconds_of(entry: ServerEntry, tool: str) -> float:
    """Return how long a call of a tool may take."""
    own = entry.config.tool_times.get(tool)
    return (own.total if own else None) or entry.config.times.total or limits.MCP_TOTAL


def _check_times(entry: ServerEntry) -> None:
    times: dict[tuple[str, ...], ToolTimes] = {("config", "times"): entry.config.times}
    times |= {("config", "tool_times", tool): each for tool, each in entry.config.tool_times.items()}
    for where, each in times.items():
        if each.total is not None and not 0 < each.total <= limits.CALL_TIME_MOST:
            hours = f"{limits.CALL_TIME_MOST / 3600:g} hours"
            raise BadField(where, f"A call's time is a number of seconds above 0, up to {hours}.")


def _check_sandbox(entry: ServerEntry) -> None:
    where = ("config", "sandbox")
    if not entry.config.sandbox:
        if not entry.config.network:
            raise BadField(where, "Only a server in a sandbox can be kept off the network.")
        return
    if entry.transport != "stdio":
        raise BadField(where, "Only a server that is started here can run in a sandbox.")
    if entry.package.type == "docker" or entry.package.identifier.rpartition("/")[2] in {"docker", "podman"}:
        raise BadField(where, "A container holds what runs in it by itself, and cannot be started from a sandbox.")


def _check_values(entry: ServerEntry) -> None:
    if any("\0" in text for text in (entry.package.identifier, *entry.config.args, *entry.config.env.values())):
        raise BadField(("config",), "A command cannot hold a null character.")
    for name in entry.config.env:
        if not name or "=" in name or "\0" in name:
            raise BadField(("config", "env"), f"“{name}” cannot be the name of an environment variable.")
    for name, value in entry.config.headers.items():
        if not _HEADER.fullmatch(name) or re.search(r"[\r\n\0]", value):
            raise BadField(("config", "headers"), f"“{name}” cannot be a header with this value.")
    _check_keys(entry)
    for root in entry.config.roots:
        if not (is_address(root) or root.startswith("~") or os.path.isabs(root)):
            raise BadField(("config", "roots"), f"“{root}” is half a path; a folder for a server needs the whole one.")


def _check_keys(entry: ServerEntry) -> None:
    usual = {"http": ("header", "slot"), "stdio": ("env", "slot")}[entry.transport]
    for key_id, place in entry.config.keys.items():
        kind, _, name = key_id.partition(":")
        if kind not in usual or not _KEY_NAMES[kind].fullmatch(name):
            raise BadField(("config", "keys"), f"“{key_id}” is no key that this server can have.")
        if bool(place.file.strip()) == bool(place.environment.strip()) or "\0" in place.file:
            raise BadField(("config", "keys"), f"“{key_id}” is read either from a file or from a variable.")
        if place.environment and not _VARIABLE.fullmatch(place.environment):
            raise BadField(("config", "keys"), f"“{place.environment}” cannot be the name of an environment variable.")


def is_address(root: str) -> bool:
    """Return whether a folder that a server is told of is given as an address."""
    return re.match(r"\w+://", root) is not None


def check_url(url: str) -> None:
    """Raise a BadField when this cannot be the address of a server."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in _SCHEMES and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise BadField(
            ("config", "url"),
            f"“{_without_values(url)}” is not an address; it begins with http://, https://, ws:// or wss://.",
        )


def _without_values(text: str) -> str:
    """Return what was given for an address without a password and the values of its query, whatever it is."""
    return re.sub(r"=[^&#\s]+", "=…", re.sub(r"(?<=://)[^/@\s]*@", "", text))


def entry_id(raw: JsonObject) -> str:
    """Return the id of an entry; one without gets the same at every look."""
    given = raw.get("id")
    if isinstance(given, str) and given:
        return given
    package = raw.get("package")
    where = package.get("identifier") if isinstance(package, dict) else None
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{raw.get('name') or ''} {raw.get('endpoint') or where or ''}"))


def command_of(entry: ServerEntry) -> tuple[str, ...]:
    """Return the command of a local server as it is started: program and arguments, no shell anywhere."""
    package = entry.package
    if package.type == "command":
        return (package.identifier, *entry.config.args)
    if package.type == "mcpb":
        return (package.runtime_hint or "", *entry.config.args)
    first, *rest = _STARTERS[package.type]
    return (package.runtime_hint or first, *rest, *_named(package), *entry.config.args)


def _named(package: Package) -> tuple[str, ...]:
    """Return how a starter is told which package it runs."""
    beside = tuple(word for each in package.requirements for word in ("--with", each))
    if not package.program:
        return (*beside, package.identifier)
    if package.type == "npm":
        return (f"--package={package.identifier}", package.program)
    return (*beside, "--from", package.identifier, package.program)


def address_of(entry: ServerEntry) -> str:
    """Return the command line or the URL, fit to be shown."""
    if entry.transport == "http":
        return shown_url(entry.config.url)
    import shlex  # noqa: PLC0415

    return shlex.join(command_of(entry))


def shown_url(url: str) -> str:
    """Return a URL with the host as the network knows it, without a password and the query's values."""
    parts = urlsplit(url)
    netloc = ":".join(plain_host(piece) for piece in parts.netloc.rpartition("@")[2].split(":"))
    query = "&".join(f"{piece.partition('=')[0]}=…" for piece in parts.query.split("&")) if parts.query else ""
    return urlunsplit((parts.scheme, netloc, parts.path, query, ""))


def connecting(entry: ServerEntry) -> ServerEntry:
    """Return the entry without what can change while a server runs."""
    config = msgspec.structs.replace(
        entry.config,
        off_tools=(),
        read_only=False,
        cannot_send=False,
        times=ToolTimes(),
        tool_times={},
        idle_stop=None,
        always_on=False,
        connect_timeout=None,
    )
    return msgspec.structs.replace(entry, source=ManualSource(), config=config)


def secret_origin(entry: ServerEntry) -> str:
    """Return what the secrets of a server are bound to: its address, or for a local one itself."""
    if entry.transport == "stdio":
        return f"mcp:{entry.id}"
    return origin_of(re.sub("^ws", "http", entry.config.url))


def secret_name(entry_id: str, kind: str, name: str) -> str:
    """Return under which name a value of this server is kept."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", name)
    if plain != name or len(name) > 40:
        plain = f"{plain[:24]}-{uuid.uuid5(uuid.NAMESPACE_OID, name).hex[:8]}"
    return f"mcp_{entry_id[:40]}_{kind}_{plain}"


def slot_name(entry_id: str, slot: str) -> str:
    """Return under which name the value of a slot is kept."""
    return secret_name(entry_id, "slot", slot)


def slots_of(entry: ServerEntry) -> tuple[str, ...]:
    """Return the names of the secrets inside an entry's texts, each once."""
    config = entry.config
    texts = (*config.args, *config.env.values(), *config.headers.values(), config.url)
    return tuple(dict.fromkeys(slot for text in texts for slot in SLOT.findall(text)))


def secret_refs(entry: ServerEntry) -> dict[str, str]:
    """Return the names of the secrets that an entry refers to, by the variable, header or slot that gets the value."""
    values = {**entry.config.env, **entry.config.headers}
    whole = {name: value[len(SECRET) :] for name, value in values.items() if value.startswith(SECRET)}
    return {**{slot: slot_name(entry.id, slot) for slot in slots_of(entry)}, **whole}


def key_refs(entry: ServerEntry) -> dict[str, str]:
    """Return the names of the secrets that an entry refers to, by the ids of the keys."""
    named = [("env", each) for each in entry.config.env.items()]
    named += [("header", each) for each in entry.config.headers.items()]
    whole = {f"{kind}:{name}": value[len(SECRET) :] for kind, (name, value) in named if value.startswith(SECRET)}
    return {**whole, **{f"slot:{slot}": slot_name(entry.id, slot) for slot in slots_of(entry)}}


def written(entry: ServerEntry, before: JsonObject | None = None) -> JsonObject:
    """Return an entry as the file keeps it, with whatever else a person wrote into it by hand."""
    before = before or {}
    made = plain(to_file(entry))
    made["enabled"] = entry.enabled
    if entry.auth_type != "keyfile":
        made.pop("keyfile_path", None)
    config: JsonObject = {key: value for key, value in made.get("config", {}).items() if value != {}}
    if entry.package.type == "http":
        config.pop("url", None)
    kept = before.get("config")
    kept = kept if isinstance(kept, dict) else {}
    known = set(ServerSettings.__struct_fields__)
    made["config"] = {**{key: value for key, value in kept.items() if key not in known}, **config}
    ours = set(ServerEntry.__struct_fields__) | {"endpoint", "authToken"}
    return {**{key: value for key, value in before.items() if key not in ours}, **made}


def _from_endpoint(raw: JsonObject) -> JsonObject:
    """Return an entry of the oldest form, {name?, endpoint, authToken?}, as one of today's."""
    rest = {key: value for key, value in raw.items() if key not in {"endpoint", "authToken"}}
    endpoint, token = str(raw["endpoint"]), raw.get("authToken")
    config = rest.get("config")
    config = dict(config) if isinstance(config, dict) else {}
    if token:
        config["headers"] = {AUTHORIZATION: f"Bearer {token}", **config.get("headers", {})}
    made: JsonObject = {
        **rest,
        "id": entry_id(raw),
        "package": {"type": "http", "identifier": endpoint},
        "source": {"type": "manual", "url": shown_url(endpoint)},
        "config": config,
    }
    if token:
        made["auth_type"] = "api_key"
    return made


def _derived_name(raw: JsonObject) -> str:
    package: Any = raw.get("package")
    if not isinstance(package, dict):
        return ""
    return derived_name(from_file(package, Package, ("package",)))


def derived_name(package: Package, args: Sequence[str] = ()) -> str:
    """Return a name for a server without one: of its host, its package, its script or its program."""
    if package.type == "http":
        try:
            host = urlsplit(package.identifier).hostname
        except ValueError:
            host = None
        return host or re.sub(r"^wss?://", "", package.identifier)
    plain = package.identifier.rstrip("/").rpartition("/")[2]
    if package.type == "command" and INTERPRETERS.fullmatch(plain.lower().removesuffix(".exe")):
        # Nobody calls a server "python".
        script = next((each for each in args if not each.startswith("-")), "").rpartition("/")[2]
        plain = script.rpartition(".")[0] or script or plain
    return re.sub(r"(?<=.)[@:=].*$", "", plain).removesuffix(".exe") or "server"


def own_name(entry: ServerEntry, others: Sequence[ServerEntry]) -> str:
    """Return a name for a server whose derived one another has: with what tells them apart, else with a number."""
    host = entry.name
    parts = urlsplit(entry.config.url)
    words = [word for word in parts.path.split("/") if word and word.lower() not in _USUAL_PATHS]
    telling = [f"{host} {' '.join(words)}"] if words else []
    telling += [f"{host} {parts.port}"] if parts.port else []
    numbered = (f"{host} {number}" for number in range(2, len(others) + 3))
    return next(name for name in (host, *telling, *numbered) if same_slug(name, others, entry.id) is None)


def _called(raw: Mapping[str, object], number: int) -> str:
    return str(raw.get("name") or "").strip() or f"Server {number}"


def default_wire(url: str) -> Wire:
    """Return what a URL says by itself about how it is spoken to."""
    return "websocket" if urlsplit(url).scheme in {"ws", "wss"} else "auto"


def same_slug(name: str, entries: Iterable[ServerEntry], but: str = "") -> ServerEntry | None:
    """Return the server whose tools would have the same prefix."""
    return next((entry for entry in entries if entry.id != but and slug(entry.name) == slug(name)), None)
