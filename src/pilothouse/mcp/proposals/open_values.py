"""What people leave open in commands and snippets that they publish: `YOUR_API_KEY`, `<token>`, `/path/to/folder`."""

from __future__ import annotations

import re

from pilothouse.mcp.proposals.blanks import Blanks, Wanted, is_secret
from pilothouse.mcp.servers.entries import SLOT
from pilothouse.mcp.servers.secret_detection import KeyFinder

_MARKED = re.compile(r"\$\{(field|secret):")
_OPEN = re.compile(
    r"<[^<>\s][^<>]{0,60}>"
    r"|\[?your[-_ ].{0,80}"
    r"|x{3,}|\*{3,}|\.{3,}|…"
    r"|change[-_]?me|replace[-_]?(me|this|with).{0,60}|insert[-_ ].{0,60}"
    r"|\w{1,12}[-_](x{3,}|\*{3,}|\.{3}|…|your[-_]?.{0,60})[\w-]{0,40}"
    r"|.{0,60}(your|my)[-_](api|access|secret|token|key|pat|personal|auth)[\w-]{0,60}"
    r"|[\w-]{0,60}[-_]here"
    r"|\$\{?[A-Za-z_]\w{0,80}\}?|%[A-Z_]\w{0,80}%|\{\{?[\w-]{1,60}\}?\}",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(.*[\\/])?path[\\/]to([\\/].*)?"
    r"|(/Users|/home|[A-Za-z]:\\{1,2}Users)[\\/]{1,2}<?(your[\w-]*|username|you)>?([\\/].*)?"
    r"|.*<(path|folder|directory)[^<>]*>.*",
    re.IGNORECASE,
)
_OPTION = re.compile(r"--?([A-Za-z][\w.-]{0,79})")
_ASSIGNED = re.compile(r"(--?([A-Za-z][\w.-]{0,79})=)(.+)", re.DOTALL)
_INSIDE = re.compile(r"[A-Za-z][\w-]{1,60}")
_BEARER = re.compile(r"(?i)bearer\s++(.+)")


def is_open(value: str) -> bool:
    """Return whether a value stands for one that only the person has."""
    return _OPEN.fullmatch(value.strip()) is not None or is_path(value)


def is_path(value: str) -> bool:
    """Return whether a value stands for a path that only the person knows."""
    return len(value) < 1_000 and _PATH.fullmatch(value.strip()) is not None


def words(argv: tuple[str, ...], blanks: Blanks) -> tuple[str, ...]:
    """Return the words of a command with marks for those that are left open."""
    made: list[str] = []
    alone = [is_path(word) and not _follows_option(argv, at) for at, word in enumerate(argv)]
    many = sum(alone) > 1
    for at, word in enumerate(argv):
        if many and alone[at]:
            # Several folders one after the other are one list, as long as the person wants it.
            mark = blanks.value(Wanted(name="folders", kind="path", required=True, repeated=True))
            made += [] if mark in made else [mark]
            continue
        before = _OPTION.fullmatch(made[-1]) if made else None
        assigned = _ASSIGNED.fullmatch(word)
        if _MARKED.search(word):
            made.append(word)
        elif is_open(word):
            made.append(_mark(before[1] if before else "", word, blanks))
        elif assigned and is_open(assigned[3]):
            made.append(assigned[1] + _mark(assigned[2], assigned[3], blanks))
        else:
            made.append(word)
    return tuple(made)


def _follows_option(argv: tuple[str, ...], at: int) -> bool:
    return at > 0 and _OPTION.fullmatch(argv[at - 1]) is not None and argv[at - 1] not in ("-y", "--yes")


def _mark(option: str, word: str, blanks: Blanks) -> str:
    if is_path(word):
        return blanks.value(Wanted(name=option or "folder", kind="path", required=True, example=word))
    inside = _INSIDE.search(word)
    name = option or (inside[0] if inside else "value")
    wanted = Wanted(name=name, required=True, secret=is_secret(name, None))
    return blanks.slot(wanted) if wanted.secret else blanks.value(wanted)


class Sorted:
    """Variables or headers, sorted: those to fill in, those that are kept as secrets, those that are readable."""

    def __init__(self, kind: str, blanks: Blanks) -> None:
        self._kind = kind
        self._blanks = blanks
        self.secret: dict[str, str | None] = {}
        self.plain: dict[str, str] = {}

    def put(self, name: str, value: str) -> None:
        """Take one of them; an empty value is one that the person is to fill in."""
        value = value.strip() if self._kind == "header" else value
        bare = _BEARER.fullmatch(value)
        if _MARKED.search(value) or SLOT.search(value):
            self.plain[name] = value
        elif not value or is_open(value) or (bare and is_open(bare[1])):
            self.ask(name)
        elif self._is_secret(name) or KeyFinder().values({name: value})[name] != value:
            self.secret[name] = value
        else:
            self.plain[name] = value

    def ask(self, name: str, *, required: bool = True) -> None:
        """Take one of which only the name is known."""
        wanted = Wanted(name=name, required=required, secret=self._is_secret(name))
        if wanted.secret:
            self._blanks.key(f"{self._kind}:{name}", wanted)
        else:
            self.plain[name] = self._blanks.value(wanted)

    def _is_secret(self, name: str) -> bool:
        return is_secret(name, None) or (self._kind == "header" and name.lower() == "authorization")
