"""What a provider did not take, read out of the whole body of its error: which field, and which values it takes.

Bodies differ more than what they say. A field is named by `param`, by the path `loc` of a validator, by `field`, by a
path before the first colon of a message, or somewhere in its words; an inner error may stand as JSON inside a message.
All of it becomes one `Refusal`. A wire says which fields its requests can do without or can write differently, its
`Spare`s; one that was sent and is named is what was refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from pilothouse.models.learned_limits import Lesson, Spare

# A path as refusals write it: tools.0.custom.strict, tools[0].strict, #/stream_options, reasoningEffort.
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[.\[\]/]+[A-Za-z0-9_]+)*")
_BEFORE_COLON = re.compile(r"\s*[\"'`]?([A-Za-z_][\w.\[\]]*)[\"'`]?\s*:\s")
_SEPARATORS = re.compile(r"[.\[\]/]+")
# Words without which a message that names a field may be about anything.
_REFUSES = re.compile(
    r"support|unrecogni[sz]ed|unknown|unexpected|cannot|forbidden|unavailable|invalid|deprecated|verified|missing|"
    r"(not|n't) (permitted|allowed|available|accepted?|valid|take|be)|extra (inputs?|fields?)|required|wants?\b|"
    r"may only|only (the|works?|takes?)|must be|should be|range|one of|too large|at most|less than|greater than",
    re.IGNORECASE,
)
# Of a whole field, not of the value that it had.
_WHOLE = re.compile(
    r"(unsupported|unknown)[_ ](parameter|field|name|argument)|extra_forbidden|extra inputs?|unrecogni[sz]ed|"
    r"(does ?n.t|does not) support (the )?param|property .{1,60} is unsupported",
    re.IGNORECASE,
)
_QUOTED = r"[\"'`“”‘’]"
_LISTED = re.compile(
    r"(?:values? (?:are|is)|one of|allowed(?: values)?|input should be|expected|valid (?:values|options))"
    rf"[^\"'`“\n]{{0,24}}((?:{_QUOTED}[\w.-]{{1,32}}{_QUOTED}[\s,|/\]\[]*(?:and |or )?)+)",
    re.IGNORECASE,
)
_ONE = re.compile(rf"{_QUOTED}([\w.-]{{1,32}}){_QUOTED}")
_NUMBER = r"`?(-?\d[\d,]{0,15}(?:\.\d{1,9})?)`?"
_RANGES = (
    re.compile(
        rf"range[^\d\n]{{0,40}}?{_NUMBER}\s*(?:\.\.\.?|to|,|-|and|\(inclusive\) to)\s*{_NUMBER}(\s*\(exclusive\))?",
        re.I,
    ),
    re.compile(rf"(?:between|in) [\[(]?{_NUMBER}\s*(?:and|,|to)\s*{_NUMBER}", re.I),
    re.compile(rf"should be [\[(]{_NUMBER}\s*,\s*{_NUMBER}", re.I),
)
_MOST = re.compile(
    rf"(?:<=|at most|less than or equal to|maximum (?:value )?(?:of|is)|no (?:more|greater) than)\s*{_NUMBER}|"
    rf"cannot be greater than [^\d\n]{{0,40}}{_NUMBER}|\d\s*>\s*{_NUMBER}",
    re.IGNORECASE,
)
_LEAST = re.compile(
    rf"(?:>=|at least|greater than or equal to|minimum (?:value )?(?:of|is))\s*{_NUMBER}", re.IGNORECASE
)
# What is inside the messages is the conversation's own: leaving out a field of the request does not help there.
_CONTENT = frozenset({"messages", "contents", "input", "system"})
_PATH_KEYS = frozenset({"param", "field", "parameter", "loc", "path"})
_CODE_KEYS = frozenset({"code", "type", "status"})
# The outermost parts of a validator's path.
_OUTER = frozenset({"body", "request"})
_TOOLS = frozenset({("tools",), ("toolchoice",), ("functions",)})
_DEPTH = 10
_MOST_VALUES = 12

Path = tuple[str, ...]


class Refusal(NamedTuple):
    """What an error body says."""

    # Fields that the body names in a place of its own, and those in its words.
    named: tuple[Path, ...] = ()
    said: tuple[Path, ...] = ()
    words: str = ""
    codes: str = ""
    # The values that it says it takes, and the bounds.
    values: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None

    @property
    def is_whole(self) -> bool:
        """Return whether it is about fields as such, not about what was in them."""
        return bool(_WHOLE.search(f"{self.codes} {self.words}"))

    @property
    def is_of_tools(self) -> bool:
        """Return whether it is about tools as such."""
        return self.is_whole and not _TOOLS.isdisjoint(self.named or self.said)

    def lessons(self, spares: Iterable[Spare], sent: bytes) -> list[Lesson]:
        """Return what is learned of this for later requests: of the spares that were sent, those that are named.

        Where none is named in a place of its own, the first one in the words is.
        """
        if missed := [spare for spare in spares if spare.missed and re.search(spare.missed, self.words, re.I)]:
            return [Lesson(spare.field) for spare in missed]
        body = _Sent(sent)
        present = [(spare, value) for spare in spares if (value := body.value(spare)) is not _ABSENT]
        named = [(spare, value) for spare, value in present if self._is_named(spare)]
        found = named or [(spare, value) for spare, value in present if self._is_said(spare)][:1]
        # Whoever refuses a part of something does not refuse all of it.
        inner = [spare.field for spare, _ in found]
        return [
            self._learned(spare, value)
            for spare, value in found
            if not any(field.startswith(f"{spare.field}.") for field in inner)
        ]

    def _is_named(self, spare: Spare) -> bool:
        return any(_leads_to(path, spare) for path in self.named)

    def _is_said(self, spare: Spare) -> bool:
        """Return whether a field is in the words, and these are about fields."""
        if not spare.anywhere and any(path[0] in _CONTENT for path in self.named):
            return False
        if not _REFUSES.search(self.words) and not _WHOLE.search(self.codes):
            return False
        words = self.words.lower()
        return any(word in words for word in spare.also) or any(_leads_to(path, spare) for path in self.said)

    def _learned(self, spare: Spare, value: object) -> Lesson:
        if isinstance(value, str) and spare.values and not self.is_whole:
            return Lesson(spare.field, refused=(value,), allowed=self._allowed(spare, value))
        if isinstance(value, int | float) and not isinstance(value, bool) and self._is_out_of_bounds(value):
            return Lesson(spare.field, least=self.least, most=self.most)
        return Lesson(spare.field)

    def _allowed(self, spare: Spare, value: str) -> tuple[str, ...]:
        # Of what a stranger quotes only our own words are of use, and fit to be shown.
        said = set(self.values) or {part for path in self.said for part in path}
        return tuple(one for one in spare.values if one != value and one in said)

    def _is_out_of_bounds(self, value: float) -> bool:
        return (self.most is not None and value > self.most) or (self.least is not None and value < self.least)


def read_refusal(body: bytes) -> Refusal:
    """Return what an error body says about the request, whatever its shape."""
    named: list[Path] = []
    words: list[str] = []
    codes: list[str] = []
    for key, value in _pieces(body.decode("utf-8", "replace"), "", _DEPTH):
        if key in _PATH_KEYS and _is_path(value):
            named.append(_path(value))
        elif key in _CODE_KEYS and isinstance(value, str):
            codes.append(value)
        elif isinstance(value, str):
            words.append(value)
            if found := _BEFORE_COLON.match(value):
                named.append(_path(found[1]))
    text = "\n".join(words)
    least, most = _bounds(text)
    return Refusal(
        named=tuple(path for path in named if path),
        said=tuple(path for found in _PATH.findall(text) if (path := _path(found))),
        words=text,
        codes=" ".join(codes),
        values=_values(text),
        least=least,
        most=most,
    )


def _pieces(value: object, key: str, depth: int) -> Iterator[tuple[str, object]]:
    """Yield every string of a body with the name it stands under; a validator's path is one piece."""
    if isinstance(value, list) and key == "loc":
        yield key, value
    elif isinstance(value, list) and depth:
        for inner in value:
            yield from _pieces(inner, key, depth - 1)
    elif isinstance(value, dict) and depth:
        for name, inner in value.items():
            # What was sent is repeated there.
            if name != "input":
                yield from _pieces(inner, str(name), depth - 1)
    elif isinstance(value, str):
        yield from _texts(value, key, depth)
    elif key in ("le", "lt", "ge", "gt"):
        yield key, f"{'<=' if key[0] == 'l' else '>='} {value}"


