"""Keys of servers as they are given on the command line: by what a person calls them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from pilothouse.cli.options import given
from pilothouse.cli.prompting import read_secret
from pilothouse.cli.tables import show_table
from pilothouse.cli.terminal import output
from pilothouse.types.errors import PilothouseError
from pilothouse.types.server_keys import KeyInput, ServerKey
from pilothouse.types.servers import ServerInput, ServerView

_KEY = "Give the key of this label; it is asked for, or read from what is piped in, and kept as a secret."
_FILE = "Read a key from this file at each start; only the path is kept. LABEL names it where there are several."
_VARIABLE = "Read a key from this variable of Pilothouse's own environment at each start."
_TOKEN = "header:Authorization"  # noqa: S105
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# A name may stand before what a key is read from; a path that has a = in it begins with a folder.
_LABELLED = re.compile(r"([^=/~.][^=/]*)=(.+)", re.DOTALL)

Forget = Annotated[list[str] | None, given("--forget", metavar="LABEL", help="Forget a key.")]


@dataclass(frozen=True, kw_only=True)
class KeyForm:
    """The keys that were given."""

    key: Annotated[list[str] | None, given("--key", metavar="LABEL", help=_KEY)] = None
    key_file: Annotated[list[str] | None, given("--key-file", metavar="[LABEL=]PATH", help=_FILE)] = None
    key_env: Annotated[list[str] | None, given("--key-env", metavar="[LABEL=]VARIABLE", help=_VARIABLE)] = None


class Named(msgspec.Struct, frozen=True):
    """A key that was given; an empty label means the only one there is."""

    label: str
    key: KeyInput


def named_keys(form: KeyForm) -> list[Named]:
    """Return the keys of a form; those that are pasted are read now."""
    files = [(label, KeyInput(file=whole_path(path))) for label, path in map(_split, form.key_file or ())]
    variables = [(label, KeyInput(environment=name)) for label, name in map(_split, form.key_env or ())]
    pasted = [(label.strip(), KeyInput(value=read_secret(label.strip() or "key"))) for label in form.key or ()]
    return [Named(label, key) for label, key in (*files, *variables, *pasted)]


def whole_path(path: str) -> str:
    """Return the whole path of a file that is given from the folder the person is in; a home folder stays as typed."""
    return path if path.startswith("~") or not path.strip() else os.path.abspath(path)


def with_keys(body: ServerInput, known: Sequence[ServerKey], form: KeyForm) -> tuple[ServerInput, list[Named]]:
    """Return a server with the keys that were given, and those of which nobody knows yet what they are for."""
    is_remote = bool(body.url) or re.match(r"(?i)[a-z][a-z0-9+.-]*://", body.command_line or "") is not None
    found: dict[str, KeyInput | None] = {}
    later = []
    for one in named_keys(form):
        key_id = id_of(one.label, known, is_remote=is_remote)
        if key_id is None:
            later.append(one)
        else:
            found[key_id] = one.key
    return msgspec.structs.replace(body, keys={**body.keys, **found}), later


def id_of(label: str, known: Sequence[ServerKey], *, is_remote: bool) -> str | None:
    """Return the key that is meant: by its label or its name, or the only one; None where nobody can tell yet."""
    if not label:
        wanted = [key.id for key in known if key.source == "missing"] or [key.id for key in known]
        if len(wanted) == 1:
            return wanted[0]
        return _TOKEN if is_remote and not wanted else None
    meant = label.casefold()
    for key in known:
        if meant in (key.label.casefold(), key.id.casefold(), key.id.partition(":")[2].casefold()):
            return key.id
    if is_remote:
        return _TOKEN if meant == "token" else f"header:{label}" if _HEADER_NAME.fullmatch(label) else None
    # What a person calls a key has small letters and spaces in it.
    return f"env:{label}" if _VARIABLE_NAME.fullmatch(label) and label == label.upper() else None


def refuse_unknown(server: ServerView, unknown: Sequence[Named]) -> None:
    """Raise one sentence about a key that the server does not have."""
    if not unknown:
        return
    label = unknown[0].label
    keys = ", ".join(key.label for key in server.keys)
    if not label:
        message = f"Which key of {server.name} is meant?"
    else:
        message = f"{server.name} has no key “{label}”, and has not asked for one."
    fix = f"It has: {keys}." if keys else "Start it, so that it can say what it needs, or name a variable: NAME=…"
    raise PilothouseError("bad_request", message, fix=fix)


def without_keys(server: ServerView, body: ServerInput, labels: Sequence[str]) -> ServerInput:
    """Return a server without some of its keys."""
    gone = []
    for label in labels:
        key_id = id_of(label, server.keys, is_remote=server.transport == "http")
        if key_id not in {key.id for key in server.keys}:
            refuse_unknown(server, [Named(label, KeyInput())])
        gone.append(key_id)
    names = {each.partition(":")[2] for each in gone if each}
    return msgspec.structs.replace(
        body,
        keys={each: key for each, key in body.keys.items() if each not in gone},
        env={name: value for name, value in body.env.items() if name not in names},
        headers={name: value for name, value in body.headers.items() if name not in names},
    )


def is_missing(server: ServerView) -> bool:
    """Return whether the server said that it lacks a key."""
    return any(key.source == "missing" for key in server.keys)


def show_keys(server: ServerView) -> None:
    """Print the keys of a server: what each is called, and where it comes from."""
    rows = [(key.label, _where(key)) for key in server.keys]
    show_table(output(), ("key", "from"), rows, none=f"{server.name} has no keys, and has not asked for one.")


def _where(key: ServerKey) -> str:
    if key.source == "file":
        return f"the file {key.path}"
    return f"the variable {key.variable}" if key.source == "environment" else key.source


def _split(text: str) -> tuple[str, str]:
    labelled = _LABELLED.fullmatch(text)
    return (labelled[1].strip(), labelled[2]) if labelled else ("", text)
