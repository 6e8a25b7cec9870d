"""A run's questions in a terminal: permission for a call, a server's form, or anything else with choices."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable

from pilothouse.cli.approval_keys import ask_approval
from pilothouse.cli.form_fields import fill, has_free_text, never_a_secret
from pilothouse.cli.previews import show_command, show_preview
from pilothouse.cli.prompting import read_line
from pilothouse.cli.terminal import Terminal, exact, exact_json
from pilothouse.types.api import Answer
from pilothouse.types.item_data import (
    ApprovalData,
    AskedAccess,
    CollaborationData,
    Cure,
    ElicitationData,
    takes_own_words,
)
from pilothouse.types.items import Call, Question
from pilothouse.types.origins import host_shown

_PROMPT = "› "


def show(question: Question, call: Call | None, aside: Terminal) -> None:
    """Print a question with everything that it is about: what is shown is what happens."""
    aside.line(question.text, "bold")
    match question.data:
        case ApprovalData() as asked:
            _show_call(asked, call, aside)
        case ElicitationData() as asked:
            aside.line(f"  asked by the server {exact(asked.server)}", "dim")
            if asked.mode == "url":
                aside.line(f"  {exact(asked.url)}")
                aside.line(f"  It leads to {host_shown(asked.url) or 'no host'}.", "dim")
        case CollaborationData() as asked:
            _show_asked(asked, aside)


def _show_asked(asked: CollaborationData, aside: Terminal) -> None:
    """Print what the agent says along with its question, and what approving would allow."""
    for line in asked.context.splitlines():
        aside.line(f"  {exact(line)}", "dim")
    if asked.authorizes:
        allowed = f"{exact(asked.authorizes)} for {exact(asked.duration)}"
        aside.line(f"  Approving allows every {allowed} in this conversation, in any folder.", "yellow")


def _show_call(asked: ApprovalData, call: Call | None, aside: Terminal) -> None:
    aside.line(f"  {exact(asked.server_tool or asked.tool)}")
    arguments = call.data.arguments if call is not None else None
    shown = exact_json(json.dumps(arguments, indent=2, ensure_ascii=False)) if arguments else "(no arguments)"
    for line in shown.split("\n"):
        aside.line(f"  {line}")
    _show_why(asked, aside)


def _show_why(asked: ApprovalData, aside: Terminal) -> None:
    """Print what the call touches, by which rule it is asked about, and what makes it stand out."""
    access = asked.access or AskedAccess()
    show_command(access.command, aside)
    show_preview(asked.preview or {}, aside)
    for use in access.paths:
        aside.line(f"  {use.effect} {exact(use.path)}", "dim")
    if access.destination:
        sent = f"{access.payload_bytes:,} bytes, {access.sent_before:,} before"
        aside.line(f"  sends to {exact(access.destination)}: {sent}", "dim")
    if asked.rule:
        aside.line(f"  asked by the rule “{exact(asked.rule)}”: {exact(asked.why or '')}", "dim")
    if asked.dangerous:
        aside.line(f"  Careful: {exact(asked.dangerous)}", "yellow")
    if asked.proposal_text:
        aside.line(f"  a lasting answer is for: {exact(asked.proposal_text)}", "dim")
    if spared := _spared(asked):
        aside.line(f"  not asked with {spared}", "dim")


def _spared(asked: ApprovalData) -> str:
    """Return what would have spared a question, in words."""
    cure = asked.cure or Cure()
    ways = [f"--mode {mode}" for mode in cure.modes]
    return " or ".join([*ways, *([allow_words(cure.allow)] if cure.allow else [])])


def allow_words(names: Iterable[str]) -> str:
    """Return options that allow these with a message, as a shell takes them."""
    return exact(" ".join(f"--allow {shlex.quote(name)}" for name in dict.fromkeys(names)))


async def ask(question: Question, call: Call | None, aside: Terminal, together: int = 0) -> Answer | None:
    """Ask the person and return the answer; None when they leave it open, `ALL` to allow everything together."""
    show(question, call, aside)
    data = question.data
    if isinstance(data, ApprovalData):
        return await ask_approval(data, call, aside, together)
    if not data.choices:
        text = await read_line(_PROMPT, aside)
        return Answer(text=text) if text and text.strip() else None
    for number, one in enumerate(data.choices, 1):
        aside.line(f"  {number}  {one.label or one.id}")
    choice = await _choose([(one.id, one.label) for one in data.choices], aside, takes_own_words(data))
    if not isinstance(choice, str):
        return choice
    if choice == "accept" and isinstance(data, ElicitationData) and data.mode == "form":
        if has_free_text(data.schema or {}):
            aside.line(f"  {never_a_secret(exact(data.server))}", "yellow")
        content = await fill(data.schema or {}, lambda prompt: read_line(prompt, aside), aside)
        return None if content is None else Answer(choice=choice, content=content)
    return Answer(choice=choice)


async def _choose(choices: list[tuple[str, str]], aside: Terminal, own_words: bool) -> str | Answer | None:
    """Return the choice whose number, id or words the person types; nothing is chosen by an empty line.

    Where their own words are an answer too, they are returned as such.
    """
    while line := await read_line(_PROMPT, aside):
        typed = line.strip().lower()
        if typed.isdigit() and 1 <= int(typed) <= len(choices):
            return choices[int(typed) - 1][0]
        for name, label in choices:
            if typed in (name.lower(), label.lower()):
                return name
        if own_words:
            return Answer(text=line.strip())
        aside.line(f"Type a number from 1 to {len(choices)}.", "yellow")
    return None
