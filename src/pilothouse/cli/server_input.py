"""From what was said on the command line to the server that is meant."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from pilothouse.cli.options import given
from pilothouse.cli.prompting import read_secret
from pilothouse.cli.server_keys import KeyForm
from pilothouse.types.errors import PilothouseError
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.servers import Era, ServerInput, ServerOptions, ServerView, ToolTimes, Wire

T = TypeVar("T")
# How a value in the settings says that it is kept elsewhere.
_KEPT = "secret:"
# Which of them can be used is said where all forms are looked at.
_ADDRESS = re.compile(r"(?i)[a-z][a-z0-9+.-]*://")

_NAME = "The name to show; its lower-cased form is the prefix of its tools."
_READ = "the value is asked for, or read from what is piped in, and kept as a secret."
_SECRET = f"What ${{secret:NAME}} in its texts stands for; {_READ}"
_CANNOT_SEND = "Nothing it is told leaves this machine: you vouch for that."
_SCRIPTS = "Whether its package may run scripts when it is installed, or be built."
_SANDBOX = "Hold it in a sandbox: it can write to its folder only."


@dataclass(frozen=True, kw_only=True)
class ServerForm(KeyForm):
    """What was given for a server; None was not given and stays as it is."""

    name: Annotated[str | None, given(help=_NAME)] = None
    command_line: Annotated[str | None, given(help="The command as one text, split like a shell would.")] = None
    url: Annotated[str | None, given(help="Where it is, for a server that is reached over the network.")] = None
    env: Annotated[list[str] | None, given(metavar="NAME=VALUE", help="A variable that is no secret.")] = None
    secret_env: Annotated[list[str] | None, given(metavar="NAME", help=f"A variable; {_READ}")] = None
    header: Annotated[list[str] | None, given(metavar="'NAME: VALUE'", help="A header that is no secret.")] = None
    secret_header: Annotated[list[str] | None, given(metavar="NAME", help=f"A header; {_READ}")] = None
    secret: Annotated[list[str] | None, given(metavar="NAME", help=_SECRET)] = None
    token: Annotated[bool, given("--token", help=f"Send a bearer token; {_READ}")] = False
    cwd: Annotated[str | None, given(metavar="FOLDER", help="Where a command is started.")] = None
    wire: Annotated[Wire | None, given(help="How a URL is spoken to; by default that is found out.")] = None
    era: Annotated[Era | None, given(help="Which form of the protocol; by default that is found out.")] = None
    timeout: Annotated[
        float | None, given(min=0, metavar="SECONDS", help="How long a call may take; 0 for the usual.")
    ] = None
    tool_timeout: Annotated[list[str] | None, given(metavar="TOOL=SECONDS", help="The same for one of its tools.")] = (
        None
    )
    always_on: Annotated[
        bool | None, given("--always-on/--when-needed", help="Keep it running, or stop it when nobody uses it.")
    ] = None
    per_conversation: Annotated[
        bool | None, given("--per-conversation/--shared", help="Start one for each conversation, or share one.")
    ] = None
    read_only: Annotated[
        bool | None, given("--read-only/--read-write", help="Offer only tools that say they change nothing.")
    ] = None
    cannot_send: Annotated[bool | None, given("--cannot-send/--can-send", help=_CANNOT_SEND)] = None
    sandbox: Annotated[bool | None, given(help=_SANDBOX)] = None
    network: Annotated[bool | None, given(help="Whether it may use the network in its sandbox.")] = None
    install_scripts: Annotated[bool | None, given(help=_SCRIPTS)] = None
    root: Annotated[list[str] | None, given(metavar="FOLDER", help="A folder that it is told it may work in.")] = None
    trust_certificate: Annotated[
        str | None, given(metavar="SHA256", help="Accept exactly this certificate of the URL.")
    ] = None


def new_server(target: Sequence[str], form: ServerForm) -> ServerInput:
    """Return the server that a command line, a command with its arguments, or a URL stands for."""
    words, form = _named([*target], form)
    if form.command_line is not None or form.url is not None:
        if words:
            raise PilothouseError("bad_request", "The server is named twice.", fix="Give one command or one URL.")
        return _filled(ServerInput(), form)
    if not words:
        raise PilothouseError(
            "bad_request",
            "A server needs a command or a URL.",
            fix="For example: pilothouse mcp add npx -y @modelcontextprotocol/server-everything",
        )
    program = _whole(words[0])
    if len(words) > 1 or program != words[0]:
        return _filled(ServerInput(command=program, args=tuple(words[1:])), form)
    if _is_address(words[0]):
        return _filled(ServerInput(url=words[0]), form)
    return _filled(ServerInput(command_line=words[0]), form)


def options_of(form: ServerForm) -> ServerInput:
    """Return what was given beside the server itself; secrets are read now."""
    return _filled(ServerInput(), form)


def over(there: ServerInput, given: ServerInput) -> ServerInput:
    """Return a server with what was given for it on the command line."""
    usual, changes = ServerInput(), {}
    for name in ServerInput.__struct_fields__:
        value = getattr(given, name)
        if value != getattr(usual, name):
            before = getattr(there, name)
            changes[name] = {**before, **value} if isinstance(value, dict) else value
    for one, other in (("env", "plain_env"), ("headers", "plain_headers")):
        # What was given readable is no secret any more, and the other way round.
        changes[one] = {**_without(getattr(there, one), getattr(given, other)), **getattr(given, one)}
        changes[other] = {**_without(getattr(there, other), getattr(given, one)), **getattr(given, other)}
    named = {f"env:{name}" for name in (*given.env, *given.plain_env)}
    named |= {f"header:{name}" for name in (*given.headers, *given.plain_headers)}
    changes["keys"] = {each: key for each, key in there.keys.items() if each not in named}
    return msgspec.structs.replace(there, **changes)


def _named(words: list[str], form: ServerForm) -> tuple[list[str], ServerForm]:
    """Return what to start and the form with its name, where they are given as `NAME -- COMMAND…` or `NAME URL`."""
    if form.name is not None or len(words) < 2 or "/" in words[0]:
        return words, form
    name, *rest = words
    if rest[0] == "--" and len(rest) > 1:
        return rest[1:], replace(form, name=name)
    if len(rest) == 1 and _is_address(rest[0]) and shutil.which(name) is None:
        return rest, replace(form, name=name)
    return words, form


def _whole(program: str) -> str:
    """Return the whole path of a program that is given from the folder the person is in."""
    path = Path(program)
    return str(path.absolute()) if "/" in program and not path.is_absolute() and path.is_file() else program


def _is_address(word: str) -> bool:
    return _ADDRESS.match(word) is not None


def changed_server(now: ServerView, form: ServerForm) -> ServerInput:
    """Return a server as it is, with what was given changed; secrets that are not given stay."""
    kept, is_bundle = now.settings, now.package.type == "mcpb"
    there = ServerInput(
        name=now.name,
        enabled=now.enabled,
        command_line=now.address if now.transport == "stdio" and not is_bundle else None,
        bundle=now.package.identifier if is_bundle else None,
        command=now.package.runtime_hint if is_bundle else None,
        args=kept.args if is_bundle else (),
        url=kept.url if now.transport == "http" else None,
        env={name: None for name, value in kept.env.items() if value.startswith(_KEPT)},
        plain_env={name: value for name, value in kept.env.items() if not value.startswith(_KEPT)},
        headers={name: None for name, value in kept.headers.items() if value.startswith(_KEPT)},
        plain_headers={name: value for name, value in kept.headers.items() if not value.startswith(_KEPT)},
        keys={key.id: None for key in now.keys},
        **{name: getattr(kept, name) for name in ServerOptions.__struct_fields__},
    )
    return _filled(there, form)


def _filled(there: ServerInput, form: ServerForm) -> ServerInput:
    """Return the input with what the form has; a command replaces a URL and the other way round."""
    if form.url is not None or form.command_line is not None:
        there = msgspec.structs.replace(there, url=None, command_line=None, command=None, args=(), bundle=None)
    if form.url is not None:
        there = msgspec.structs.replace(there, url=form.url)
    if form.command_line is not None:
        there = msgspec.structs.replace(there, command_line=form.command_line, url=None)
    plain_env = _pairs(form.env, "=", "--env NAME=VALUE")
    plain_headers = _pairs(form.header, ":", "--header 'Name: value'")
    secret_env = {name: read_secret(f"value of {name}") for name in form.secret_env or ()}
    secret_headers = {name: read_secret(f"value of {name}") for name in form.secret_header or ()}
    given = {
        "name": form.name,
        "wire": form.wire,
        "era": form.era,
        "cwd": form.cwd,
        "always_on": form.always_on,
        "per_conversation": form.per_conversation,
        "read_only": form.read_only,
        "cannot_send": form.cannot_send,
        "sandbox": form.sandbox,
        "scripts": form.install_scripts,
        # Without a sandbox nothing keeps it off the network.
        "network": True if form.sandbox is False and form.network is None else form.network,
        "trusted_certificate": form.trust_certificate,
        "roots": tuple(form.root) if form.root else None,
        "secrets": {name: read_secret(f"value of {name}") for name in form.secret} if form.secret else None,
        "token": read_secret("bearer token") if form.token else None,
    }
    named = [*(f"env:{name}" for name in (*plain_env, *secret_env)), *(f"slot:{name}" for name in form.secret or ())]
    named += [
        f"header:{name}" for name in (*plain_headers, *secret_headers, *(("Authorization",) if form.token else ()))
    ]
    return msgspec.structs.replace(
        there,
        keys=_keys_kept(there, named),
        env=_without(there.env, plain_env) | secret_env,
        plain_env=_without(there.plain_env, secret_env) | plain_env,
        headers=_without(there.headers, plain_headers) | secret_headers,
        plain_headers=_without(there.plain_headers, secret_headers) | plain_headers,
        times=there.times if form.timeout is None else ToolTimes(total=form.timeout or None),
        tool_times=_tool_times(there.tool_times, form.tool_timeout),
        **{name: value for name, value in given.items() if value is not None},
    )


def _keys_kept(there: ServerInput, named: Sequence[str]) -> dict[str, KeyInput | None]:
    """Return the keys that stay as they are: those that such a server can have, and that are not given by name."""
    is_remote = bool(there.url) or _is_address(there.command_line or "")
    wrong, again = "env:" if is_remote else "header:", {each.lower() for each in named}
    return {key: None for key in there.keys if not key.startswith(wrong) and key.lower() not in again}


def _without(values: Mapping[str, T], replaced: Mapping[str, object]) -> dict[str, T]:
    return {name: value for name, value in values.items() if name not in replaced}


def _tool_times(now: Mapping[str, ToolTimes], given: Sequence[str] | None) -> dict[str, ToolTimes]:
    """Return the times of single tools with those that were given; 0 takes one back."""
    times = dict(now)
    for tool, seconds in _pairs(given, "=", "--tool-timeout TOOL=SECONDS").items():
        try:
            wanted = float(seconds)
        except ValueError:
            raise PilothouseError(
                "bad_request", f"“{seconds}” is no number of seconds.", fix="Write it as --tool-timeout TOOL=SECONDS."
            ) from None
        times.pop(tool, None)
        if wanted:
            times[tool] = ToolTimes(total=wanted)
    return times


def _pairs(given: Sequence[str] | None, sign: str, shape: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in given or ():
        name, found, value = text.partition(sign)
        if not found or not name.strip():
            raise PilothouseError("bad_request", f"“{text}” is not a name and a value.", fix=f"Write it as {shape}.")
        pairs[name.strip()] = value.strip() if sign == ":" else value
    return pairs
