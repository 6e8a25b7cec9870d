"""A server as a form or an import gives it, made into an entry and the secrets that go with it."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping

import msgspec

from pilothouse.mcp.client.key_labels import AUTHORIZATION
from pilothouse.mcp.servers.entries import (
    SECRET,
    SLOT,
    check_url,
    checked,
    default_wire,
    derived_name,
    secret_name,
    secret_refs,
    shown_url,
    slot_name,
    slots_of,
)
from pilothouse.mcp.servers.given_keys import bound, is_unread, with_given_keys
from pilothouse.mcp.servers.secret_detection import KeyFinder, keys_in, readable
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.servers import (
    AuthType,
    ManualSource,
    Package,
    ServerEntry,
    ServerInput,
    ServerOptions,
    ServerSettings,
    Source,
)

_ADDRESS = re.compile(r"(?i)^(https?|wss?)://\S+$")
_VERSION = r"(@[\w.^~<>=*+-]+)?"
_NPM = re.compile(rf"(@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~][\w.~-]*{_VERSION}")
_PYPI = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[\w,-]+\])?([=@][\w.=]+)?")
# One requirement beside a package; a file, an address or several at once is left to uvx.
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[\w,-]+\])?([<>=!~]=?[\w.*+!]+)?(,[<>=!~]=?[\w.*+!]+)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_IMAGE = re.compile(r"[a-z0-9][\w./:@-]*")


class Draft(msgspec.Struct, frozen=True):
    """An entry that is not kept yet, the secrets to keep with it, and those that nothing refers to any more."""

    entry: ServerEntry
    secrets: dict[str, str]
    dropped: tuple[str, ...] = ()
    # The slots of what was given as plain text and is kept as a secret.
    recognised: tuple[str, ...] = ()


def drafted(body: ServerInput, server_id: str, before: ServerEntry | None = None) -> Draft:
    """Return what a form asks for; raise `bad_request` for what makes no sense."""
    try:
        return _draft(body, server_id, before)
    except BadField as error:
        raise PilothouseError("bad_request", error.message, fix="Correct it and try again.") from None


def _draft(body: ServerInput, server_id: str, before: ServerEntry | None) -> Draft:
    target = _target(body, before)
    body, read = with_given_keys(body, before, "http" if target[0].type == "http" else "stdio")
    body, target, found = _without_keys(body, *target)
    package, args, source = target
    env, put_env = _values(server_id, "env", body.env, body.plain_env, before.config.env if before else {})
    headers, put_headers = _values(
        server_id, "header", _with_token(body), body.plain_headers, before.config.headers if before else {}
    )
    kept, seen = before.config if before else ServerSettings(), readable(before) if before else None
    options = {name: getattr(body, name) for name in ServerOptions.__struct_fields__}
    if body.wire == "auto" and package.type == "http":
        options["wire"] = default_wire(package.identifier)
    config = msgspec.structs.replace(
        kept,
        **options | {"cwd": body.cwd or None},
        args=args,
        env=env,
        headers=headers,
        url=package.identifier if package.type == "http" else "",
        keys=read,
    )
    entry = ServerEntry(
        id=server_id,
        name=body.name.strip() or derived_name(package, args),
        enabled=body.enabled,
        source=_source(body, source, seen if seen and seen.package == package else None),
        package=package,
        transport="http" if package.type == "http" else "stdio",
        auth_type=_auth_type(before, config),
        keyfile_path=before.keyfile_path if before and is_unread(before) else None,
        config=config,
    )
    entry = bound(entry)
    slots = {slot_name(entry.id, slot): value for slot, value in found.items()}
    secrets = {**put_env, **put_headers, **_moved(before, entry), **_slots(body, entry), **slots}
    gone = set(secret_refs(before).values()) - set(secret_refs(entry).values()) if before else set()
    return Draft(checked(entry), secrets, tuple(sorted(gone)), tuple(found))


def _source(body: ServerInput, typed: Source, same: ServerEntry | None) -> Source:
    """Return where a server is from: as it is told, as it was, or typed; how it was typed is found out here only."""
    if body.source is None:
        return same.source if same else typed
    if isinstance(body.source, ManualSource) and isinstance(typed, ManualSource):
        return msgspec.structs.replace(typed, imported_from=body.source.imported_from[: limits.TITLE_CHARS])
    return body.source


def _without_keys(
    body: ServerInput, package: Package, args: tuple[str, ...], source: Source
) -> tuple[ServerInput, tuple[Package, tuple[str, ...], Source], dict[str, str]]:
    """Return what a form asks for with slots for the keys that stand in its texts, and these."""
    plain = (*args, package.identifier, *body.plain_env.values(), *body.plain_headers.values())
    look = KeyFinder(slot for text in plain for slot in SLOT.findall(text))
    env, headers = look.values(body.plain_env), look.values(body.plain_headers)
    words = look.words(args)
    if package.type == "http":
        package = msgspec.structs.replace(package, identifier=look.address(package.identifier))
    if look.found and isinstance(source, ManualSource):
        # How it was typed has the keys in it.
        line = shown_url(package.identifier) if package.type == "http" else shlex.join((package.identifier, *words))
        source = msgspec.structs.replace(source, url=line)
    kept = msgspec.structs.replace(body, plain_env=env, plain_headers=headers)
    return kept, (package, words, source), look.found


def _target(body: ServerInput, before: ServerEntry | None) -> tuple[Package, tuple[str, ...], Source]:
    """Return what is run or reached, with what is said beside it."""
    package, args, source = _bundle(body) if body.bundle else _named_target(body)
    scripts = body.scripts
    if scripts is None:
        scripts = before is not None and before.package.identifier == package.identifier and before.package.scripts
    if package.type in ("npm", "pypi", "mcpb"):
        package = msgspec.structs.replace(package, scripts=scripts, version=_version(package, before))
    return package, args, body.source or source


def _version(package: Package, before: ServerEntry | None) -> str:
    """Return the version that a newer one was taken in, while the package is the same."""
    if before is None or before.package.type != package.type or before.package.identifier != package.identifier:
        return ""
    return before.package.version


def _bundle(body: ServerInput) -> tuple[Package, tuple[str, ...], Source]:
    if not _SHA256.fullmatch(body.bundle or "") or not (body.command or "").strip():
        raise BadField((), "A bundle is named by its hash, with the command that starts it.")
    package = Package(type="mcpb", identifier=body.bundle or "", runtime_hint=(body.command or "").strip())
    return package, body.args, ManualSource()


def _named_target(body: ServerInput) -> tuple[Package, tuple[str, ...], Source]:
    """Return what is run or reached; exactly one way of saying it is taken."""
    given = [text for text in (body.command_line, body.command, body.url) if text and text.strip()]
    if len(given) != 1:
        raise BadField((), "Give either a command or a URL." if given else "A command or a URL is missing.")
    text = given[0].strip()
    if body.url or (body.command_line and _ADDRESS.fullmatch(text)):
        check_url(text)
        return Package(type="http", identifier=text), (), ManualSource(url=shown_url(text))
    if body.command_line or _is_line(text):
        argv = split(text)
        package, args = recognised((*argv, *body.args))
        return package, args, ManualSource(url=shlex.join((*argv, *body.args)) if body.args else text)
    package, args = recognised((text, *body.args))
    return package, args, ManualSource(url=shlex.join((text, *body.args)))


def _is_line(command: str) -> bool:
    """Return whether a whole line stands where a program should: it begins with a bare name, and is no program."""
    words = command.split()
    return len(words) > 1 and not re.search(r"[\\/]", words[0]) and shutil.which(command) is None


def split(line: str) -> tuple[str, ...]:
    """Split a command line like a shell would; none ever sees it."""
    try:
        argv = tuple(shlex.split(line))
    except ValueError:
        raise BadField((), "A quotation mark in the command line is not closed.") from None
    if not argv:
        raise BadField((), "The command line is empty.")
    return argv


def recognised(argv: tuple[str, ...]) -> tuple[Package, tuple[str, ...]]:
    """Return the package that a command runs in the usual way, and what follows it; else the command itself."""
    program, rest = argv[0], argv[1:]
    if program == "npx" and (found := _of_npm(rest)):
        return found
    if program == "uvx" and (found := _of_pypi(rest)):
        return found
    plain_docker = program == "docker" and rest[:1] == ("run",) and set(rest[1:3]) == {"-i", "--rm"}
    if plain_docker and len(rest) > 3 and _IMAGE.fullmatch(rest[3]):
        return Package(type="docker", identifier=rest[3]), rest[4:]
    return Package(type="command", identifier=program), rest


def _of_npm(rest: tuple[str, ...]) -> tuple[Package, tuple[str, ...]] | None:
    """Return the package of `npx [-y] name` or `npx [-y] --package=name program`; None for any other line."""
    named, bare = _options(rest, ("-y", "--yes"), ("--package", "-p"))
    if len(named) == 1 and bare and _NPM.fullmatch(named[0][1]) and not bare[0].startswith("-"):
        return Package(type="npm", identifier=named[0][1], program=bare[0]), bare[1:]
    if not named and bare and _NPM.fullmatch(bare[0]):
        return Package(type="npm", identifier=bare[0]), bare[1:]
    return None


def _of_pypi(rest: tuple[str, ...]) -> tuple[Package, tuple[str, ...]] | None:
    """Return the package of `uvx [--with more] name` or `uvx [--with more] --from name program`."""
    named, bare = _options(rest, (), ("--from", "--with"))
    source = [each for option, each in named if option == "--from"]
    beside = tuple(each for option, each in named if option == "--with")
    if not bare or bare[0].startswith("-") or not all(map(_REQUIREMENT.fullmatch, beside)):
        return None
    if len(source) == 1 and _PYPI.fullmatch(source[0]):
        return Package(type="pypi", identifier=source[0], program=bare[0], requirements=beside), bare[1:]
    if not source and _PYPI.fullmatch(bare[0]):
        return Package(type="pypi", identifier=bare[0], requirements=beside), bare[1:]
    return None


def _options(
    rest: tuple[str, ...], flags: tuple[str, ...], valued: tuple[str, ...]
) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Return the known options that a line begins with, each with its value, and what follows them."""
    found: list[tuple[str, str]] = []
    while rest:
        name, equals, value = rest[0].partition("=")
        if rest[0] in flags:
            rest = rest[1:]
        elif name in valued and equals:
            found, rest = [*found, (name, value)], rest[1:]
        elif rest[0] in valued and len(rest) > 1:
            found, rest = [*found, (rest[0], rest[1])], rest[2:]
        else:
            break
    return found, rest