def _texts(text: str, key: str, depth: int) -> Iterator[tuple[str, object]]:
    """Yield what the JSON inside of a text says, and the words around it."""
    inner, words = _json_inside(text) if depth else (None, text)
    if inner is not None:
        yield from _pieces(inner, key, depth - 1)
    if words.strip():
        yield key, words


def _json_inside(text: str) -> tuple[object, str]:
    """Return the JSON that a text is or holds, as when a gateway passes an error on, and the words around it."""
    start = min((at for at in (text.find("{"), text.find("[{")) if at >= 0), default=-1)
    if start < 0:
        return None, text
    try:
        inner, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None, text
    return inner, f"{text[:start]} {text[end:]}"


def _is_path(value: object) -> bool:
    return isinstance(value, list) or (isinstance(value, str) and bool(_PATH.match(value)) and " " not in value)


def _path(value: object) -> Path:
    parts = [str(part) for part in value] if isinstance(value, list) else _SEPARATORS.split(str(value))
    bare = [_bare(part) for part in parts if part and not part.isdigit()]
    while bare and bare[0] in _OUTER:
        bare.pop(0)
    return tuple(bare)


def _bare(name: str) -> str:
    """Return a name in the one form in which thinkingBudget and thinking_budget are the same."""
    return name.replace("_", "").replace("-", "").lower()


