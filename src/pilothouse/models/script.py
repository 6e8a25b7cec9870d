"""Scripts for the scripted model: read, checked, and told about with file and line when they are wrong.

The format is described in docs/guide/scripted-model.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import yaml

from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.json import JsonObject, convert
from pilothouse.types.stream import StopReason, Usage


class _Step(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Base of the steps; the first field of each names its kind."""


class TextStep(_Step, frozen=True):
    """Text, whole or in pieces of so many characters with a pause after each."""

    text: str
    pieces: int = 0
    every: float = 0.0
    until: str = ""


class ThinkingStep(_Step, frozen=True):
    """Thinking, likewise."""

    thinking: str
    pieces: int = 0
    every: float = 0.0
    until: str = ""


class CallStep(_Step, frozen=True):
    """A tool call; arguments given as text are sent as they are, valid or not."""

    call: str
    arguments: JsonObject | str = {}
    id: str | None = None
    pieces: int = 0
    every: float = 0.0
    until: str = ""


class PictureStep(_Step, frozen=True):
    """A picture from a file, whatever is in it; a name that is no whole path is one beside the script."""

    picture: str
    # What the model says it is.
    type: str = "image/png"


class CiteStep(_Step, frozen=True):
    """A source of what was just said: its address, or nothing where it has only a title."""

    cite: str
    title: str = ""
    quote: str = ""


class UsageStep(_Step, frozen=True):
    """The token counts to tell."""

    usage: Usage


class WaitStep(_Step, frozen=True):
    """A pause, in seconds; like every pause it is over once the file `until` is there."""

    wait: float
    until: str = ""


class FaultStep(_Step, frozen=True):
    """Something that goes wrong: an error status, or the name of a fault.

    With `times` only that often in one process, with `after` once the turn has told that many events.
    """

    fault: int | Literal["stall", "cut", "bad_chunk", "refusal", "context_too_long"]
    retry_after: float | None = None
    times: int | None = None
    after: int | None = None
    message: str = ""


class StopStep(_Step, frozen=True):
    """Why the answer ends, when not for the usual reason."""

    stop: StopReason


Step = TextStep | ThinkingStep | CallStep | PictureStep | CiteStep | UsageStep | WaitStep | FaultStep | StopStep
_KINDS: dict[str, type[Step]] = {
    "text": TextStep,
    "thinking": ThinkingStep,
    "call": CallStep,
    "picture": PictureStep,
    "cite": CiteStep,
    "usage": UsageStep,
    "wait": WaitStep,
    "fault": FaultStep,
    "stop": StopStep,
}


class Turn(msgspec.Struct, frozen=True):
    """One answer; with `match` only for a message that contains these words."""

    number: int
    steps: tuple[Step, ...]
    match: str = ""


class Script(msgspec.Struct, frozen=True):
    """All turns, and what follows the last: the first again (`loop`) or the last again."""

    path: str
    turns: tuple[Turn, ...]
    loop: bool = False

    def turn(self, last_text: str, answers: int, answers_since: int) -> Turn:
        """Return the turn for a request, from the request alone.

        Turns whose `match` is in the person's last message go by the answers since it, the others by all answers.
        """
        matching = [turn for turn in self.turns if turn.match and turn.match.lower() in last_text.lower()]
        plain = [turn for turn in self.turns if not turn.match]
        turns, index = (matching, answers_since) if matching else (plain or list(self.turns), answers)
        return turns[index % len(turns)] if self.loop else turns[min(index, len(turns) - 1)]


def load_script(path: str) -> Script:
    """Read and check a script; raise a PilothouseError `bad_script` that says where and what is wrong."""
    try:
        text = at_home(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "it is not UTF-8 text"
        raise PilothouseError(
            "bad_script", f"The script {path} cannot be read: {why}.", fix="Check the path."
        ) from None
    data = _parsed(path, text)
    try:
        return _script(path, data)
    except BadField as error:
        raise _wrong(path, _line(text, error.path), error.message) from None


def _parsed(path: str, text: str) -> object:
    try:
        # JSON by its own reader: YAML takes no tabs.
        return json.loads(text) if path.endswith(".json") else yaml.safe_load(text)
    except json.JSONDecodeError as error:
        raise _wrong(path, error.lineno, f"{error.msg}.") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise _wrong(path, line, f"{error.problem or 'this is not YAML'}.") from None
    except (yaml.YAMLError, RecursionError):
        raise _wrong(path, None, "This is not YAML.") from None


def _wrong(path: str, line: int | None, message: str) -> PilothouseError:
    place = f"{path}, line {line}" if line else path
    message = message[0].upper() + message[1:]
    return PilothouseError("bad_script", f"{place}: {message}", fix="The guide to the scripted model shows the format.")


def _script(path: str, data: object) -> Script:
    at: tuple[str | int, ...] = ()
    loop = False
    if isinstance(data, dict):
        if unknown := set(data) - {"turns", "loop"}:
            name = sorted(map(str, unknown))[0]
            raise BadField((name,), f"“{name}” is not known here; a script has “turns” and “loop”.")
        loop = convert(data.get("loop", False), bool, ("loop",))
        at, data = ("turns",), data.get("turns")
    if not isinstance(data, list) or not data:
        raise BadField(at, "A script is a list of turns, with at least one.")
    return Script(path, tuple(_turn(turn, number, (*at, number)) for number, turn in enumerate(data)), loop)


def _turn(data: object, number: int, at: tuple[str | int, ...]) -> Turn:
    match = ""
    if isinstance(data, dict) and "steps" in data:
        if unknown := set(data) - {"steps", "match"}:
            name = sorted(map(str, unknown))[0]
            raise BadField((*at, name), f"“{name}” is not known here; a turn has “steps” and “match”.")
        match = convert(data.get("match", ""), str, (*at, "match"))
        at, data = (*at, "steps"), data["steps"]
    elif isinstance(data, str | dict):
        data = [data]
    if not isinstance(data, list) or not data:
        raise BadField(at, "A turn is a list of steps, with at least one.")
    return Turn(number, tuple(_step(step, (*at, place)) for place, step in enumerate(data)), match)


def _step(data: object, at: tuple[str | int, ...]) -> Step:
    if isinstance(data, str):
        return TextStep(text=data)
    if not isinstance(data, dict):
        raise BadField(at, "A step is text, or an object such as {text: …} or {call: …}.")
    kinds = [kind for kind in _KINDS if kind in data]
    if len(kinds) != 1:
        raise BadField(at, f"A step needs exactly one of {', '.join(_KINDS)}.")
    step = convert(data, _KINDS[kinds[0]], at)
    for name in ("pieces", "every", "wait", "times", "after", "retry_after"):
        if (getattr(step, name, None) or 0) < 0:
            raise BadField(at, f"“{name}” cannot be negative.")
    return step


def _line(text: str, path: Sequence[str | int]) -> int | None:
    """Return the line on which a value stands, as near as the file can tell."""
    try:
        node: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    line: int | None = node.start_mark.line + 1 if node else None
    for step in path:
        mark, node = _child(node, step)
        if mark is None:
            break
        line = mark.start_mark.line + 1
    return line


def _child(node: Any, step: str | int) -> tuple[Any, Any]:
    """Return where a child begins (for a named one its name) and the child itself."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == str(step)), (None, None))
    return None, None
