"""Takes a script apart as a shell would: every simple command in it, also within substitutions, groups and loops.

A word is text in which what the shell makes up is a mark. Where shells differ, or a script is broken, more commands are
found than any of them would run, never fewer. A script is gone through twice, from its beginning to its end: the first
time for the names that it gives to things.
"""

from __future__ import annotations

import re

import msgspec

from pilothouse.permissions.shell_order import KEYWORDS, Order
from pilothouse.permissions.shell_words import ANY, BODY_RUN, SOME, Simple, WordReader

_CONTROL = re.compile(r"\x1b(?:\[[0-9;?]*[@-~]|.)?|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)(?:\[[^\]\s$`;&|()<>]*\])?\+?=")
_ESAC = re.compile(r"esac(?![^\s;&|()<>])")
_DEFINED = re.compile(r"[ \t]*\([ \t]*\)")
_REDIRECTION = re.compile(r"(?:\d+|\{\w+\})?(<<<|<<-?|<>|>\||>>|&>>|&>|[<>]&|[<>])")
_JOINT = re.compile(r";;&|;;|;&|&&|\|\||\|&|[;&|\n\r)]")
# A value that a program may take for more than one plain word.
_RISKY = re.compile(r"[-+:]|.*\s", re.DOTALL)
_SETTING = "read mapfile readarray getopts printf let select unset set source . eval"
_SETTERS = frozenset(_SETTING.split())
_DECLARING = frozenset({"export", "declare", "typeset", "local", "readonly"})
# What a function may be made of, and what else has rules of its own about what is an error.
_BODY = re.compile(r"[{(]|(?:if|for|while|until|case|select|\[\[)\s")
_ODD = re.compile(r"\[\[|=\(|\(\(|;;|;&|\r")
# More documents that begin in one line are written to hide something.
_DOCUMENTS = 8
# What belongs to a word of the shell before the command begins.
_TIME = re.compile(r"(?:[ \t]+-[-\w]*)*")
_COPROC = re.compile(r"[ \t]+\w+(?=[ \t]*[{(])")


class Script(msgspec.Struct, frozen=True):
    """Every simple command of a script, and the names of functions and aliases that it defines."""

    commands: list[Simple]
    defined: frozenset[str]
    # Whether it is written so that shells may read it in different ways, or deeper than anyone looks.
    tangled: bool


def without_marks(text: str) -> str:
    """Return a script without the characters that are marks here, and what else only terminals understand."""
    return _CONTROL.sub(" ", text)


def take_apart(text: str, unset: str = SOME) -> Script:
    """Return the commands of a script, which may have marks; `unset` is a variable that the script does not set."""
    # At first every variable could be anything: what is made from one could be, too.
    first = _Reader(text, {}, ANY)
    first.commands("")
    second = _Reader(text, first.values, unset)
    second.commands("")
    return Script(second.found, frozenset(second.defined), second.tangled)


