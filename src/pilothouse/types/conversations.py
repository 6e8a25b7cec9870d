"""A conversation and what a person may set for it."""

import re
from typing import Literal

import msgspec

from pilothouse.types import limits
from pilothouse.types.authority import ChosenMode
from pilothouse.types.errors import PilothouseError
from pilothouse.types.invisible import whole
from pilothouse.types.json import Frozen
from pilothouse.types.selection import Selection

_UNSEEN = r"[\x00-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ue000-\uf8ff]+"
TitleSource = Literal["none", "first_words", "model", "person"]


class ConversationSettings(Frozen, frozen=True):
    """What a conversation overrides; None means the default applies."""

    model_id: str | None = None
    system_prompt: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: bool | None = None
    working_directory: str | None = None
    selection: Selection | None = None
    mode: ChosenMode = "default"
    # When the mode was chosen, by the server's clock: the mode that asks nothing ends by itself.
    mode_since: float = 0.0
    # The topic whose memories, documents and todos it shares with other conversations.
    topic_id: str | None = None
    # The person's own prompt that `system_prompt` was made of, by name, and what its variables were given.
    prompt: str | None = None
    prompt_values: dict[str, str] = msgspec.field(default_factory=dict)
    # The mini prompts that are on, by name.
    mini_prompts: tuple[str, ...] = ()


class Conversation(Frozen, frozen=True):
    """A conversation as listed: its title, settings and whether something runs or waits in it."""

    id: str
    owner: str
    title: str
    title_source: TitleSource
    settings: ConversationSettings
    created_at: float
    updated_at: float
    last_seq: int
    deleted_at: float | None = None
    # The state of its newest run, for the list: "running", "waiting", … or None before the first.
    activity: str | None = None
    # The branch that the person chose last, and how many were made beside the first.
    branch: int = 0
    branches: int = 0


def check_temperature(given: float) -> float:
    """Return a temperature; raise one sentence for what is none."""
    if not 0 <= given <= 2:
        raise PilothouseError("bad_request", "The temperature must be between 0 and 2.")
    return given


def check_max_tokens(given: int) -> int:
    """Return how long an answer may be; raise one sentence for what cannot be one's length."""
    if not 1 <= given <= limits.TOKENS:
        raise PilothouseError("bad_request", f"The most tokens of an answer must be between 1 and {limits.TOKENS:,}.")
    return given


def check_numbers(settings: ConversationSettings) -> None:
    """Raise one sentence for a temperature or a length that cannot be."""
    if settings.temperature is not None:
        check_temperature(settings.temperature)
    if settings.max_tokens is not None:
        check_max_tokens(settings.max_tokens)


def one_line(title: str) -> str:
    """Return a title on one line that is not too long, without control characters."""
    return _bounded(re.sub(r"\s+", " ", re.sub(_UNSEEN, " ", whole(title))).strip())


def clean_title(title: str) -> str:
    """Return a title on one line, without control characters, quotes around it or a final dot."""
    line = re.sub(r"\s+", " ", re.sub(_UNSEEN, " ", whole(title)).strip()).strip("\"'“”‘’* #").removesuffix(".")
    return _bounded(line)


def _bounded(line: str) -> str:
    return line if len(line) <= limits.TITLE_CHARS else line[: limits.TITLE_CHARS - 1].rstrip() + "…"
