"""What other programs leave open in their settings, `${input:token}`, `${env:HOME}`: filled in, asked for, or named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from pilothouse.mcp.servers.secret_detection import names_secret
from pilothouse.types.errors import BadField
from pilothouse.types.json import JsonObject, objects_in
from pilothouse.types.servers import ImportQuestion

Where = Literal["command", "args", "env", "headers", "url", "cwd", "envFile"]
FOLDER = "workspaceFolder"
# `${…}` of most programs, `{env:…}` of one, and `$NAME` where a shell's variables are meant.
_BLANK = re.compile(r"\$\{([^{}]*)\}|(?<!\$)\{(env:\w+)\}")
_SHELL = re.compile(_BLANK.pattern + r"|(?<![\w$\\])\$([A-Z][A-Z0-9_]{2,})\b")
_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_]\w*)(?::-(.*))?", re.DOTALL)
_FOLDERS = re.compile(r"(workspaceFolder|workspaceRoot|cwd|CLAUDE_PROJECT_DIR)(:.*)?")
_BEFORE_PATH = re.compile(r"[a-zA-Z]+://[^/?#]+[/?#]")
_BASENAME = "workspaceFolderBasename"
_CONSTANTS = {"pathSeparator": os.sep, "/": os.sep}
# Where a secret cannot stand: what is looked for before anything is filled in.
_BARE: frozenset[Where] = frozenset({"command", "cwd", "envFile"})


class Input(msgspec.Struct, frozen=True):
    """One of the `inputs` of a file: what its program would ask for."""

    label: str = ""
    secret: bool = False
    default: str = ""
    options: tuple[str, ...] = ()


class Blank(msgspec.Struct, frozen=True):
    """Something left open: the key of its answer, its name in a slot, and what it is by default."""

    id: str
    slot: str
    default: str = ""


def inputs_of(raw: object) -> dict[str, Input]:
    """Return the inputs that a file describes, by their ids."""
    return {str(each["id"]): _input(each) for each in objects_in(raw) if each.get("id")}


def _input(raw: JsonObject) -> Input:
    label = str(raw.get("description") or "")
    if raw.get("type") == "command":
        label = f"{label or raw['id']} (the other program runs its command {raw.get('command')} for this)"
    given = raw.get("options")
    options = tuple(_option(each) for each in given) if isinstance(given, list) else ()
    return Input(label, raw.get("password") is True, str(raw.get("default") or ""), options)


def _option(raw: object) -> str:
    return str(raw.get("value") or raw.get("label") or "") if isinstance(raw, dict) else str(raw)


class Placeholders:
    """Fills in what one server leaves open, and notes what was asked for and what is still missing."""

    def __init__(
        self, inputs: Mapping[str, Input], answers: Mapping[str, str | None] | None, environ: Mapping[str, str]
    ) -> None:
        self._inputs = inputs
        self._answers = answers or {}
        self._environ = environ
        # Nobody was asked yet: it is only looked what is left open, and nothing is refused for it.
        self.looking = answers is None
        # Each blank that was met, and whether it is a secret wherever it was met.
        self.met: dict[str, tuple[Blank, bool]] = {}
        # What stands in slots; None is missing.
        self.slots: dict[str, str | None] = {}

    def filled(self, text: str, where: Where) -> str:
        """Return the text with what is known in it, and slots for secrets and for what nobody said yet."""

        def one(hit: re.Match[str]) -> str:
            return self._one(hit[hit.lastindex or 0], hit[0], where, _takes_slot(hit, where))

        return (_SHELL if where in ("env", "headers") else _BLANK).sub(one, text)

    def _one(self, inside: str, whole: str, where: Where, takes_slot: bool) -> str:
        if inside in _CONSTANTS:
            return _CONSTANTS[inside]
        if inside == "userHome":
            return str(Path.home())
        blank = _blank(inside)
        secret = where == "headers" or self._is_secret(blank)
        before = self.met.get(blank.id)
        self.met[blank.id] = (blank, secret or (before is not None and before[1]))
        value = self._value(blank)
        if value is not None and not secret:
            return Path(value).name if inside == _BASENAME else value
        if takes_slot:
            self.slots[blank.slot] = value
            return f"${{secret:{blank.slot}}}"
        if self.looking:
            return whole
        if value is None:
            raise BadField((), f"Its “{where}” needs a value for {whole}; import it again and give one.")
        raise BadField((), f"Its “{where}” cannot hold the secret {whole}.")

    def _is_secret(self, blank: Blank) -> bool:
        kind, _, name = blank.id.partition(":")
        known = self._inputs.get(name) if kind == "input" else None
        return known.secret if known is not None else kind in ("input", "env") and names_secret(name)

    def _value(self, blank: Blank) -> str | None:
        kind, _, name = blank.id.partition(":")
        answer = self._answers.get(blank.id, "")
        if answer is None:
            answer = self._environ.get(name, "") if kind == "env" else ""
        known = self._inputs.get(name) if kind == "input" else None
        return answer.strip() or blank.default or (known.default if known else "") or None

    def questions(self, server: str) -> Iterable[ImportQuestion]:
        """Return what to ask for this server."""
        for blank, secret in self.met.values():
            kind, _, name = blank.id.partition(":")
            known = self._inputs.get(name, Input()) if kind == "input" else Input()
            is_set = kind == "env" and bool(self._environ.get(name))
            yield ImportQuestion(
                id=blank.id,
                label=known.label or _label(blank, kind, name),
                secret=secret,
                options=known.options,
                default=blank.default or known.default,
                is_set=is_set,
                servers=(server,),
            )


def _takes_slot(hit: re.Match[str], where: Where) -> bool:
    """Return whether a slot can stand here: not in what is looked for, and in an address only behind its host."""
    if where == "url":
        return _BEFORE_PATH.match(hit.string, 0, hit.start()) is not None
    return where not in _BARE


def _blank(inside: str) -> Blank:
    if inside.startswith("input:"):
        return Blank(inside, inside.removeprefix("input:"))
    if inside == _BASENAME or _FOLDERS.fullmatch(inside):
        return Blank(FOLDER, FOLDER)
    if variable := _VARIABLE.fullmatch(inside):
        return Blank(f"env:{variable[1]}", variable[1], variable[2] or "")
    return Blank(f"other:{inside}", inside)


def _label(blank: Blank, kind: str, name: str) -> str:
    if blank.id == FOLDER:
        return "The folder of the project"
    if kind == "env":
        return f"{name}, an environment variable"
    return name if kind == "input" else f"What the other program puts in place of ${{{name}}}"


def blank_of(inside: str) -> Blank:
    """Return what is left open by what stands between braces."""
    return _blank(inside)
