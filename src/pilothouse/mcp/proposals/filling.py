"""A proposal with what the person filled in, as the server that it stands for.

A value becomes one word of the arguments, one part of an address, one line of a header: whatever is in it, it cannot
become more. Nothing here is given to a shell, and what was filled in is not looked through for marks again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import quote, urlsplit

import msgspec

from pilothouse.mcp.proposals.blanks import FIELD, WITH
from pilothouse.mcp.registry.addresses import OFFICIAL, SMITHERY, address
from pilothouse.mcp.servers.entries import SLOT
from pilothouse.types import limits
from pilothouse.types.errors import BadField, PilothouseError
from pilothouse.types.home_paths import at_home
from pilothouse.types.json import JsonObject, an_object
from pilothouse.types.origins import host_shown, is_nearby
from pilothouse.types.proposals import FilledProposal, ProposalField
from pilothouse.types.server_keys import KeyInput
from pilothouse.types.servers import ManualSource, OfficialSource, ServerInput, SmitherySource

_MARK = re.compile(f"{FIELD.pattern}|{SLOT.pattern}")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:\d{1,5})?")
_BREAKS = re.compile(r"[\r\n\0]")


def filled(body: FilledProposal) -> ServerInput:
    """Return the server of a filled-in proposal; raise one sentence about what is missing or does not fit."""
    proposal = body.proposal
    if proposal.server is None:
        raise PilothouseError("bad_request", proposal.problem or "This cannot be added here.")
    try:
        return _Filling(proposal.fields, body.values, body.keys).server(proposal.server, proposal.source)
    except BadField as error:
        raise PilothouseError("bad_request", error.message, fix="Correct it and try again.") from None


def _leads_inside(url: str, source: object) -> bool:
    """Return whether a registry that everyone has leads into the network of whoever asks it."""
    if not isinstance(source, OfficialSource | SmitherySource):
        return False
    named = OFFICIAL if isinstance(source, OfficialSource) else SMITHERY
    return is_nearby(url) and not is_nearby(address(named))


class _Filling:
    """What was filled in, checked, and put where its marks are."""

    def __init__(self, fields: Sequence[ProposalField], values: JsonObject, keys: Mapping[str, KeyInput]) -> None:
        known = {each.id: each for each in fields}
        # What the person typed may be of their own network.
        self._given = bool(values)
        for given in (*values, *keys):
            if given not in known or known[given].secret != (given in keys):
                raise BadField((), f"Nothing in this server is called “{given[:80]}”.")
        self._keys = {each: key for each, key in keys.items() if _is_given(key)}
        self._values: dict[str, list[str] | bool] = {}
        for each in fields:
            if not each.secret:
                value = _value(each, values.get(each.id))
                if value is not None:
                    self._values[each.id] = value
        self._slots = {each.id.removeprefix("slot:") for each in fields if each.id.startswith("slot:")}
        for each in fields:
            if each.required and not (each.id in self._keys or each.id in self._values):
                raise BadField((), f"{each.label} is missing.")

    def server(self, there: ServerInput, source: object) -> ServerInput:
        """Return the server with everything in its place; what was not given is left out."""
        made = msgspec.structs.replace(
            there,
            command=self._one(there.command) if there.command else there.command,
            args=tuple(self._words(there.args)),
            url=self._address(there.url) if there.url else there.url,
            cwd=self._one(there.cwd) if there.cwd else there.cwd,
            plain_env=self._named(there.plain_env),
            plain_headers=self._named(there.plain_headers),
            roots=tuple(self._words(there.roots)),
            keys={**there.keys, **self._keys},
        )
        for name, value in made.plain_headers.items():
            if _BREAKS.search(value):
                raise BadField((), f"The value of the header {name} must be one line.")
        if made.url and not self._given and _leads_inside(made.url, source):
            message = f"A public registry names {host_shown(made.url)}, which is inside of your own network."
            raise BadField((), f"{message} Add it by its address if it is yours.")
        is_typed = isinstance(source, ManualSource) and not source.imported_from
        return made if is_typed else msgspec.structs.replace(made, source=source)

    def _is_there(self, field_id: str) -> bool:
        value = self._values.get(field_id)
        return field_id in self._keys or (value is True if isinstance(value, bool) else value is not None)

    def _lacks(self, text: str) -> bool:
        """Return whether a text has a mark for which nothing was given."""
        marks = _MARK.finditer(text)
        return any(not self._has(hit) for hit in marks)

    def _has(self, hit: re.Match[str]) -> bool:
        if hit[1] is not None:
            return hit[1] in self._values
        return hit[2] not in self._slots or f"slot:{hit[2]}" in self._keys

    def _words(self, words: Sequence[str]) -> Iterator[str]:
        """Yield the words that are there: those of a list once for each of its rows, with the option before them."""
        pending = ""
        for word in words:
            condition = WITH.match(word)
            if condition is not None:
                pending = ""
                bare = word[condition.end() :]
                if condition[1] == "without":
                    yield from (bare,) if self._values.get(condition[2]) is False else ()
                elif self._is_list(condition[2]):
                    # Written before each of its rows, which come next.
                    pending = bare
                elif self._is_there(condition[2]):
                    yield bare
                continue
            if self._lacks(word):
                pending = ""
                continue
            for made in self._rows(word):
                yield from (pending, made) if pending else (made,)
            pending = ""

    def _is_list(self, field_id: str) -> bool:
        value = self._values.get(field_id)
        return isinstance(value, list) and len(value) > 1

    def _rows(self, word: str) -> list[str]:
        many = [value for each in FIELD.findall(word) if isinstance(value := self._values.get(each), list)]
        longest = max((len(each) for each in many), default=1)
        return [self._put(word, row) for row in range(longest)]

    def _put(self, text: str, row: int = 0) -> str:
        made = FIELD.sub(lambda hit: self._text(hit[1], row), text)
        if "\0" in made:
            raise BadField((), "A value cannot hold a null character.")
        return made

    def _text(self, field_id: str, row: int = 0) -> str:
        value = self._values[field_id]
        if isinstance(value, bool):
            return "true" if value else "false"
        return value[min(row, len(value) - 1)]

    def _one(self, text: str) -> str:
        if self._lacks(text):
            raise BadField((), "What it would start is not filled in.")
        return self._put(text)

    def _named(self, named: Mapping[str, str]) -> dict[str, str]:
        """Return variables or headers; of a list the rows stand with commas between them."""
        return {
            name: FIELD.sub(lambda hit: self._joined(hit[1]), text)
            for name, text in named.items()
            if not self._lacks(text)
        }

    def _joined(self, field_id: str) -> str:
        value = self._values[field_id]
        made = self._text(field_id) if isinstance(value, bool) else ",".join(value)
        if "\0" in made:
            raise BadField((), "A value cannot hold a null character.")
        return made

    def _address(self, url: str) -> str:
        """Return an address; what of its query was not given is left out."""
        path, sign, query = url.partition("?")
        pieces = [made for piece in query.split("&") for made in self._query(piece)] if sign else []
        if self._lacks(path):
            raise BadField((), "A part of the address is not filled in.")
        made = FIELD.sub(lambda hit: self._part(hit, path), path)
        return f"{made}?{'&'.join(pieces)}" if pieces else made

    def _query(self, piece: str) -> list[str]:
        if self._lacks(piece):
            return []
        return [
            FIELD.sub(lambda hit, row=row: quote(self._text(hit[1], row), safe=""), piece)  # type: ignore[misc]
            for row in range(len(self._rows(piece)))
        ]

    def _part(self, hit: re.Match[str], url: str) -> str:
        value, before = self._text(hit[1]), url[: hit.start()]
        if not before:
            return _base(value)
        if "/" in before.partition("://")[2]:
            if value in (".", ".."):
                raise BadField((), f"“{value}” cannot be a part of an address.")
            return quote(value, safe="")
        if not _HOST.fullmatch(value):
            raise BadField((), f"“{value[:60]}” cannot be in the name of a host.")
        return value


def _base(value: str) -> str:
    """Return the beginning of an address that the person gave."""
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or "@" in value:
        raise BadField((), f"“{value[:60]}” is not an address; it begins with http:// or https://.")
    return value.rstrip("/")


def _is_given(key: KeyInput) -> bool:
    return any(text is not None and text.strip() for text in (key.value, key.file, key.environment))


def _value(field: ProposalField, given: object) -> list[str] | bool | None:
    """Return a value as words, or a switch; None where there is nothing, not even a default."""
    schema = field.schema
    if given is None or given in ("", []):
        given = schema.get("default")
    if given is None or given in ("", []):
        return None
    if schema.get("type") == "array":
        rows = given if isinstance(given, list) else [given]
        if len(rows) > limits.PROPOSAL_ROWS:
            raise BadField((), f"{field.label} has at most {limits.PROPOSAL_ROWS} rows.")
        made = [_word(field, an_object(schema.get("items")), each) for each in rows if each not in ("", None)]
        return made or None
    if schema.get("type") == "boolean":
        if not isinstance(given, bool):
            raise BadField((), f"{field.label} is yes or no.")
        return given
    return [_word(field, schema, given)]


def _word(field: ProposalField, schema: JsonObject, given: object) -> str:
    choices = schema.get("enum")
    if isinstance(choices, list) and given not in choices:
        raise BadField((), f"{field.label} is one of: {', '.join(map(str, choices))}."[:400])
    if schema.get("type") in ("number", "integer"):
        return _number(field, given, whole=schema["type"] == "integer")
    if not isinstance(given, str):
        raise BadField((), f"{field.label} is a text.")
    if len(given) > limits.PROPOSAL_VALUE_CHARS:
        raise BadField((), f"{field.label} is too long.")
    return str(at_home(given)) if schema.get("format") == "path" and given.startswith("~") else given


def _number(field: ProposalField, given: object, *, whole: bool) -> str:
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        raise BadField((), f"{field.label} is a number.")
    if float(given).is_integer():
        return str(int(given))
    if whole:
        raise BadField((), f"{field.label} is a whole number.")
    return repr(given)