def _with_token(body: ServerInput) -> dict[str, str | None]:
    if not body.token:
        return body.headers
    token = body.token.strip()
    whole = token if token.lower().startswith("bearer ") else f"Bearer {token}"
    return {**body.headers, AUTHORIZATION: whole}


def _values(
    server_id: str,
    kind: str,
    secret: Mapping[str, str | None],
    plain: Mapping[str, str],
    before: Mapping[str, str],
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the values as the entry keeps them, and the secrets behind them."""
    values: dict[str, str] = {}
    put: dict[str, str] = {}
    for name, text in plain.items():
        if text.startswith(SECRET) and before.get(name) != text:
            raise BadField((), f"The value of “{name}” cannot begin with “{SECRET}”.")
        values[name] = text
    for name, given in secret.items():
        kept = before.get(name)
        # What stood in the file in plain text is moved to the secrets.
        is_plain = kept is not None and not kept.startswith(SECRET) and not SLOT.search(kept)
        value = kept if given is None and is_plain else given
        reference = secret_name(server_id, kind, name)
        if value is not None:
            put[reference] = value
        values[name] = kept if value is None and kept is not None else f"{SECRET}{reference}"
    return values, put


def _moved(before: ServerEntry | None, entry: ServerEntry) -> dict[str, str]:
    """Return the keys that stood in the file in plain text, were shown as slots, and come back as these."""
    keys = keys_in(before) if before else {}
    return {slot_name(entry.id, slot): keys[slot] for slot in slots_of(entry) if slot in keys}


def _slots(body: ServerInput, entry: ServerEntry) -> dict[str, str]:
    """Return the secrets that stand inside the entry's texts."""
    there = slots_of(entry)
    for slot in body.secrets:
        if slot not in there:
            raise BadField((), f"Nothing in this server refers to ${{secret:{slot}}}.")
        if re.search(r"[\r\n\0]", body.secrets[slot] or ""):
            raise BadField((), f"The value of “{slot}” must be one line.")
    return {slot_name(entry.id, slot): value for slot, value in body.secrets.items() if value is not None}


def _auth_type(before: ServerEntry | None, config: ServerSettings) -> AuthType:
    if any(place.file for place in config.keys.values()) or (before is not None and is_unread(before)):
        return "keyfile"
    # Who signed in did so at one address.
    if before is not None and before.auth_type == "oauth" and before.config.url == config.url:
        return before.auth_type
    values = (*config.env.values(), *config.headers.values())
    keys = config.keys or any(value.startswith(SECRET) or SLOT.search(value) for value in values)
    return "api_key" if keys else "none"
