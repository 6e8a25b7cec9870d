"""`pilothouse mcp import`: the servers of another program's file, and what that file leaves open."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from pilothouse.cli.prompting import read_line, read_piped, read_unseen, someone_is_there, yes
from pilothouse.cli.server_files import folder_of, known_files, origin_of
from pilothouse.cli.servers import switched_on
from pilothouse.cli.terminal import Terminal, messages, one_line, output
from pilothouse.connection import connect_host
from pilothouse.types import limits
from pilothouse.types.errors import PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.host import LOCAL_OWNER, ClientApi
from pilothouse.types.servers import ImportedServer, ImportQuestion, ImportReport, ImportRequest

_FOLDER = "workspaceFolder"


async def import_file(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The file, `-` for what is piped in; none says which files there are."),
    ] = None,
) -> int:
    """Add the servers of another program's settings file.

    It knows those of Claude, VS Code, Cursor, Windsurf, Zed, Cline, Gemini CLI and others like them. What such a file
    leaves open is asked for; secrets are kept as secrets. None of the servers starts before you agree to its command.
    """
    if file is None:
        return _say_files()
    text, origin, aside = _read(file), origin_of(file), messages()
    # Whose file is piped in cannot be asked: the terminal is not what we read from.
    is_there = someone_is_there(aside) and str(file) != "-"
    async with connect_host() as api:
        answers: dict[str, str | None] = {}
        asked = (await api.other_programs.import_questions(LOCAL_OWNER, ImportRequest(text=text))).questions
        for question in asked if is_there else ():
            answers |= await _answer(question, file, aside)
        report = await api.other_programs.import_file(
            LOCAL_OWNER, ImportRequest(text=text, origin=origin, answers=answers)
        )
        for one in report.servers:
            _tell(one)
        return await _offer(api, report, aside, is_there)


async def _answer(question: ImportQuestion, file: Path, aside: Terminal) -> dict[str, str | None]:
    """Ask for what a file leaves open; an empty answer leaves it open, or takes what is there, Ctrl-C leaves all."""
    named = ", ".join(question.servers[:3]) + (" and others" if len(question.servers) > 3 else "")
    aside.line(one_line(f"{question.label} (for {named})"))
    for number, option in enumerate(question.options, 1):
        aside.line(f"  {number} {one_line(option)}")
    own = os.environ.get(question.id.removeprefix("env:")) if question.id.startswith("env:") else None
    there = "the value that it has here" if own or question.is_set else question.default
    if question.id == _FOLDER:
        there = str(folder_of(file))
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


def _say_files() -> int:
    found = known_files()
    if not found:
        messages().line("No settings file of another program was found. Name one: pilothouse mcp import FILE")
        return 0
    for program, path in found:
        output().line(f"pilothouse mcp import {one_line(str(path))}    {program}")
    return 0


def _read(file: Path) -> str:
    if str(file) == "-":
        return read_piped(limits.SETTINGS_FILE_BYTES, "What is piped in is too large for a settings file.")
    try:
        with at_home(file).open("rb") as opened:
            data = opened.read(limits.SETTINGS_FILE_BYTES + 1)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise PilothouseError("bad_request", f"{file} cannot be read: {reason}.") from None
    if len(data) > limits.SETTINGS_FILE_BYTES:
        raise PilothouseError("too_large", f"{file} is too large for a settings file.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PilothouseError("bad_request", f"{file} is not UTF-8 text.") from None
