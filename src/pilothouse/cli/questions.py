"""A run's questions in a terminal: leave for a call, a server's form, or anything else with choices."""

from __future__ import annotations

import json

from pilothouse.cli.form_fields import fill, has_free_text, never_a_secret
from pilothouse.cli.previews import show_command, show_preview
from pilothouse.cli.prompting import read_line
from pilothouse.cli.terminal import Terminal, exact, exact_json
from pilothouse.types.api import Answer
from pilothouse.types.items import Item
from pilothouse.types.origins import host_shown

_PROMPT = "› "
_WHY_NOT = "Why not? The model is told (Enter: no reason) › "


def show(question: Item, call: Item | None, aside: Terminal) -> None:
    """Print a question with everything that it is about: what is shown is what happens."""
    data = question.data
    aside.line(question.text, "bold")
    if data.get("kind") == "approval":
        _show_call(question, call, aside)
    elif data.get("kind") == "elicitation":
        aside.line(f"  asked by the server {exact(str(data.get('server', '')))}", "dim")
        if data.get("mode") == "url":
            url = str(data.get("url", ""))
            aside.line(f"  {exact(url)}")
            aside.line(f"  It leads to {host_shown(url) or 'no host'}.", "dim")
    elif data.get("kind") == "collaboration":
        _show_asked(question, aside)


def _show_asked(question: Item, aside: Terminal) -> None:
    """Print what the agent says along with its question, and what approving would allow."""
    data = question.data
    for line in str(data.get("context") or "").splitlines():
        aside.line(f"  {exact(line)}", "dim")
    if data.get("authorizes"):
        allowed = f"{exact(str(data['authorizes']))} for {exact(str(data.get('duration', '')))}"
        aside.line(f"  Approving allows every {allowed} in this conversation, in any folder.", "yellow")


def _show_call(question: Item, call: Item | None, aside: Terminal) -> None:
    aside.line(f"  {exact(str(question.data.get('serverTool') or question.data.get('tool', '')))}")
    arguments = call.data.get("arguments") if call is not None else None
    shown = exact_json(json.dumps(arguments, indent=2, ensure_ascii=False)) if arguments else "(no arguments)"
    for line in shown.split("\n"):
        aside.line(f"  {line}")
    _show_why(question, aside)


def _show_why(question: Item, aside: Terminal) -> None:
    """Print what the call touches, by which rule it is asked about, and what makes it stand out."""
    data = question.data
    access = data.get("access") or {}
    show_command(access, aside)
    show_preview(data.get("preview") or {}, aside)
    for use in access.get("paths", ()):
        aside.line(f"  {use['effect']} {exact(str(use['path']))}", "dim")
    if access.get("destination"):
        sent = f"{access.get('payloadBytes', 0):,} bytes, {access.get('sentBefore', 0):,} before"
        aside.line(f"  sends to {exact(str(access['destination']))}: {sent}", "dim")
    if data.get("rule"):
        aside.line(f"  asked by the rule “{exact(str(data['rule']))}”: {exact(str(data.get('why', '')))}", "dim")
    if data.get("dangerous"):
        aside.line(f"  Careful: {exact(str(data['dangerous']))}", "yellow")
    if data.get("proposalText"):
        aside.line(f"  a lasting answer is for: {exact(str(data['proposalText']))}", "dim")


async def ask(question: Item, call: Item | None, aside: Terminal) -> Answer | None:
    """Ask the person and return the answer; None when they leave it open."""
    show(question, call, aside)
    choices = list(question.data.get("choices") or ())
    if not choices:
        text = await read_line(_PROMPT, aside)
        return Answer(text=text) if text and text.strip() else None
    for number, choice in enumerate(choices, 1):
        aside.line(f"  {number}  {choice.get('label') or choice['id']}")
    own_words = question.data.get("kind") == "collaboration" and not question.data.get("authorizes")
    choice = await _choose([(str(one["id"]), str(one.get("label", ""))) for one in choices], aside, own_words)
    if not isinstance(choice, str):
        return choice
    if choice == "accept" and question.data.get("mode") == "form":
        if has_free_text(question.data.get("schema") or {}):
            aside.line(f"  {never_a_secret(exact(str(question.data.get('server', ''))))}", "yellow")
        content = await fill(question.data.get("schema") or {}, lambda prompt: read_line(prompt, aside), aside)
        return None if content is None else Answer(choice=choice, content=content)
    if choice == "deny" and question.data.get("kind") == "approval":
        reason = await read_line(_WHY_NOT, aside)
        return Answer(choice=choice, text=(reason or "").strip() or None)
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
