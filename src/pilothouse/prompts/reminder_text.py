"""What a model is told of the mini prompts that are on: all of their text, with every message."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from pathlib import Path

from pilothouse.prompts.variables import filled
from pilothouse.types.errors import PilothouseError
from pilothouse.types.prompts import PromptDetails

_INTRODUCTION = (Path(__file__).parent / "mini_prompt_reminder.md").read_text().strip()
# What would end the reminder before its end.
_TAG = re.compile(r"<(?=\s*(?:/\s*)?(?:miniPromptReminder|system-reminder)\b)", re.IGNORECASE)


def text_of(prompts: Sequence[PromptDetails]) -> str:
    """Return the reminder of these."""
    said = [f"## {_one_line(each.title)}\n{_harmless(_whole(each))}" for each in prompts]
    return "\n\n".join([f"<miniPromptReminder>\n{_INTRODUCTION}", *said]) + "\n</miniPromptReminder>"


def _whole(prompt: PromptDetails) -> str:
    """Return a mini prompt's text; the day is all that it is given, besides its own defaults."""
    try:
        return filled(prompt.text, {}, {"date": time.strftime("%Y-%m-%d")}).text
    except PilothouseError:
        # A default that stands in it a thousand times is no reason to answer nothing.
        return prompt.text


def _one_line(title: str) -> str:
    return _harmless(" ".join(title.split()))


def _harmless(text: str) -> str:
    """Return a text that cannot end the reminder around it."""
    return _TAG.sub("&lt;", text)