def _leads_to(path: Path, spare: Spare) -> bool:
    """Return whether a path goes through all parts of a field's own, from its beginning unless it may be anywhere."""
    wanted = [_bare(part) for part in spare.field.split(".")]
    if "".join(path) == "".join(wanted):
        return True
    if not spare.anywhere and path[0] != wanted[0]:
        return False
    rest = iter(path)
    return all(part in rest for part in wanted)


def _values(text: str) -> tuple[str, ...]:
    found = [value for listed in _LISTED.findall(text) for value in _ONE.findall(listed)]
    return tuple(dict.fromkeys(found))[:_MOST_VALUES]


def _bounds(text: str) -> tuple[float | None, float | None]:
    for pattern in _RANGES:
        if found := pattern.search(text):
            least, most = _number(found[1]), _number(found[2])
            exclusive = found.lastindex == 3
            return least, most - 1 if exclusive else most
    least_found, most_found = _LEAST.search(text), _MOST.search(text)
    return (
        _number(least_found[1]) if least_found else None,
        _number(next(group for group in most_found.groups() if group)) if most_found else None,
    )


def _number(text: str) -> float:
    return float(text.replace(",", ""))


class _Absent:
    pass


_ABSENT = _Absent()
_outer = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Sent:
    """A request as it was sent, of which only what is asked for is decoded."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self._outer: dict[str, msgspec.Raw] = _outer.decode(body)

    def value(self, spare: Spare) -> object:
        """Return the value of a field, True for one inside of lists."""
        if spare.anywhere:
            # A quote inside of a text is escaped, so this can only be a name.
            return True if f'"{spare.field.rpartition(".")[2]}":'.encode() in self._body else _ABSENT
        first, *rest = spare.field.split(".")
        if first not in self._outer:
            return _ABSENT
        value: object = msgspec.json.decode(self._outer[first])
        for part in rest:
            if not isinstance(value, dict) or part not in value:
                return _ABSENT
            value = value[part]
        return value
