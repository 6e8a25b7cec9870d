"""Calls that are never allowed in bulk: what cannot be taken back, takes over the machine, or hides what it runs.

What is not recognised here is asked about like any other call; this only makes some of them stand out. A command is
judged by what the shell would run: `shell` takes it apart, and `danger_table` says which words are dangerous.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

import msgspec

from pilothouse.permissions.case import within
from pilothouse.permissions.danger_table import (
    FETCHING,
    INTERPRETERS,
    SHELLS,
    STARTING,
    VALUED,
    WRITING_ALL,
    WRITING_LAST,
    Runner,
    Sign,
    could_be_option,
    heads,
    runners,
    signs,
)
from pilothouse.permissions.programs import name_of, without_version
from pilothouse.permissions.shell import Script, take_apart, without_marks
from pilothouse.permissions.shell_words import ANY, HOME, MARKS, SOME, Simple
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse

_UNKNOWN = "What it runs cannot be known: the shell makes up the name of a program."
_UNKNOWN_WORDS = "What it does cannot be known: the shell makes up words that could be dangerous."
_DEFINED = "What it runs cannot be known: it gives a name of its own to a command."
_READS = "What it runs cannot be known: a shell reads it from elsewhere."
_TANGLED = "What it runs cannot be known: it is too tangled to be read."
_DOWNLOADED = "It runs what it downloads."
_OUTSIDE = "It writes to a file outside of the working directory."
_OVERWRITES = "It writes over a file or a disk."
_ENDS_ALL = "It ends every process of the account."
_OTHER_PROGRAMS = "It changes what other programs run."

_SETTING = frozenset({"env", "export", "declare", "typeset", "local", "readonly"})
# Options of shells and interpreters behind which they still wait for something to read.
_NO_CODE = frozenset({"-", "-s", "-x", "-e", "-u", "-i", "-l", "-B", "-o", "-O", "-xe", "-ex", "-eu", "-eux", "-euo"})
_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_CLUSTER = re.compile(r"-[^-]")
_ASSIGNMENT = re.compile(r"\w+=")
# Where anyone may write, and what is no file.
_OPEN = ("/tmp", "/var/tmp", "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd")  # noqa: S108


def danger_of(access: Access) -> str:
    """Return why a call must stand out and stand alone; or nothing."""
    if access.dangerous:
        return access.dangerous
    return _command(access.command) if access.command else ""


def _command(command: CommandUse) -> str:
    if len(command.text or " ".join(command.argv)) > limits.COMMAND_READ_CHARS:
        return "It is longer than anyone reads."
    judge = _Judge(command)
    if command.text:
        return judge.script(without_marks(command.text), 0)
    return judge.simple(Simple(words=list(command.argv)), _Around(is_script=False), 0) if command.argv else ""


class _Around(msgspec.Struct, frozen=True):
    """What stands around a simple command."""

    is_script: bool = True
    defined: frozenset[str] = frozenset()
    fetches: bool = False
    # The last components of whatever is named where something is downloaded.
    fetched: frozenset[str] = frozenset()

    @staticmethod
    def of(script: Script) -> _Around:
        loads = [each.words for each in script.commands if _names(each.words[0] if each.words else "") & FETCHING]
        fetched = frozenset(name_of(word) for words in loads for word in words[1:]) - {""}
        return _Around(True, script.defined, bool(loads), fetched)


class _Judge:
    """Judges one command, and whatever it runs, within a bound."""

    def __init__(self, command: CommandUse) -> None:
        self._folder = command.folder
        self._typed = command.typed
        # Words that are still looked at; a command that runs itself over and over has no end of them.
        self._left = 2 * limits.COMMAND_READ_CHARS

    def script(self, text: str, level: int) -> str:
        """Return why what a shell would read is dangerous; or nothing."""
        # At a shell that others typed at before, any variable may have been set.
        script = take_apart(text, ANY if self._typed else SOME)
        # What is typed may be for anything but a shell, and a line comes in pieces.
        if (script.tangled and not self._typed) or level > limits.SHELL_LEVELS:
            return _TANGLED
        around = _Around.of(script)
        return next(filter(None, (self.simple(each, around, level) for each in script.commands)), "")

    def simple(self, simple: Simple, around: _Around, level: int) -> str:
        """Return the same of one simple command."""
        if any(map(STARTING.fullmatch, simple.assigned)):
            return _OTHER_PROGRAMS
        if any(map(self._is_outside, simple.written)):
            return _OUTSIDE
        if simple.words == [":"] and any(not any(within(path, place) for place in _OPEN) for path in simple.emptied):
            return _OVERWRITES
        return self._words(simple.words, simple, around, level) if simple.words else ""

    def _words(self, words: Sequence[str], simple: Simple, around: _Around, level: int) -> str:
        self._left -= len(words)
        if self._left < 0 or level > limits.SHELL_LEVELS:
            return _TANGLED
        program = words[0]
        # What is typed may be one of the commands that were typed before.
        if MARKS.search(program) or "{}" in program or (self._typed and program.startswith("!") and program != "!"):
            return _UNKNOWN
        if program in around.defined:
            return _DEFINED
        names = _names(program)
        return (
            _by_table(names, words)
            or self._run(names, words, simple, around, level)
            or self._read(names, words, simple, around, level)
            or self._effects(names, words)
        )

    # --- what runs other things ---

    def _run(self, names: frozenset[str], words: Sequence[str], simple: Simple, around: _Around, level: int) -> str:
        if "alias" in names:
            return next(filter(None, (self.script(word.partition("=")[2], level + 1) for word in words[1:])), "")
        if words[1:2] in (["-v"], ["-V"]) and "command" in names:
            return ""
        for runner in (each for name in names for each in runners().get(name, ())):
            for given in _payloads(runner, words):
                if given is None:
                    return _UNKNOWN
                if runner.text:
                    why = self.script(" ".join(given), level + 1)
                else:
                    why = self._words(_filled(given) if runner.fills else given, simple, around, level + 1)
                if why:
                    return why
        return ""

    def _read(self, names: frozenset[str], words: Sequence[str], simple: Simple, around: _Around, level: int) -> str:
        """Return why what a shell or an interpreter reads is dangerous."""
        is_shell = bool(names & (SHELLS | {"source", "."}))
        if not is_shell and not names & INTERPRETERS:
            return _DOWNLOADED if "/" in words[0] and name_of(words[0]) in around.fetched else ""
        if _has_code(words) or not around.is_script:
            return ""
        file = next((word for word in words[1:] if not word.startswith("-")), "")
        if file and file not in _INPUT and "-s" not in words:
            if name_of(file) in around.fetched or (file.startswith(ANY) and around.fetches):
                return _DOWNLOADED
            return _UNKNOWN if is_shell and file.startswith(ANY) else ""
        if is_shell and simple.given:
            return next(filter(None, (self.script(text, level + 1) for text in simple.given)), "")
        if around.fetches:
            return _DOWNLOADED
        return _READS if is_shell and not (self._typed or simple.reads) else ""

    # --- what it writes to ---

    def _effects(self, names: frozenset[str], words: Sequence[str]) -> str:
        if names & _SETTING and any(STARTING.fullmatch(word.partition("=")[0]) for word in words[1:] if "=" in word):
            return _OTHER_PROGRAMS
        # Behind a signal, -1 stands for every process.
        if "kill" in names and "-1" in words[2:]:
            return _ENDS_ALL
        files = [word for word in words[1:] if not word.startswith("-")]
        written = files if names & WRITING_ALL else files[1:][-1:] if names & WRITING_LAST else []
        return _OUTSIDE if any(map(self._is_outside, written)) else ""

    def _is_outside(self, word: str) -> bool:
        path = os.path.expanduser("~") + word[1:] if word.startswith(HOME) else word
        if MARKS.match(path) or not (os.path.isabs(path) or ".." in path.split("/")):
            return False
        whole = os.path.normpath(os.path.join(self._folder or "/", path))
        # A home folder is nobody else's, wherever it lies.
        open_to_all = () if within(whole, os.path.expanduser("~")) else _OPEN
        return not any(within(whole, folder) for folder in (self._folder, *open_to_all) if folder)


def _names(program: str) -> frozenset[str]:
    """Return what a program may be called in the table: `mkfs.ext4` is `mkfs`, `python3.12` is `python`."""
    name = name_of(program).casefold().removesuffix(".exe")
    return frozenset({name, name.partition(".")[0], without_version(name)}) - {""} | ({"."} if name == "." else set())


def _by_table(names: frozenset[str], words: Sequence[str]) -> str:
    doubt = ""
    for sign in (each for name in sorted(names) for each in signs().get(name, ())):
        for behind in _behind(sign.head, words):
            why = _UNKNOWN_WORDS if behind is None else _by_sign(sign, words[behind:])
            if why and why != _UNKNOWN_WORDS:
                return why
            doubt = doubt or why
    return doubt


def _by_sign(sign: Sign, rest: Sequence[str]) -> str:
    if rest and rest[0] in sign.unless:
        # A trial is one only if nothing behind it takes that back.
        back = ("--no-", "--dry-run=")
        if not any(word.startswith(back) or could_be_option(word) for word in rest[1:]):
            return ""
    if sign.words is None or any(map(sign.words.has, rest)):
        return sign.why
    doubtful = (sign.words.has_short or sign.head) and any(map(could_be_option, rest))
    return _UNKNOWN_WORDS if doubtful else ""


def _behind(head: Sequence[re.Pattern[str]], words: Sequence[str]) -> Iterator[int | None]:
    """Yield the places behind the subcommands of a head; None where the shell makes one of them up."""
    places = [1]
    for part in head:
        found = []
        for start in places:
            leads = list(islice(_leads(words, start, options=True), limits.SHELL_GUESSES))
            if len(leads) == limits.SHELL_GUESSES:
                yield None
            for place, is_value in leads:
                if part.match(words[place]):
                    found.append(place + 1)
                elif MARKS.search(words[place]) and not is_value and not words[place].startswith("-"):
                    yield None
        places = found
    yield from places


def _leads(words: Sequence[str], start: int, more: int = 0, *, options: bool = False) -> Iterator[tuple[int, bool]]:
    """Yield the places of words that may be the first plain ones, or that many more, and whether one may be a value.

    A word behind an option may belong to it or not: nobody knows the options of all programs.
    """
    for place in range(start, len(words)):
        word, before = words[place], words[place - 1]
        is_option = word.startswith("-") and word != "-"
        if is_option or _ASSIGNMENT.match(word):
            if options:
                yield place, True
            continue
        follows = place > start and before.startswith("-") and before != "--"
        yield place, follows and (before in VALUED or before.startswith("--"))
        more -= not follows
        if more < 0:
            return


def _payloads(runner: Runner, words: Sequence[str]) -> Iterator[Sequence[str] | None]:
    """Yield the commands that a program may run of its words; None for one that the shell makes up."""
    _program, _, rest = runner.head.partition(" ")
    for start in _behind(heads(rest), words):
        if start is None:
            continue
        if runner.after:
            yield from _after(runner, words, start)
            continue
        places = list(islice(_leads(words, start, runner.skip), limits.SHELL_GUESSES))
        if len(places) == limits.SHELL_GUESSES:
            yield None
        for place, is_value in places:
            if MARKS.search(words[place]) and (is_value or place != places[-1][0]):
                continue
            yield words[place:]


def _after(runner: Runner, words: Sequence[str], start: int) -> Iterator[Sequence[str]]:
    """Yield the commands that stand behind options, in a word of their own or in the option's."""
    options = runner.after.split()
    short = {option[1] for option in options if len(option) == 2} if runner.text else set()
    for place in range(start, len(words)):
        option, equals, value = words[place].partition("=")
        if equals and option in options:
            yield [value]
        if words[place] not in options and not (_CLUSTER.match(option) and short.intersection(option)):
            continue
        if runner.text:
            yield from ([word] for word in (words[place][2:], _first_plain(words[place + 1 :])) if word)
        elif given := list(takewhile(lambda word: word not in (";", "+"), words[place + 1 :])):
            yield given


def _first_plain(words: Sequence[str]) -> str:
    return next((word for word in words if not word.startswith(("-", "+"))), "")


def _filled(words: Sequence[str]) -> list[str]:
    """Return a command with whatever is found or read in it."""
    return [words[0], *(ANY if word == "{}" else word for word in words[1:]), ANY]


def _has_code(words: Sequence[str]) -> bool:
    """Return whether an interpreter is told in its words what to do, and reads nothing."""
    own = words[1 : words.index("--") if "--" in words else len(words)]
    return any(word.startswith("-") and word not in _NO_CODE for word in own)
