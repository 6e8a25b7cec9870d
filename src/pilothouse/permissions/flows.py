"""Data that leaves: from where to where. The person decides about each such pair, once."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

import msgspec

from pilothouse.permissions.case import Case
from pilothouse.permissions.fetches import host_of
from pilothouse.types import limits
from pilothouse.types.access import Access
from pilothouse.types.authority import HERE, PAGES, SERVER, Seen, source_name

# The values in a schema that its tool's maker wrote; whoever chooses one of them writes nothing.
_OWN_VALUES = ("enum", "const", "default")
# Between these a piece of a text can begin and end.
_WORD = re.compile(r"[^\W_]+")
# What else a value can be: empty text, true, false, nothing, an empty list, an object.
_EMPTY = 6
# Which kind of value it is, in bits.
_KIND = 2.0


class Flow(msgspec.Struct, frozen=True):
    """Private data that a call can take along: where it was read, and where it would go."""

    # `files` for whatever is on this machine, `server:github` for what a server told.
    sources: frozenset[str]
    destination: str
    # The server that takes it there; empty where none does.
    through: str = ""
    # Whether it holds nothing but numbers, choices and words of the person's, which together tell too much.
    small: bool = False

    def in_words(self) -> str:
        """Return it as a person reads it: "your files and the server Web to api.github.com through github"."""
        through = f" through {self.through}" if self.through and self.through != self.destination else ""
        return f"{named(self.sources)} to {self.destination}{through}"


def flow_of(case: Case) -> Flow | None:
    """Return which private data a call can take where; None where it can take none."""
    destination, sources = way_out(case.access), _along(case)
    if not destination or not sources:
        return None
    bits = math.inf if case.access.command is not None else _bits_of(case)
    return None if _is_little(case, bits) else Flow(sources, destination, case.tool.server or "", small=bits < math.inf)


def _along(case: Case) -> frozenset[str]:
    """Return whose private data a call could take along if it holds any."""
    access, server = case.access, case.tool.server
    # What came from there may go back there; before there were marks a server's name had to do.
    own = {access.source or f"{SERVER}{server}", f"{SERVER}{server}"} if server else set()
    if access.source.startswith(PAGES) and not server and access.command is None:
        # So may what was read of a host of the person's own network.
        own = {access.source}
    sources = frozenset(_place(source) for source in case.context.seen.private - own)
    # A command can read the working directory by itself, whatever the conversation has seen.
    return sources | {HERE} if access.command is not None else sources


def told_by(case: Case) -> int:
    """Return how much a call can tell of private data that nobody is asked about, in bits."""
    counts = case.access.command is None and way_out(case.access) and _along(case)
    bits = _bits_of(case) if counts else 0.0
    return math.ceil(bits) if _is_little(case, bits) else 0


def _is_little(case: Case, bits: float) -> bool:
    """Return whether so many bits are not asked about: in one call, and with what was told in that way before."""
    before = case.context.seen.bits.get(case.access.destination, 0)
    return bits <= min(limits.CALL_BITS_UNASKED, limits.BITS_UNASKED - before)


def sources_of(flow: Flow | None) -> frozenset[str]:
    """Return whose private data a call can take along."""
    return flow.sources if flow is not None else frozenset()


def way_out(access: Access) -> str:
    """Return where data could go; a command that nothing keeps off the network could send it anywhere.

    One that asks a single host for something sends it there.
    """
    if host := host_of(access):
        return host
    command = access.command
    unheld = command is not None and (command.network or not command.sandbox)
    return access.destination or ("anywhere" if unheld else "")


def named(sources: AbstractSet[str]) -> str:
    """Return where data came from, in words."""
    servers = sorted({source_name(source) for source in sources if source.startswith(SERVER)})
    said = ["your files"] if HERE in sources else []
    if servers:
        said.append(f"the server{'s' if len(servers) > 1 else ''} {', '.join(servers)}")
    return " and ".join(said)


def _place(source: str) -> str:
    """Return a source as a person decides about it: all that is on this machine is one."""
    return source if source.startswith(SERVER) else HERE


def too_much(access: Access, seen: Seen) -> str:
    """Return why so much data, or data so often, for one place must be looked at, each time anew; or nothing."""
    to = access.destination
    before, sends = seen.sent.get(to, 0), seen.sends.get(to, 0)
    sent = before + access.payload_bytes
    much = _passes(before, sent, limits.SENT_UNASKED) or _passes(sends, sends + 1, limits.SENDS_UNASKED)
    return f"With it this run has sent {sent:,} bytes to {to} in {sends + 1} calls." if to and much else ""


def _passes(before: int, after: int, most: int) -> bool:
    """Return whether a count passes what is allowed: who agreed once is asked after as much again."""
    return max(after - 1, 0) // most > max(before - 1, 0) // most


# --- what the arguments of a call hold ---


def _bits_of(case: Case) -> float:
    """Return how much a call can tell that holds only the person's own words, the schema's values and numbers, in bits.

    Many small words spell anything, and so do the fields that they stand in, the order of these, which tool is called,
    and that one is called at all. What holds anything else can tell everything.
    """
    schema, typed = case.tool.spec.input_schema, case.context.typed
    names, offered = _own_words(schema)
    fields, values = _parts(case.arguments)
    if len(values) > limits.CHOICES_UNASKED or not names.issuperset(fields):
        return math.inf
    needed, top = _strings(schema.get("required")), len(case.arguments)
    free = [name for name in fields[:top] if name not in needed] + fields[top:]
    told = math.log2(sum(tool.server == case.tool.server for tool in case.context.tools) + 1)
    told += len(free) * math.log2(len(names) + 1) + math.log2(math.factorial(top))
    places = sum(map(_places_in, typed))
    for value in values:
        told += _KIND
        if isinstance(value, str) and value and value not in offered:
            told += _bits_of_piece(value, places) if any(_stands_in(value, text) for text in typed) else math.inf
        else:
            told += _bits(value, len(offered))
    return told


def _places_in(text: str) -> int:
    """Return in how many places of a text a piece of it can begin: it need not have blanks between its words."""
    return len(_WORD.sub("", text)) + 1


def _bits_of_piece(piece: str, places: int) -> float:
    """Return how much it tells which piece of a text was chosen: where it begins, and how long it is."""
    return math.log2(places + 1) + 2 * math.log2(_places_in(piece))


def _bits(value: object, offered: int) -> float:
    """Return how much a value tells that is a number, a choice, one of those that a schema offers, or none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.log2(offered + _EMPTY)
    # As many digits behind the point would say as much as before it; and so does how many there are.
    plain = abs(value) < limits.PLAIN_NUMBER and len(repr(value)) <= limits.PLAIN_NUMBER_CHARS
    return (len(repr(value)) + 1) * math.log2(10) if plain else math.inf


