"""`pilothouse mcp import`: the servers of another program's file, and what that file leaves open."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from pilothouse.cli.options import given
from pilothouse.cli.prompting import read_line, read_piped, read_unseen, someone_is_there, yes
from pilothouse.cli.servers import switched_on
from pilothouse.cli.terminal import Terminal, messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.server_sharing import OtherFile
from pilothouse.types.servers import ImportedServer, ImportQuestion, ImportReport, ImportRequest
from pilothouse.types.text_files import read_text

_FOLDER = "workspaceFolder"


async def import_file(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The file, `-` for what is piped in; none lists those that there are."),
    ] = None,
    only: Annotated[
        list[str] | None, given("--only", metavar="NAME", help="Only this server; may be given more than once.")
    ] = None,
) -> int:
    """Add the servers of another program's settings file.

    It knows those of Claude, VS Code, Cursor, Windsurf, Zed, goose, Codex, Gemini CLI, LM Studio, Cherry Studio and
    others like them. Without a file it lists what there is on this machine, and in a terminal lets you choose. What a
    file leaves open is asked for; secrets are kept as secrets. None of the servers starts before you agree to its
    command.
    """
    aside = messages()
    async with connect_host() as api:
        chosen = only or []
        if file is None:
            picked = await _picked(api, aside)
            if picked is None:
                return 0
            file, chosen = Path(picked.path), chosen or await _names(picked, aside)
        body = _request(file, chosen)
        # Whose file is piped in cannot be asked: the terminal is not what we read from.
        is_there = someone_is_there(aside) and str(file) != "-"
        answers: dict[str, str | None] = {}
        asked = (await api.other_programs.import_questions(LOCAL_OWNER, body)).questions
        for question in asked if is_there else ():
            answers |= await _answer(question, aside)
        report = await api.other_programs.import_file(LOCAL_OWNER, msgspec.structs.replace(body, answers=answers))
        for one in report.servers:
            _tell(one)
        return await _offer(api, report, aside, is_there)


def _request(file: Path, only: Sequence[str]) -> ImportRequest:
    if str(file) == "-":
        return ImportRequest(text=_read(file), origin="standard input", only=tuple(only))
    return ImportRequest(text=_read(file), file=str(at_home(file).absolute()), only=tuple(only))


async def _answer(question: ImportQuestion, aside: Terminal) -> dict[str, str | None]:
    """Ask for what a file leaves open; an empty answer leaves it open, or takes what is there, Ctrl-C leaves all."""
    named = ", ".join(question.servers[:3]) + (" and others" if len(question.servers) > 3 else "")
    aside.line(one_line(f"{question.label} (for {named})"))
    for number, option in enumerate(question.options, 1):
        aside.line(f"  {number} {one_line(option)}")
    own = os.environ.get(question.id.removeprefix("env:")) if question.id.startswith("env:") else None
    there = "the value that it has here" if own or question.is_set else question.default
    if question.id == _FOLDER:
        there = question.default or str(Path.cwd())
    hint = f" [{one_line(there)}]" if there else " [later]"
    typed = read_unseen(f"Value{hint}: ") if question.secret else await read_line(f"Value{hint}: ", aside)
    if typed is None:
        aside.line("Nothing was imported.")
        raise KeyboardInterrupt
    typed = typed.strip()
    if typed.isdigit() and 0 < int(typed) <= len(question.options):
        typed = question.options[int(typed) - 1]
    if typed:
        return {question.id: typed}
    if own or question.is_set:
        return {question.id: own}
    return {question.id: there} if there else {}


def _tell(one: ImportedServer) -> None:
    out = output()
    style = "yellow" if one.outcome == "refused" else ""
    out.line(f"{one_line(one.name)}: {one.outcome}{f'. {one_line(one.reason)}' if one.reason else ''}", style)
    for note in one.notes:
        out.line(f"  {one_line(note)}")


async def _offer(api: ClientApi, report: ImportReport, aside: Terminal, is_there: bool) -> int:
    """Switch on what was added if the person wants that; return the exit code."""
    refused = 1 if any(one.outcome == "refused" for one in report.servers) else 0
    added = [one for one in report.servers if one.outcome == "added" and not one.was_off]
    if not added:
        return refused
    if is_there and await yes(f"Look at {_counted(len(added))} and switch on what you agree to?", aside):
        await switched_on(api, [one.id for one in added])
        return refused
    aside.line("Nothing was started. `pilothouse mcp list` says what waits for your consent.", "dim")
    names = " ".join(repr(one.name) if " " in one.name else one.name for one in added[:5])
    aside.line(one_line(f"Several are switched on at once: pilothouse mcp enable {names}"), "dim")
    return refused


def _counted(count: int) -> str:
    return "it now" if count == 1 else f"these {count} now"


async def _picked(api: ClientApi, aside: Terminal) -> OtherFile | None:
    """List the files of other programs; return the one that the person chose, None where nobody chooses."""
    found = (await api.other_programs.files(LOCAL_OWNER, folder=str(Path.cwd()))).files
    if not found:
        aside.line("No other program on this machine has MCP servers. Name a file: pilothouse mcp import FILE")
        return None
    if not someone_is_there(aside):
        for each in found:
            _say_file(each)
        return None
    good = [each for each in found if each.servers]
    for number, each in enumerate(good, 1):
        aside.line(one_line(f"  {number} {each.program}: {', '.join(each.servers)}  ({each.path})"))
    for each in found:
        if each.problem:
            aside.line(one_line(f"  - {each.program}: {each.problem}  ({each.path})"), "yellow")
    typed = await read_line("Take over which? [number, nothing leaves] ", aside) if good else None
    if not (typed or "").strip():
        return None
    if not typed or not typed.strip().isdecimal() or not 0 < int(typed) <= len(good):
        raise PilothouseError("bad_request", f"There is no {one_line(typed or '')} in the list.", fix="Begin anew.")
    return good[int(typed) - 1]


def _say_file(each: OtherFile) -> None:
    if each.problem:
        messages().line(one_line(f"{each.program}, {each.path}: {each.problem}"), "yellow")
    else:
        command = one_line(f"pilothouse mcp import {shlex.quote(each.path)}")
        output().line(f"{command}    {each.program}: {one_line(', '.join(each.servers))}")


async def _names(file: OtherFile, aside: Terminal) -> list[str]:
    """Ask which servers of a file are wanted; all of them without a word."""
    if len(file.servers) < 2:
        return []
    for number, name in enumerate(file.servers, 1):
        aside.line(f"  {number} {one_line(name)}")
    typed = await read_line("Which of them? [numbers, nothing takes all] ", aside)
    if typed is None:
        raise KeyboardInterrupt
    numbers = typed.replace(",", " ").split()
    if not all(each.isdecimal() and 0 < int(each) <= len(file.servers) for each in numbers):
        raise PilothouseError("bad_request", "That is no number of the list.", fix="Begin anew.")
    return [file.servers[int(each) - 1] for each in numbers]


def _read(file: Path) -> str:
    if str(file) == "-":
        return read_piped(limits.SETTINGS_FILE_BYTES, "What is piped in is too large for a settings file.")
    return read_text(at_home(file), limits.SETTINGS_FILE_BYTES, "a settings file", str(file))
