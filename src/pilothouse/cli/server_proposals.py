"""`pilothouse mcp add ANYTHING`: what was typed, pasted or named, recognised and filled in before anything is kept."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from pilothouse.cli.form_fields import fill as ask_fields
from pilothouse.cli.form_fields import parse
from pilothouse.cli.options import given
from pilothouse.cli.prompting import read_line, read_piped, someone_is_there
from pilothouse.cli.server_input import ServerForm, new_server, options_of, over
from pilothouse.cli.server_key_questions import ask_for
from pilothouse.cli.server_keys import Named, id_of, named_keys, whole_path, with_keys
from pilothouse.cli.terminal import Terminal, messages, one_line
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.json import JsonObject, an_object
from pilothouse.types.proposals import AnyText, FilledProposal, Proposal, ProposalField, Recognised
from pilothouse.types.server_keys import KeyInput, ServerKey
from pilothouse.types.servers import ServerInput
from pilothouse.types.text_files import read_text

_BUNDLES = (".mcpb", ".dxt")
_PIECE = 1024 * 1024
_REGISTRY_NAME = re.compile(r"[\w-]+(\.[\w-]+)+/[\w.-]+")
ANYTHING = "The command with its arguments, a URL, or anything else that stands for a server."
_CHOOSE = "Which one, where there are several ways to add it; they are numbered."
_SET = "Fill in a field that is no secret, by its label; a list has one for each row. Keys have --key."


@dataclass(frozen=True, kw_only=True)
class AnyForm(ServerForm):
    """What was given for a server of whatever kind."""

    choose: Annotated[int | None, given("--choose", metavar="N", min=1, help=_CHOOSE)] = None
    set: Annotated[list[str] | None, given("--set", metavar="LABEL=VALUE", help=_SET)] = None


class Thing(msgspec.Struct, frozen=True):
    """Something to be recognised: a text, or a file with a bundle in it."""

    text: str = ""
    bundle: Path | None = None


def named_server(target: Sequence[str], form: AnyForm) -> Thing | tuple[ServerInput, list[Named]]:
    """Return the server that was named as it is, or what is to be recognised first."""
    thing = _thing_of(target, form)
    return with_keys(new_server(target, form), (), form) if thing is None else thing


async def settled(
    api: ClientApi, named: Thing | tuple[ServerInput, list[Named]], form: AnyForm
) -> tuple[ServerInput, list[Named]]:
    """Return the server that is meant, and the keys of which nobody knows yet what they are for."""
    return await _proposed(api, named, form) if isinstance(named, Thing) else named


def _thing_of(target: Sequence[str], form: ServerForm) -> Thing | None:
    """Return what is to be recognised; None for a command or an address that says by itself what it is."""
    if form.command_line is not None or form.url is not None or not target:
        return None
    if len(target) > 1:
        of_another = tuple(target[1:3]) in (("mcp", "add"), ("mcp", "add-json")) or "--add-mcp" in target
        return Thing(shlex.join(target)) if of_another else None
    word = target[0]
    if word == "-":
        return Thing(read_piped(limits.RECOGNISED_BYTES, "What is piped in is too large for a server."))
    path = at_home(word)
    if _is_file(path) and not os.access(path, os.X_OK):
        if path.suffix.lower() in _BUNDLES:
            return Thing(bundle=path)
        return Thing(read_text(path, limits.RECOGNISED_BYTES, "the description of a server"))
    first = word.split(maxsplit=1)[0] if word.strip() else ""
    return None if "://" not in first and shutil.which(first) is not None and " " not in word else Thing(word)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


async def _proposed(api: ClientApi, thing: Thing, form: AnyForm) -> tuple[ServerInput, list[Named]]:
    """Return the server that something stands for, and the keys of which nobody knows yet what they are for."""
    aside, options, named = messages(), options_of(form), named_keys(form)
    found = await _recognised(api, thing)
    if not re.fullmatch(r"(https?|wss?)://\S+", thing.text) or len(found.proposals) != 1 or found.proposals[0].fields:
        # A plain address says by itself what it is.
        aside.line(one_line(found.what))
    proposal = await _chosen(found.proposals, form.choose, aside)
    for note in (*proposal.warnings, *proposal.notes):
        aside.line(f"  {one_line(note)}", "yellow" if note in proposal.warnings else "dim")
    keys, later = _keys(proposal, named)
    values = _values(proposal, form.set or ())
    if someone_is_there(aside):
        values |= await _asked_values(proposal, values, aside)
        keys |= await _asked_keys(proposal, keys, aside)
    try:
        made = await api.proposals.fill(LOCAL_OWNER, FilledProposal(proposal=proposal, values=values, keys=keys))
    except PilothouseError as error:
        raise _with_way(error, proposal, values, keys) from None
    return over(made, options), later


async def _recognised(api: ClientApi, thing: Thing) -> Recognised:
    """Return what something is, with at least one way to add it."""
    if thing.bundle is not None:
        return await api.proposals.recognise_bundle(LOCAL_OWNER, _chunks(thing.bundle))
    found = await api.proposals.recognise(LOCAL_OWNER, AnyText(text=thing.text))
    if not found.proposals and _REGISTRY_NAME.fullmatch(found.words):
        found = await api.registries.proposals(LOCAL_OWNER, "official", found.words)
    if found.proposals:
        return found
    words = one_line(found.words)[:100]
    fix = f"Search for it: pilothouse mcp search {shlex.quote(words)}" if words else ""
    is_told = not found.what.startswith("Words")
    raise PilothouseError("bad_request", found.what if is_told else f"“{words}” is nothing that can be added.", fix=fix)


async def _chunks(path: Path) -> AsyncIterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                yield piece
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise PilothouseError("bad_request", f"{path} cannot be read: {reason}.") from None


async def _chosen(proposals: Sequence[Proposal], number: int | None, aside: Terminal) -> Proposal:
    usable = [each for each in proposals if each.server is not None]
    if not usable:
        raise PilothouseError("bad_request", proposals[0].problem or "It cannot be added here.")
    if len(usable) == 1 and number is None:
        return usable[0]
    lines = [f"{at} {one_line(_called(each))}" for at, each in enumerate(usable, 1)]
    if number is None and someone_is_there(aside):
        for line in lines:
            aside.line(f"  {line}")
        typed = await read_line("Which one? ", aside)
        if typed is None:
            raise KeyboardInterrupt
        number = int(typed) if typed.strip().isdigit() else 0
    if number is None or not 1 <= number <= len(usable):
        message = "There are several ways to add this" if number is None else f"There is no number {number}"
        raise PilothouseError("bad_request", f"{message}: {'; '.join(lines)}."[:1_000], fix="Say which: --choose N.")
    return usable[number - 1]


def _called(proposal: Proposal) -> str:
    return proposal.runs if proposal.name in proposal.runs else f"{proposal.name}: {proposal.runs}"


def _keys(proposal: Proposal, named: Sequence[Named]) -> tuple[dict[str, KeyInput], list[Named]]:
    """Return the keys that were given by their labels, and those that nothing here is called."""
    known, later = _known(proposal.fields), []
    keys: dict[str, KeyInput] = {}
    for one in named:
        key_id = id_of(one.label, known, is_remote=proposal.kind == "http")
        if key_id in {each.id for each in known}:
            keys[str(key_id)] = one.key
        else:
            later.append(one)
    return keys, later


def _known(fields: Sequence[ProposalField]) -> list[ServerKey]:
    told = [(each, f"{each.about} {each.link}".strip()) for each in fields if each.secret]
    return [ServerKey(id=each.id, label=each.label, source="missing", about=about) for each, about in told]


def _values(proposal: Proposal, given_values: Sequence[str]) -> JsonObject:
    """Return what was given with --set, each as its field wants it."""
    values: JsonObject = {}
    for text in given_values:
        label, sign, value = text.partition("=")
        field = _field(proposal.fields, label.strip())
        if not sign:
            raise PilothouseError(
                "bad_request", f"“{text}” is not a label and a value.", fix="Write --set LABEL=VALUE."
            )
        if field.secret:
            message = f"{field.label} is a secret, and would stand in your shell's history."
            raise PilothouseError("bad_request", message, fix=f"Give it with --key {shlex.quote(field.label)}.")
        if field.schema.get("type") == "array":
            values.setdefault(field.id, []).append(_parsed(value, an_object(field.schema.get("items")), field))
        else:
            values[field.id] = _parsed(value, field.schema, field)
    return values


def _field(fields: Sequence[ProposalField], label: str) -> ProposalField:
    for field in fields:
        if label.casefold() in (field.label.casefold(), field.id.casefold(), field.id.partition(":")[2].casefold()):
            return field
    has = f"It has: {', '.join(each.label for each in fields)}." if fields else "There is nothing to fill in."
    raise PilothouseError("bad_request", f"Nothing here is called “{label}”.", fix=has)


def _parsed(text: str, schema: JsonObject, field: ProposalField) -> object:
    value = parse(text.strip(), schema)
    if value is None:
        kind = "one of its choices" if schema.get("enum") else f"a {schema.get('type') or 'text'}"
        raise PilothouseError("bad_request", f"“{text[:80]}” does not fit {field.label}, which is {kind}.")
    return whole_path(value) if schema.get("format") == "path" and isinstance(value, str) else value


async def _asked_values(proposal: Proposal, values: JsonObject, aside: Terminal) -> JsonObject:
    """Ask for what must be filled in and was not given; what may stay empty is only named."""
    found: JsonObject = {}
    optional = [each.label for each in proposal.fields if not each.required and not each.secret]
    if optional:
        aside.line(one_line(f"It also takes, with --set: {', '.join(optional)}"[:400]), "dim")
    for field in proposal.fields:
        if field.secret or not field.required or field.id in values or "default" in field.schema:
            continue
        found[field.id] = await (_rows if field.schema.get("type") == "array" else _one)(field, aside)
    return found


async def _one(field: ProposalField, aside: Terminal) -> object:
    schema = {**field.schema, "title": field.label, "description": " ".join(filter(None, (field.about, field.link)))}
    content = await ask_fields(
        {"properties": {"value": schema}, "required": ["value"]}, lambda prompt: read_line(prompt, aside), aside
    )
    if content is None:
        raise KeyboardInterrupt
    value = content["value"]
    return whole_path(value) if field.schema.get("format") == "path" and isinstance(value, str) else value


async def _rows(field: ProposalField, aside: Terminal) -> list[object]:
    aside.line(one_line(f"{field.label}, one a line; Enter alone when that is all"), "bold")
    items, rows = an_object(field.schema.get("items")), list[object]()
    while len(rows) < limits.PROPOSAL_ROWS:
        typed = await read_line("› ", aside)
        if typed is None:
            raise KeyboardInterrupt
        if not typed.strip():
            break
        rows.append(_parsed(typed, items, field))
    return rows


async def _asked_keys(proposal: Proposal, keys: dict[str, KeyInput], aside: Terminal) -> dict[str, KeyInput]:
    required = {each.id for each in proposal.fields if each.required}
    return await ask_for([key for key in _known(proposal.fields) if key.id in required - set(keys)], aside)


def _with_way(
    error: PilothouseError, proposal: Proposal, values: JsonObject, keys: dict[str, KeyInput]
) -> PilothouseError:
    """Return what is missing, with the option that gives it."""
    missing = [each for each in proposal.fields if each.required and each.id not in values and each.id not in keys]
    if not missing or not error.message.startswith(missing[0].label):
        return error
    label = shlex.quote(missing[0].label)
    way = f"--key {label}" if missing[0].secret else f"--set {label}=VALUE"
    return PilothouseError(error.code, error.message, fix=f"Give it with {way}.")
