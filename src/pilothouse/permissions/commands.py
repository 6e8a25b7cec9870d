"""Reads a command as a shell would, as far as that is beyond doubt, and no further.

Certain is only: one simple command of plain words, which every common shell reads in the same way. Whatever
expands, joins, redirects or assigns is uncertain, and so is what this reader does not know: then the person is asked.
"""

from __future__ import annotations

import re
import string

import msgspec

from pilothouse.permissions.programs import name_of
from pilothouse.types import limits


class Certain(msgspec.Struct, frozen=True):
    """One simple command: exactly these words reach exactly one program."""

    words: tuple[str, ...]


class Uncertain(msgspec.Struct, frozen=True):
    """A command of which no words can be promised, and why, as the end of a sentence."""

    why: str


_LETTERS = re.escape(string.ascii_letters + string.digits)
_PLAIN = re.compile(rf"[{_LETTERS}_./:@%+,=~-]+")
_QUOTED = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_PROGRAM = re.compile(rf"[{_LETTERS}_./][{_LETTERS}_./+@-]*")
# A tilde after a letter is a tilde; anywhere else some shell makes a folder of it.
_TILDE = re.compile(rf"(?<![{_LETTERS}_])~")
# Shells that know backslashes within single quotes differ from those that do not.
_BACKSLASHES = re.compile(r"\\(\\|$)")
_EXPANDS = re.compile(r"[$`\\!]")
_REASONS = {
    **dict.fromkeys(";&|", "it joins commands"),
    **dict.fromkeys("<>", "it redirects"),
    **dict.fromkeys("$`", "the shell expands a part of it"),
    **dict.fromkeys("*?[]", "it has a pattern that the shell expands"),
    **dict.fromkeys("{}", "it has braces"),
    **dict.fromkeys("()", "it has parentheses"),
    **dict.fromkeys("'\"", "a quote is not closed"),
    "\\": "it has a backslash outside of quotes",
    "!": "it has an exclamation mark outside of quotes",
    "#": "it may have a comment",
    "^": "it has a mark that some shells expand",
    "\n": "it has more than one line",
    "\r": "it has more than one line",
}

_KEYWORDS = """
    if then else elif fi case esac for select while until do done in function time coproc and or not begin end switch
    repeat foreach always noglob nocorrect
"""
# Parts of shells that run text, change what later words mean, or change the shell itself.
_BUILT_INS = """
    . : alias autoload bg bind bindkey break builtin caller cd chdir command compadd compdef compgen complete compopt
    contains continue coproc count declare dirs disable disown emulate enable eval exec exit export fc fg float
    functions funcsave getln getopts hash history integer jobs kill let limit local logout mapfile math noglob popd
    print printf private pushd pushln r read readarray readonly rehash return sched set setopt shift shopt source
    string suspend test times trap ttyctl type typeset ulimit umask unalias unfunction unhash unlimit unset
    unsetopt vared wait whence where zcompile zle zmodload zparseopts zstyle abbr argparse block commandline
    dirh emit fish_config set_color newgrp
"""
_NEVER = frozenset(f"{_KEYWORDS} {_BUILT_INS}".split())


def read(text: str) -> Certain | Uncertain:
    """Return the words of a command, or why they are not certain."""
    if len(text) > limits.COMMAND_CERTAIN_CHARS:
        return Uncertain("it is too long to be read with certainty")
    words: list[str] = []
    for piece in _split(text):
        if isinstance(piece, Uncertain):
            return piece
        words.append(piece)
    return _one_program(tuple(words))


def _split(text: str) -> list[str | Uncertain]:
    words: list[str | Uncertain] = []
    place = 0
    while place < len(text):
        if text[place] == " ":
            place += 1
            continue
        word, place = _word(text, place)
        words.append(word)
        if isinstance(word, Uncertain):
            break
    return words


def _word(text: str, place: int) -> tuple[str | Uncertain, int]:
    begun, parts = place, []
    while place < len(text) and text[place] != " ":
        if plain := _PLAIN.match(text, place):
            if (place == begun and plain[0][0] in "=%") or _TILDE.search(text, place, plain.end()) is not None:
                return Uncertain("the shell may expand a word of it"), place
            parts.append(plain[0])
            place = plain.end()
        elif quoted := _QUOTED.match(text, place):
            if doubt := _doubt_about(quoted, text):
                return doubt, place
            parts.append(quoted[1] if quoted[1] is not None else quoted[2])
            place = quoted.end()
        else:
            return Uncertain(_REASONS.get(text[place], "it has a character that shells may read differently")), place
    return "".join(parts), place


def _doubt_about(quoted: re.Match[str], text: str) -> Uncertain | None:
    single, inner = quoted[1] is not None, quoted[1] if quoted[1] is not None else quoted[2]
    if not inner.isprintable():
        return Uncertain("it has an invisible character in quotes")
    if single and (_BACKSLASHES.search(inner) or text[quoted.end() : quoted.end() + 1] == "'"):
        return Uncertain("it has quotes that shells read differently")
    if not single and _EXPANDS.search(inner):
        return Uncertain("the shell expands a part of it")
    return None


def _one_program(words: tuple[str, ...]) -> Certain | Uncertain:
    if not words:
        return Uncertain("it is empty")
    program = words[0]
    if "=" in program:
        return Uncertain("it sets a variable for the command")
    if program in _NEVER:
        return Uncertain(f"“{program}” is a word of the shell itself")
    # A folder's name alone is a change of folder in some shells.
    if _PROGRAM.fullmatch(program) is None or program.endswith("/") or not program.strip("."):
        return Uncertain("its first word is not plainly a program")
    return Certain(words)


_JOINTS = re.compile(r"[\s;|&()<>{}$`'\"\[\]!#^]+")
_FINE_JOINTS = re.compile(r"[\s;|&()<>{}$`'\"\[\]!#^=:,@+/\\?*%]+")
_ESCAPES = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3}))")
_MARKS = str.maketrans("", "", "'\"\\")


def _unescaped(found: re.Match[str]) -> str:
    hexadecimal = found[1] or found[2] or found[3]
    code = int(hexadecimal, 16) if hexadecimal else int(found[4], 8)
    return chr(code) if code <= 0x10FFFF else ""


def pieces(text: str) -> frozenset[str]:
    """Return everything in a command that could be a word, whichever way a shell reads it: too much, never too little.

    Only a refusal may rest on it.
    """
    text = text[: limits.COMMAND_LOOKED_AT_CHARS]
    forms = {text, text.replace("\\\n", "").translate(_MARKS)}
    if "\\" in text:
        forms.add(_ESCAPES.sub(_unescaped, text).translate(_MARKS))
    found: set[str] = set()
    for form in forms:
        words = _JOINTS.split(form)
        found.update(words)
        found.update(name_of(word) for word in set(words) if "/" in word)
        found.update(_FINE_JOINTS.split(form))
    found.discard("")
    return frozenset(found)
