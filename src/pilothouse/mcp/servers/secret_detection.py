"""Keys in what a person or a file gives as plain text: found by their names and shapes, and kept as secrets.

A text with a key in it stays as it is, with a slot in the key's place. What is found must be worth a slot: a path, an
id, the name of a model or a number beside a word like “key” is none.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from pilothouse.mcp.servers.entries import SECRET, SLOT, address_of, slots_of
from pilothouse.types.json import JsonObject
from pilothouse.types.ports import Ask
from pilothouse.types.servers import ManualSource, ServerEntry

Strength = Literal["", "weak", "strong"]
# How a value says by itself that it is a key: what it begins with, and what may follow.
_SHAPES = re.compile(
    r"(?<![\w-])(?:"
    r"(?:sk|rk|tvly|pplx|xai|nvapi|glpat|pypi|xapp|xox[abeoprs])-[\w-]{16,512}"
    r"|(?:sk|rk|whsec|sbp|hf|npm|gsk|ntn|napi|r8|figd|shpat|dop_v1|lin_api|gh[opsur]|github_pat|glsa|secret)_[\w-]{16,512}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}(?![\w-])|AIza[\w-]{30,64}|ATATT3[\w-]{32,512}|ya29\.[\w-]{20,512}"
    r"|SG\.[\w-]{16,64}\.[\w-]{16,128}|eyJ[\w-]{8,4096}\.[\w-]{8,16384}(?:\.[\w-]{0,4096})?"
    r")"
)
_PRIVATE = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{16,16384}-----END [A-Z ]{0,40}PRIVATE KEY-----"
)
# What a shell would run. Nothing of that is hidden behind the name of a key in what a person agrees to.
_CODE = re.compile(r"[`;|&<>()\\]|\$[({]")
# A password in an address: scheme://user:password@host.
_PASSWORD = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,31}://[^\s/?#:@\"']{0,256}:([^\s/?#\"']{1,1024})@")
# A key for a user's name: scheme://key@host.
_USER = re.compile(r"(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{0,31}://([^\s/?#:@\"']{20,1024})@")
# A value in the query of an address, in a list of settings, or in a line that a shell would split.
_QUERY = re.compile(r"(?:[?&;#\s\"']|\A)-{0,2}([A-Za-z_][\w.-]{0,63})=[\"']?([^&;#\s\"']{1,4096})")
_SPOKEN = re.compile(r"(?:\s|\A)--?([A-Za-z][\w.-]{0,63})\s[\"']?([^-\s\"'][^\s\"']{0,4096})")
_QUOTED = re.compile(r"[\"']([\w-]{1,64})[\"']\s{0,8}:\s{0,8}[\"']([^\"'\\]{1,4096})[\"']")
_SCHEMES = r"(?:(?:Bearer|Basic|Token|ApiKey|Api-Key|Key)\s+)?"
_HEADER = re.compile(rf"-{{0,2}}([A-Za-z][\w-]{{0,63}}):\s*{_SCHEMES}(\S+)", re.IGNORECASE)
_VALUE = re.compile(rf"{_SCHEMES}(\S+)", re.IGNORECASE)
_ASSIGNED = re.compile(rf"-{{0,2}}([A-Za-z_][\w.-]{{0,127}})={_SCHEMES}(\S+)", re.IGNORECASE)
_PREFIXED = re.compile(r"-{1,2}[A-Za-z][\w.-]{0,127}=")
_ALONE = re.compile(r"[A-Za-z0-9_.~+=-]{20,4096}")
_OPTION = re.compile(r"--?([A-Za-z][\w.-]{0,127})")
# A piece of a path that only its owner can know.
_CAPABILITY = re.compile(r"(?<=/)[A-Za-z0-9_%=+~-]{32,2048}(?=[/?#]|$)")

_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
# A name is told by its last word: a token-limit, a key-file and max-tokens are none.
_ENDINGS = ("password", "passwd", "passphrase", "passcode", "apikey", "secret", "token")
_STRONG = frozenset({"pat", "pwd", "pw", "bearer", "authorization"})
_WEAK = frozenset(
    {"key", "auth", "credential", "credentials", "dsn", "session", "cookie", "jwt", "pass", "code", "sig", "signature"}
    | {"k", "t", "p"}
)
# What makes a key one that opens something.
_OF_KEYS = frozenset({"api", "access", "secret", "private", "auth", "service", "master", "signing", "subscription"})
_FILLERS = frozenset(
    {"true", "false", "none", "null", "auto", "default", "env", "stdin", "prompt", "ask", "basic", "bearer", "oauth"}
    | {"required", "optional", "disabled", "enabled", "file", "keyring", "keychain"}
)
_UUID = re.compile(r"(?i)\{?[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}?")
_PATH = re.compile(r"(~|\.{1,2})?/.*|[A-Za-z]:[\\/].*")
_FILES = frozenset(
    ["js", "mjs", "cjs", "ts", "py", "json", "yml", "yaml", "toml", "pem", "key", "crt", "txt", "env", "cfg", "sh"]
)
_PLACEHOLDER = re.compile(r"\$|%\w+%|\{\w|<.*>|(?i:your[-_]|x{6,}$|\*{3,}$|changeme$)")
# A value is guessed at from these on.
_LONG, _LEAST, _ENTROPY, _SCATTERED = 20, 4, 3.2, 3
_WORDS = re.compile(
    r"pass[\s_-]?(word|phrase|code)|\bpwd\b|\bsecrets?\b|api[\s_-]?key|private[\s_-]?key|(access|auth|bearer|refresh)[\s_-]?token"
    r"|\btoken\b|credential|card[\s_-]?(number|no\b)|credit[\s_-]?card|\b(cvv|cvc|csc|iban|ssn|otp)\b|\bpin\b"
    r"|one[\s_-]?time[\s_-]?code|seed[\s_-]?phrase|recovery[\s_-]?(code|phrase)",
    re.IGNORECASE,
)
# Between the words of camelCase names.
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def strength(name: str) -> Strength:
    """Return how surely a variable, option, header or field of this name holds a secret."""
    words = [word.lower() for word in _SEAM.split(name) if word]
    if not words:
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if before == "public":
        return ""
    if last.endswith(_ENDINGS) or last in _STRONG or (last == "key" and before in _OF_KEYS):
        return "strong"
    return "weak" if last in _WEAK else ""


class KeyFinder:
    """Takes the keys out of the texts of one server, and gives each a slot."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        # The slots that stand in the texts already: they mean something else.
        self._taken = set(taken)
        self.found: dict[str, str] = {}

    def words(self, words: Sequence[str]) -> tuple[str, ...]:
        """Return the arguments of a command with slots for the keys in them."""
        kept: list[str] = []
        for word in words:
            option = _OPTION.fullmatch(kept[-1]) if kept else None
            named = option[1] if option else ""
            alone = not named and _stands_alone(word)
            kept.append(self._slot(named, word) if alone or _is_key(named, word) else self._word(word))
        return tuple(kept)

    def values(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return plain variables or headers with slots for the keys in them."""
        return {name: self._named(name, value) for name, value in values.items()}

    def lines(self, lines: Sequence[str]) -> tuple[str, ...]:
        """Return variables that are written as `NAME=value`, or as their names alone, with slots for the keys."""
        parts = [line.partition("=") for line in lines]
        return tuple(f"{name}{sign}{self._named(name, value) if sign else ''}" for name, sign, value in parts)

    def address(self, url: str) -> str:
        """Return an address with slots for its password, for keys in its query, and for what only its owner knows."""
        return self._in_path(self._text(url))

    def _in_path(self, url: str) -> str:
        scheme, _, rest = url.partition("://")
        path, sign, query = rest.partition("?")
        path = _CAPABILITY.sub(lambda hit: self._slot("path", hit[0]) if _opens(hit[0]) else hit[0], path)
        return f"{scheme}://{path}{sign}{query}"

    def _named(self, name: str, value: str) -> str:
        hit = _VALUE.fullmatch(value)
        if hit and _is_key(name, hit[1]):
            return value[: hit.start(1)] + self._slot(name, hit[1])
        return self._text(value, name)

    def _word(self, word: str) -> str:
        """Return an argument: a value behind its name, a header, or a text with keys in it."""
        for form in (_ASSIGNED, _HEADER):
            hit = form.fullmatch(word)
            if hit and _is_key(hit[1], hit[2]) and not _CODE.search(hit[2]):
                return word[: hit.start(2)] + self._slot(hit[1], hit[2])
        # What is attached to an option is looked at as if it stood alone: `--header=X-Key: …`, `--env=TOKEN=…`.
        option = _PREFIXED.match(word)
        if option:
            return option[0] + self._word(word[option.end() :])
        return self._in_path(self._text(word)) if "://" in word else self._text(word)

    def _text(self, text: str, name: str = "") -> str:
        text = self._within(_PASSWORD, text, name or "password")
        text = self._within(_USER, text, name or "user")
        for form in (_QUERY, _SPOKEN, _QUOTED):
            text = form.sub(self._field, text)
        text = _PRIVATE.sub(lambda hit: self._slot(name or "private-key", hit[0]), text)
        return _SHAPES.sub(lambda hit: self._slot(name or "key", hit[0]) if _is_made(hit[0]) else hit[0], text)

    def _within(self, form: re.Pattern[str], text: str, name: str) -> str:
        def one(hit: re.Match[str]) -> str:
            start, end = hit.start(1) - hit.start(), hit.end(1) - hit.start()
            is_none = _is_open(hit[1]) or _CODE.search(hit[1]) or (form is _USER and not _is_random(hit[1]))
            return hit[0] if is_none else hit[0][:start] + self._slot(name, hit[1]) + hit[0][end:]

        return form.sub(one, text)

    def _field(self, hit: re.Match[str]) -> str:
        if not _is_key(hit[1], hit[2]) or _CODE.search(hit[2]):
            return hit[0]
        start, end = hit.start(2) - hit.start(), hit.end(2) - hit.start()
        return hit[0][:start] + self._slot(hit[1], hit[2]) + hit[0][end:]

    def _slot(self, name: str, value: str) -> str:
        named = re.sub(r"[^\w.-]", "-", name) or "key"
        chosen, number = named, 1
        while chosen in self._taken or self.found.get(chosen, value) != value:
            number += 1
            chosen = f"{named}-{number}"
        self.found[chosen] = value
        return f"${{secret:{chosen}}}"


def readable(entry: ServerEntry) -> ServerEntry:
    """Return an entry that a person wrote into the file as people see it: with slots for the keys in it."""
    return _looked_at(entry, KeyFinder(slots_of(entry)))


def keys_in(entry: ServerEntry) -> dict[str, str]:
    """Return the keys that stand in an entry in plain text, by the slots that they would have."""
    look = KeyFinder(slots_of(entry))
    _looked_at(entry, look)
    return look.found


def _looked_at(entry: ServerEntry, look: KeyFinder) -> ServerEntry:
    config = entry.config
    env = look.values({name: value for name, value in config.env.items() if not value.startswith(SECRET)})
    headers = look.values({name: value for name, value in config.headers.items() if not value.startswith(SECRET)})
    args, url = look.words(config.args), look.address(config.url) if config.url else ""
    if not look.found:
        return entry
    changed = {"env": {**config.env, **env}, "headers": {**config.headers, **headers}, "args": args, "url": url}
    package = msgspec.structs.replace(entry.package, identifier=url) if entry.package.type == "http" else entry.package
    made = msgspec.structs.replace(entry, config=msgspec.structs.replace(config, **changed), package=package)
    if not isinstance(made.source, ManualSource):
        return made
    return msgspec.structs.replace(made, source=msgspec.structs.replace(made.source, url=address_of(made)))


def _is_key(name: str, value: str) -> bool:
    """Return whether the value that stands beside a name is a key."""
    how = strength(name)
    if not how or value.startswith("-") or _is_open(value) or _is_path(value):
        return False
    if how == "strong":
        # An address may have a key in it, and is looked at as a text.
        return len(value) >= _LEAST and value.lower() not in _FILLERS and "://" not in value and not _is_count(value)
    return _SHAPES.fullmatch(value) is not None or (_is_random(value) and "://" not in value)


def _is_open(value: str) -> bool:
    """Return whether something else stands in a value's place: a slot of ours, a variable, a blank to fill in."""
    return SLOT.search(value) is not None or _PLACEHOLDER.match(value) is not None


def _is_path(value: str) -> bool:
    return _PATH.fullmatch(value) is not None or value.rpartition(".")[2] in _FILES


def _is_count(value: str) -> bool:
    return value.isdigit() and len(value) < 7


def _is_made(value: str, length: int = 10) -> bool:
    """Return whether a machine made a part of the value: words between dashes are short, and have no digits."""
    return any(len(run) >= length and re.search(r"\d", run) for run in re.findall(r"[A-Za-z0-9]+", value))


def _opens(piece: str) -> bool:
    """Return whether a piece of a path is known to its owner only: an id has letters of one size."""
    return _is_made(piece, 16) and _is_random(piece) and piece.lower() != piece != piece.upper()


def _stands_alone(word: str) -> bool:
    """Return whether a word that nothing names is a key: a name may have a year in it, not digits all over."""
    return _ALONE.fullmatch(word) is not None and _opens(word) and len(re.findall(r"\d+", word)) >= _SCATTERED


def _is_random(value: str) -> bool:
    """Return whether a value is long and as irregular as a key; an id is not one."""
    if len(value) < _LONG or _UUID.fullmatch(value) or not _is_made(value) or value.isdigit():
        return False
    counts = Counter(value)
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return entropy >= _ENTROPY


def secret_asked(asks: tuple[Ask, ...]) -> str:
    """Return the name of the first field that asks for a secret; empty when none does."""
    for ask in asks:
        if ask.kind != "form":
            continue
        fields = ask.schema.get("properties")
        for name, field in fields.items() if isinstance(fields, dict) else ():
            if _is_secret(str(name), field if isinstance(field, dict) else {}):
                return str(name)
    return ""


def _is_secret(name: str, field: JsonObject) -> bool:
    if field.get("format") == "password" or field.get("writeOnly") is True:
        return True
    said = (_CAMEL.sub(" ", name).replace("_", " "), name, str(field.get("title") or ""))
    # A description may say “never your password”: only what the field is called counts.
    return any(_WORDS.search(text) for text in said)


def names_secret(name: str) -> bool:
    """Return whether a variable of this name holds a secret, as far as its name says."""
    return _is_secret(name, {}) or re.search(r"(?i)(^|[_-])(key|pat|auth|dsn)$", name) is not None
