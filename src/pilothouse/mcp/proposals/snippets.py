"""JSON that lists servers, as any program writes it, made into what could be added."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

import msgspec

from pilothouse.mcp.proposals import addresses, commands
from pilothouse.mcp.proposals.blanks import Blanks, Wanted, is_secret
from pilothouse.mcp.proposals.texts import shown
from pilothouse.mcp.servers import importing
from pilothouse.mcp.servers.placeholders import FOLDER, Input, Placeholders, Where, blank_of
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.json import JsonObject, an_object
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import ManualSource, ServerInput

_LISTS = ("mcpServers", "servers", "context_servers", "amp.mcpServers", "mcp", "projects")
_SEPARATORS = ("pathSeparator", "/")
_ENTRY = ("command", "url", "serverUrl", "httpUrl")


class Snippet(msgspec.Struct, frozen=True):
    """JSON with the person's home folder, and where it is from."""

    content: JsonObject
    home: str
    origin: str = ""


def listed(content: object, name: str = "") -> JsonObject | None:
    """Return JSON as a settings file that lists its servers; None where there are none in it."""
    if isinstance(content, list):
        named = {str(each.get("name") or f"server {at}"): each for at, each in enumerate(content, 1) if _is_entry(each)}
        return {"mcpServers": named} if named else None
    if not isinstance(content, dict):
        return None
    inputs = content.get("inputs", [])
    if _is_entry(content):
        entry = {key: value for key, value in content.items() if key not in ("inputs", "name")}
        return {"mcpServers": {name or str(content.get("name") or ""): entry}, "inputs": inputs}
    if any(isinstance(content.get(each), dict) for each in _LISTS):
        return content
    entries = {key: value for key, value in content.items() if _is_entry(value)}
    return {"mcpServers": entries, "inputs": inputs} if entries else None


def _is_entry(value: object) -> bool:
    return isinstance(value, dict) and any(value.get(each) for each in _ENTRY)


def proposals_of(snippet: Snippet) -> tuple[Proposal, ...]:
    """Return the servers of a settings file; one that cannot be had says why."""
    file = importing.read(msgspec.json.encode(snippet.content).decode())
    made: list[Proposal] = []
    for name, raw in file.entries[: limits.PROPOSALS_MOST]:
        blanks = Blanks()
        one = importing.File(((name, raw),), file.inputs)
        (found,) = importing.left_open(one, _Open(file.inputs, blanks, snippet.home))
        made.append(_proposal(found, an_object(raw), blanks, snippet.origin))
    return tuple(made)


class _Open(Placeholders):
    """Puts a mark in place of whatever an entry leaves open."""

    def __init__(self, inputs: Mapping[str, Input], blanks: Blanks, home: str) -> None:
        super().__init__(inputs, None, {})
        self._blanks = blanks
        self._home = home

    def _one(self, inside: str, whole: str, where: Where, takes_slot: bool) -> str:
        if inside == "userHome":
            return self._home
        if inside in _SEPARATORS:
            return "/"
        blank = blank_of(inside)
        kind, _, name = blank.id.partition(":")
        if kind == "your":
            # It is asked for by the name of the variable or the option that it belongs to.
            return whole
        known = self._inputs.get(name, Input()) if kind == "input" else Input()
        is_folder = blank.id == FOLDER
        secret = not is_folder and (where == "headers" or known.secret or (kind != "other" and is_secret(name, None)))
        wanted = Wanted(
            name=blank.slot,
            title="Folder of the project" if is_folder else shown(known.label, limits.KEY_LABEL_CHARS),
            about=known.label if len(known.label) > limits.KEY_LABEL_CHARS else "",
            kind="folder" if is_folder else "string",
            required=not (blank.default or known.default),
            secret=secret,
            default=blank.default or known.default or None,
            choices=known.options,
        )
        if secret and not takes_slot:
            raise BadField((), f"Its “{where}” cannot hold the secret {shown(whole, 60)}.")
        return self._blanks.slot(wanted) if secret else self._blanks.value(wanted)


def _proposal(found: importing.Found, raw: JsonObject, blanks: Blanks, origin: str) -> Proposal:
    source = ManualSource(imported_from=origin)
    if found.body is not None:
        try:
            return _whole(found, found.body, raw, (blanks, source))
        except BadField as error:
            found = msgspec.structs.replace(found, problem=error.message)
    name = shown(found.name, limits.KEY_LABEL_CHARS) or "server"
    problem = found.problem or "It cannot be used here."
    return Proposal(name=name, kind="command", runs="", server=None, source=source, problem=problem)


def _whole(found: importing.Found, body: ServerInput, raw: JsonObject, about: tuple[Blanks, ManualSource]) -> Proposal:
    blanks, source = about
    notes = tuple(_notes(found, raw))
    name = found.name[: limits.KEY_LABEL_CHARS]
    if body.url:
        headers = {**_texts(body.headers), **body.plain_headers}
        address = addresses.Address(body.url, name, body.wire, headers, notes, source)
        made = addresses.proposal_of(address, blanks)
    else:
        env = {**_texts(body.env), **body.plain_env}
        made = commands.proposal_of(commands.Line(_argv(body), env, name, notes, source), blanks)
    if made.server is None:
        return made
    server = msgspec.structs.replace(made.server, times=body.times, off_tools=body.off_tools, cwd=body.cwd)
    return msgspec.structs.replace(made, server=server)


def _argv(body: ServerInput) -> tuple[str, ...]:
    command = (body.command or "").strip()
    if body.args or "/" in command.partition(" ")[0] or " " not in command:
        return (command, *body.args)
    try:
        # Some programs take a whole line for the command.
        return tuple(shlex.split(command))
    except ValueError:
        raise BadField((), "A quotation mark in its command is not closed.") from None


def _texts(values: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}


def _notes(found: importing.Found, raw: JsonObject) -> Iterable[str]:
    yield from (each for each in found.notes if not each.startswith("It needs a value for"))
    if found.was_off:
        yield "The other program has it switched off."
    if raw.get("envFile"):
        yield f"Its envFile {shown(raw['envFile'], 100)} was not read: give here what it needs."


def refused(error: PilothouseError) -> str:
    """Return the sentence of a file that cannot be read, about what was pasted."""
    return error.message.replace("The file", "The text", 1).replace("this file", "this text", 1)
