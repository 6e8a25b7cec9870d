"""Reads the words of a script: quotations, escapes, and what the shell makes up, which becomes a mark."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Self

import msgspec

from pilothouse.types import limits

# Anything at all, also several words or none; one word or a part of one, with nothing in it that a program takes for an
# option; the home folder; names of files that fit a pattern.
ANY, SOME, HOME, FILES = "\x00", "\x01", "\x02", "\x03"
MARKS = re.compile(f"[{ANY}{SOME}{HOME}{FILES}]")

_RUN = re.compile(r"[^\s;&|()<>\"'\\$`*?\[{]+")
_QUOTED_RUN = re.compile(r"[^\"\\$`]+")
BODY_RUN = re.compile(r"[^\\$`]+")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_ENDS = frozenset(" \t\n\r;&|()<>")
_ANSI = re.compile(r"\$'(?:[^'\\]|\\.)*+'?", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
# What a backslash takes its meaning from between backticks, and there within double quotes.
_ESCAPED = (re.compile(r"\\([`$\\])"), re.compile(r"\\([`$\\\"])"))
# What can be done to a variable without making an option of it.
_PLAIN_CHANGE = re.compile(r"[#%^,]|:[\d ]")
# Substitutions whose output is a plain name, to the letter: others might write an option.
_TELLING = frozenset(
    {
        *("pwd", "whoami", "hostname", "nproc", "uname", "uname -s", "uname -m", "mktemp", "mktemp -d", "date +%s"),
        *("git branch --show-current", "git rev-parse --abbrev-ref HEAD", "git rev-parse HEAD", "date +%Y-%m-%d"),
        *("git rev-parse --short HEAD", "git rev-parse --show-toplevel", "git symbolic-ref --short HEAD"),
        *("git describe --tags --abbrev=0", "git describe --tags", "date +%F", "date +%Y%m%d"),
    }
)


class Simple(msgspec.Struct):
    """One simple command: its words, what is set in front of it, where its output goes, what it is given to read."""

    words: list[str] = msgspec.field(default_factory=list)
    assigned: list[str] = msgspec.field(default_factory=list)
    written: list[str] = msgspec.field(default_factory=list)
    # Those of `written` that lose what was in them.
    emptied: list[str] = msgspec.field(default_factory=list)
    given: list[str] = msgspec.field(default_factory=list)
    # Whether it reads a file by its name.
    reads: bool = False


class WordReader(ABC):
    """Goes through a script once, word by word."""

    def __init__(self, text: str, known: Mapping[str, str], unset: str) -> None:
        self.found: list[Simple] = []
        self.defined: set[str] = set()
        # What each variable that is set in the script may be: a mark.
        self.values: dict[str, str] = {}
        self.tangled = False
        self._text = text
        self._at = 0
        self._depth = 0
        self._known = known
        self._unset = unset
        # Documents that begin in the next line: whose they are, how they end, whether they are taken as they are.
        self._documents: list[tuple[Simple, str, bool, str]] = []

    @abstractmethod
    def commands(self, end: str) -> None:
        """Read commands up to a closing parenthesis, or to the end."""

    def _goes_deeper(self) -> bool:
        if self._depth >= limits.SHELL_LEVELS:
            self._doubt(True)
            self._at = len(self._text)
            return False
        self._depth += 1
        return True

    def _doubt(self, doubtful: bool) -> None:
        self.tangled = self.tangled or doubtful

    def _skip_blanks(self, *, lines: bool = False) -> bool:
        """Pass over blanks and comments; return whether anything is left."""
        text = self._text
        while self._at < len(text):
            if blank := _BLANK.match(text, self._at):
                self._at = blank.end()
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = end if end >= 0 else len(text)
            elif lines and text[self._at] in "\n\r":
                self._at += 1
            else:
                return True
        return False

    def _word(self) -> str:
        text, parts, began = self._text, [], self._at
        while self._at < len(text):
            character = text[self._at]
            if run := _RUN.match(text, self._at):
                parts.append(run[0])
                self._at = run.end()
            elif character in _ENDS:
                # A process that stands for a file is a word of its own.
                if self._at > began or character not in "<>" or text[self._at + 1 : self._at + 2] != "(":
                    break
                self._substituted()
                parts.append(ANY)
            else:
                parts.append(self._special(character))
        word = "".join(parts)
        if word.startswith("~") and text[began] == "~":
            word = HOME + word.partition("/")[1] + word.partition("/")[2]
        return word

    def _next_word(self) -> str:
        """Return the next word, or the sign that stands where one could."""
        began = self._at
        word = self._word()
        self._at += self._at == began
        return word

    def _special(self, character: str) -> str:
        """Return what a character that means more than itself makes of what follows it."""
        if character == "\\":
            self._at += 2
            return self._text[self._at - 1 : self._at].replace("\n", "")
        if character == "'":
            return self._until_quote()
        if character == '"':
            self._at += 1
            return self.quoted(_QUOTED_RUN, '"')
        if character in "$`":
            return self._expanded(quoted=False)
        self._at += 1
        if character == "{":
            return "{" if self._text[self._at : self._at + 1] in ("}", "", " ", "\t", "\n", ";") else ANY
        return FILES

    def _until_quote(self) -> str:
        end = self._text.find("'", self._at + 1)
        self._doubt(end < 0)
        end = end if end >= 0 else len(self._text)
        inner = self._text[self._at + 1 : end]
        self._at = end + 1
        return inner

    def quoted(self, run: re.Pattern[str], end: str) -> str:
        """Read what stands between double quotes, or in a document."""
        text, parts = self._text, []
        while self._at < len(text):
            character = text[self._at]
            if plain := run.match(text, self._at):
                parts.append(plain[0])
                self._at = plain.end()
            elif character == end:
                self._at += 1
                return "".join(parts)
            elif character == "\\":
                escaped = text[self._at + 1 : self._at + 2]
                parts.append("" if escaped == "\n" else escaped if escaped in '"\\$`' else f"\\{escaped}")
                self._at += 2
            else:
                parts.append(self._expanded(quoted=True))
        self._doubt(bool(end))
        return "".join(parts)

    def _expanded(self, *, quoted: bool) -> str:
        if not self._goes_deeper():
            return ANY
        made = self._made_up(quoted=quoted)
        self._depth -= 1
        return made

    def _made_up(self, *, quoted: bool) -> str:
        text, at = self._text, self._at
        if text[at] == "`":
            return self._backticks(quoted=quoted)
        if not quoted and (ansi := _ANSI.match(text, at)):
            self._at = ansi.end()
            # A shell that does not know this form sees the end of a quotation in the middle of it.
            self._doubt("\\'" in ansi[0] or not ansi[0].endswith("'"))
            return ANY
        if text.startswith("$((", at) and self._arithmetic(at + 3):
            return SOME
        if text.startswith("$(", at):
            return self._substituted()
        if text.startswith("${", at):
            return self._parameter(quoted=quoted)
        self._at += 1
        self._doubt(text.startswith("\\\n", self._at))
        if name := _NAME.match(text, self._at):
            self._at = name.end()
            return self._value(name[0])
        return "" if not quoted and text[self._at : self._at + 1] == '"' else "$"

    def _value(self, name: str) -> str:
        if name in self._known:
            return self._known[name]
        if name == "HOME":
            return HOME
        if name in ("PWD", "#", "?", "$", "!", "-"):
            return SOME
        return ANY if name in ("@", "*") or name.isdigit() else self._unset

    def _substituted(self) -> str:
        before = len(self.found)
        self._at += 2
        self.commands(")")
        self._doubt(bool(self._documents))
        inner = [" ".join(each.words) for each in self.found[before:]]
        return SOME if len(inner) == 1 and inner[0] in _TELLING else ANY

    def _backticks(self, *, quoted: bool) -> str:
        end = self._at + 1
        while end < len(self._text) and self._text[end] != "`":
            end += 2 if self._text[end] == "\\" else 1
        inner = _ESCAPED[quoted].sub(r"\1", self._text[self._at + 1 : end])
        self._doubt(end >= len(self._text))
        self._at = end + 1
        self._within(inner, lambda reader: reader.commands(""))
        return ANY

    def _within(self, text: str, read: Callable[[Self], object]) -> None:
        """Read another text as a part of this one."""
        inner = type(self)(text, self._known, self._unset)
        inner._depth = self._depth
        inner.found, inner.defined, inner.values = self.found, self.defined, self.values
        read(inner)
        self._doubt(inner.tangled)

    def _parameter(self, *, quoted: bool) -> str:
        """Read a variable in braces, with what is done to it."""
        text = self._text
        self._at += 2
        indirect = text.startswith(("!", "#"), self._at) and text[self._at + 1 : self._at + 2] != "}"
        self._at += indirect
        name = _NAME.match(text, self._at)
        if name is not None:
            self._at = name.end()
        plain = text.startswith("}", self._at) or _PLAIN_CHANGE.match(text, self._at) is not None
        # A value can be made to run like this; and shells do not agree about quotes within quotes.
        began, hides = self._at, text.startswith("@P", self._at)
        closed = self._pass_over("}", "")
        self._doubt(hides or not closed or (quoted and "'" in text[began : self._at]))
        return self._value(name[0]) if name is not None and plain and not indirect else ANY

    def _arithmetic(self, at: int) -> bool:
        """Pass over a calculation; return whether it is one, and not two groups of commands."""
        before, found = self._at, len(self.found)
        self._at = at
        closed = self._pass_over(")", "(")
        self._doubt(not closed)
        if not closed or self._text.startswith(")", self._at):
            self._at += 1
            return True
        self._at = before
        del self.found[found:]
        return False

    def _pass_over(self, end: str, begin: str) -> bool:
        """Pass over what ends with a certain sign, and read the substitutions in it; return whether it ends at all."""
        text, open_ones = self._text, 0
        while self._at < len(text):
            character = text[self._at]
            if character in "$`\"'\\":
                self._special(character)
                continue
            self._at += 1
            if character == end and not open_ones:
                return True
            open_ones += (character == begin) - (character == end)
        return False