class _Reader(WordReader):
    """Goes through a script once."""

    # --- commands ---

    def commands(self, end: str) -> None:
        """Read commands up to a closing parenthesis, or to the end."""
        if not self._goes_deeper():
            return
        order, closed = Order(), not end
        while self._skip_blanks():
            joint = _JOINT.match(self._text, self._at)
            if joint is None:
                self._command(order)
                continue
            self._at = joint.end()
            if joint[0] == ")":
                closed = bool(end)
                if closed:
                    break
            else:
                order.joint(joint[0])
            if joint[0] in "\n\r":
                self._read_documents()
            elif order.has_cases and joint[0] in (";;", ";&", ";;&"):
                self._pattern()
        order.end()
        self._doubt(order.is_broken or not closed or bool(self._documents and not end))
        self._depth -= 1

    def _command(self, order: Order) -> None:
        """Read one command, or the beginning of a compound one."""
        if self._text[self._at] == "(":
            order.command()
            if not (self._text.startswith("((", self._at) and self._arithmetic(self._at + 2)):
                self._at += 1
                self.commands(")")
            return
        simple = Simple()
        is_compound = self._words_of(simple, order)
        if not is_compound and (simple.words or simple.assigned or not order.is_behind):
            order.command()
        if simple.words or simple.assigned or simple.written:
            self.found.append(simple)
            self._note(simple)

    def _words_of(self, simple: Simple, order: Order) -> bool:
        """Read the words of a command; return whether a word of the shell itself was there instead."""
        while self._skip_blanks() and _JOINT.match(self._text, self._at) is None:
            if self._redirect(simple):
                continue
            if self._text[self._at] == "(":
                return False
            began = self._at
            assigned = _ASSIGNED.match(self._text, self._at)
            if assigned and (
                not simple.words or (simple.words[0] in _DECLARING and self._text.startswith("(", assigned.end()))
            ):
                self._assign(simple, assigned)
                continue
            word = self._next_word()
            raw = self._text[began : self._at]
            if simple.words or simple.assigned:
                simple.words.append(word)
            elif self._compound(raw, order) or self._definition(word, order):
                return True
            else:
                # The name of a program, or of the one that is called like a pattern.
                simple.words.append("[" if raw == "[" else word)
        return False

    def _compound(self, keyword: str, order: Order) -> bool:
        """Read what belongs to a word of the shell itself; return whether it is one."""
        if keyword in KEYWORDS:
            order.keyword(keyword)
            self._pass_own_words(keyword)
        if keyword == "case":
            self._skip_blanks()
            self._next_word()
            self._doubt(not self._skip_blanks(lines=True) or self._next_word() != "in")
            self._pattern()
        elif keyword in ("for", "select"):
            self._loop()
        elif keyword == "[[":
            order.command()
            self._test()
        elif keyword == "function":
            self._skip_blanks()
            return self._definition(self._next_word(), order, sure=True)
        return keyword in KEYWORDS or keyword == "[["

    def _pass_own_words(self, keyword: str) -> None:
        own = None
        if keyword == "time":
            own = _TIME.match(self._text, self._at)
        elif keyword == "coproc":
            own = _COPROC.match(self._text, self._at)
        self._at = own.end() if own else self._at

    def _definition(self, name: str, order: Order, *, sure: bool = False) -> bool:
        """Read the beginning of a function; return whether it is one."""
        defined = _DEFINED.match(self._text, self._at)
        if defined is None and not sure:
            return False
        self.defined.add(name)
        self._at = defined.end() if defined else self._at
        self._doubt(not self._skip_blanks(lines=True) or _BODY.match(self._text, self._at) is None)
        return True

    def _loop(self) -> None:
        self._skip_blanks()
        if self._text.startswith("((", self._at) and self._arithmetic(self._at + 2):
            return
        name, words = self._next_word(), []
        if self._skip_blanks() and self._text.startswith("in", self._at):
            self._at += 2
            while self._skip_blanks() and _JOINT.match(self._text, self._at) is None:
                words.append(self._next_word())
        for word in words or [ANY]:
            self._set(name, word)

    def _pattern(self) -> None:
        """Pass over the patterns of a case."""
        if not self._skip_blanks(lines=True) or _ESAC.match(self._text, self._at):
            return
        self._at += self._text[self._at] == "("
        while self._skip_blanks():
            if self._text[self._at] == ")":
                self._at += 1
                return
            # What a pattern with parentheses means, and where it ends, is a setting of the shell.
            self._doubt(self._text[self._at] in ";&(<>")
            self._next_word()
        self._doubt(True)

    def _test(self) -> None:
        while self._skip_blanks():
            self._doubt(self._text[self._at] in ";\n\r")
            if self._next_word() == "]]":
                return
        self._doubt(True)

    def _assign(self, simple: Simple, assigned: re.Match[str]) -> None:
        self._at = assigned.end()
        if self._text.startswith("(", self._at):
            self._at += 1
            while self._skip_blanks(lines=True) and self._text[self._at] != ")":
                self._doubt(self._text[self._at] in ";&|(<>")
                self._set(assigned[1], self._next_word())
            self._doubt(self._at >= len(self._text))
            self._at += 1
        else:
            self._set(assigned[1], self._word())
        simple.assigned.append(assigned[1])

    def _set(self, name: str, word: str) -> None:
        risky = ANY in word or _RISKY.match(word) is not None
        self.values[name] = ANY if risky or self.values.get(name) == ANY else SOME

    def _note(self, simple: Simple) -> None:
        """Remember what a command of the shell itself gives a name to."""
        if not simple.words:
            return
        name, *rest = simple.words
        if name == "alias":
            self.defined.update(word.partition("=")[0] for word in rest if "=" in word)
        elif name in _SETTERS:
            for word in rest:
                self.values[word] = ANY
        elif name in _DECLARING:
            for word in rest:
                variable, equals, value = word.partition("=")
                if equals:
                    self._set(variable.rstrip("+"), value)

    # --- where output goes and input comes from ---

    def _redirect(self, simple: Simple) -> bool:
        found = _REDIRECTION.match(self._text, self._at)
        if found is None or (found[1] in "<>" and self._text.startswith("(", found.end())):
            return False
        self._at = found.end()
        self._doubt(self._text.startswith("\\\n", self._at))
        self._skip_blanks()
        began = self._at
        sign, word = found[1], self._word()
        self._doubt(self._at == began)
        if sign in ("<<", "<<-"):
            self._doubt(len(self._documents) > _DOCUMENTS or (not self.tangled and self._is_hard_to_read_here()))
            plain = any(mark in self._text[began : self._at] for mark in "'\"\\")
            self._documents.append((simple, word, plain, "\t" if sign == "<<-" else ""))
        elif sign == "<<<":
            simple.given.append(word)
        elif sign == "<":
            simple.reads = True
        elif ">" in sign and not (sign.endswith("&") and (word.isdigit() or word in ("-", ""))):
            simple.written.append(word)
            if sign not in ("<>", ">>", "&>>"):
                simple.emptied.append(word)
        return True

    def _is_hard_to_read_here(self) -> bool:
        """Return whether the line has what makes shells drop a line, and with it that a document begins."""
        begin = self._text.rfind("\n", 0, self._at) + 1
        end = self._text.find("\n", self._at)
        return _ODD.search(self._text, begin, end if end >= 0 else len(self._text)) is not None

    def _read_documents(self) -> None:
        for simple, last, plain, indent in self._documents:
            lines = []
            while self._at < len(self._text):
                end = self._text.find("\n", self._at)
                line = self._text[self._at : end if end >= 0 else len(self._text)]
                self._at = end + 1 if end >= 0 else len(self._text)
                if line.lstrip(indent) == last:
                    break
                lines.append(line)
            else:
                self._doubt(True)
            body = "\n".join(lines)
            simple.given.append(body)
            if not plain:
                self._within(body, lambda inner: inner.quoted(BODY_RUN, ""))
        self._documents.clear()
