"""Commands that ask one host for something and show it: `curl -s https://example.com/x | head`.

Only where every word is known: programs that run, write or reach nothing else, and options of `curl` that name no
second place. Following a redirection is none of these: many hosts send whoever asks on to any other, with what the
address says.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from functools import lru_cache

from pilothouse.permissions.shell import take_apart, without_marks
from pilothouse.permissions.shell_words import MARKS, Simple
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse

_CURL = "curl"
_NOWHERE = "/dev/null"
_URL = re.compile(r"https?://([A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)(?::\d{1,5})?(?:[/?][!-~]*)?")
# Options without a value, as letters and as words, and those with one.
_LETTERS = re.compile(r"-[sSfiIvgN46]+")
_SWITCHES = frozenset(
    {
        *("--silent", "--show-error", "--fail", "--fail-with-body", "--include", "--head", "--verbose", "--compressed"),
        *("--no-buffer", "--globoff", "--ipv4", "--ipv6", "--http1.1", "--http2", "--no-progress-meter", "-#"),
    }
)  # fmt: skip
_VALUED = frozenset(
    {
        *("-X", "--request", "-H", "--header", "-A", "--user-agent", "-e", "--referer", "-m", "--max-time", "--retry"),
        *("--connect-timeout", "--retry-delay", "-d", "--data", "--data-raw", "--data-binary", "--data-urlencode"),
        *("--json", "-r", "--range"),
    }
)  # fmt: skip
_OUTPUT = frozenset({"-o", "--output"})
_WRITE_OUT = frozenset({"-w", "--write-out"})
# What only passes text on, whatever it is told; and what does with no words but these.
_FILTERS = frozenset(
    {"head", "tail", "wc", "cat", "grep", "egrep", "fgrep", "cut", "tr", "nl", "rev", "jq", "echo", "true"}
)
_WITHOUT_MORE = {"sort": re.compile(r"-[nrufghV]+|-k\d+(,\d+)?"), "uniq": re.compile(r"-[cdui]+")}


def host_of(access: Access) -> str:
    """Return the one host that a command asks for something; nothing where it could reach any other, or none."""
    command = access.command
    # What nothing holds may be anything by the time it starts.
    if command is None or not command.sandbox or command.typed or not command.network:
        return ""
    if len(command.text or " ".join(command.argv)) > limits.COMMAND_READ_CHARS:
        return ""
    return _host(command)


@lru_cache(maxsize=256)
def _simple_commands(text: str) -> tuple[Simple, ...]:
    """Return the commands of a text; none where it does something beside them."""
    script = take_apart(without_marks(text))
    plain = text == without_marks(text) and not script.tangled and not script.defined
    return tuple(script.commands) if plain else ()


def _host(command: CommandUse) -> str:
    simple = _simple_commands(command.text) if command.text else (Simple(words=list(command.argv)),)
    hosts: set[str] = set()
    for each in simple:
        found = _asked(each)
        if found is None:
            return ""
        hosts.update(found)
    names = {each.words[0] for each in simple}
    is_one = len(hosts) == 1 and all(_is_installed(name, command.folder) for name in names)
    return hosts.pop() if is_one else ""


def _asked(simple: Simple) -> set[str] | None:
    """Return the hosts that a simple command asks; None where it may do anything else."""
    words = simple.words
    others = simple.assigned or simple.given or simple.reads or any(path != _NOWHERE for path in simple.written)
    if not words or others or any(MARKS.search(word) for word in words):
        return None
    name, rest = words[0], words[1:]
    if name == _CURL:
        return _asked_by_curl(rest)
    if name in _FILTERS:
        return set()
    allowed = _WITHOUT_MORE.get(name)
    return set() if allowed is not None and all(allowed.fullmatch(word) for word in rest) else None


def _asked_by_curl(words: Sequence[str]) -> set[str] | None:
    hosts: set[str] = set()
    left = iter(words)
    for word in left:
        if word in _SWITCHES or _LETTERS.fullmatch(word):
            continue
        if word.startswith("-"):
            if not _takes_value(word, left):
                return None
            continue
        url = _URL.fullmatch(word)
        if url is None:
            return None
        hosts.add(url[1].lower())
    return hosts or None


def _takes_value(option: str, left: Iterator[str]) -> bool:
    """Return whether an option with the word behind it names no other place and writes nothing."""
    value = next(left, None)
    if value is None:
        return False
    if option in _OUTPUT:
        return value == _NOWHERE
    # What is to be said afterwards can be written to a file, and can be in one.
    return option in _VALUED or (option in _WRITE_OUT and "output{" not in value and not value.startswith("@"))


def _is_installed(name: str, folder: str) -> bool:
    """Return whether a program is found where no command can put another one before it."""
    root = os.path.realpath(folder)
    for place in os.get_exec_path():
        real = os.path.realpath(place)
        if not place.startswith("/") or real == root or real.startswith(f"{root.rstrip('/')}/"):
            return False
        if shutil.which(name, path=place):
            return True
    return False