def _strings(value: object) -> set[str]:
    return {each for each in value if isinstance(each, str)} if isinstance(value, list) else set()


def _parts(value: object) -> tuple[list[str], list[object]]:
    """Return the names of fields in a value, and everything that stands in it: a list by itself is a part, too."""
    names: list[str] = []
    values: list[object] = []
    left = [value]
    while left:
        now = left.pop()
        inner: Iterable[object] = ()
        if isinstance(now, dict):
            names += now
            inner = now.values()
        elif isinstance(now, list):
            inner = now
        values += inner
        left += inner
    return names, values


def _own_words(schema: object) -> tuple[set[str], set[str]]:
    """Return the names of fields that a schema has, and the values that it offers."""
    names: set[str] = set()
    offered: set[str] = set()
    left = [schema]
    while left:
        now = left.pop()
        if isinstance(now, list):
            left += now
        elif isinstance(now, dict):
            properties = now.get("properties")
            names.update(properties if isinstance(properties, dict) else ())
            values = (value for key in _OWN_VALUES if key in now for value in _parts([now[key]])[1])
            offered.update(value for value in values if isinstance(value, str))
            left += (inner for key, inner in now.items() if key not in _OWN_VALUES)
    return names, offered


def _stands_in(value: str, text: str) -> bool:
    """Return whether somebody wrote these words, whole and in this order."""
    at = -1
    for _ in range(limits.PLACES_LOOKED_AT):
        at = text.find(value, at + 1)
        if at < 0:
            return False
        end = at + len(value)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            return True
    return False
