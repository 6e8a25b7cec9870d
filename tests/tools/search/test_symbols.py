"""Symbols by the grammar of each language, in a process that may break."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from pilothouse.tools.search.grammars import Grammars, Source
from pilothouse.tools.search.symbols import definitions, language_of, places_of, roles
from pilothouse.tools.search.words import passages, query_words, split_identifiers
from pilothouse.types import limits

SOURCES = {
    "a.py": (
        b"LIMIT = 1\nclass Box:\n    size: int = 2\n    def open(self):\n        pass\ndef main(): pass\n",
        {"LIMIT variable", "Box class", "size field", "open method", "main function"},
    ),
    "a.js": (
        b"export class Box { open() {} }\nconst go = () => 1;\nconst limit = 1;\nfunction main() {}\n",
        {"Box class", "open method", "go function", "limit variable", "main function"},
    ),
    "a.ts": (
        b"interface Box { size: number; open(): void }\ntype T = Box;\nenum E { A }\nnamespace N {}\n"
        b"abstract class C { x = 1; abstract run(): void }\nexport const limit = 3;\n",
        {"Box interface", "size field", "open method", "T type", "E enum", "N module", "C class", "x field"}
        | {"run method", "limit variable"},
    ),
    "a.tsx": (b"export function Page() { return <b/>; }\n", {"Page function"}),
    "a.go": (
        b"package a\nconst Limit = 1\ntype Box struct { Size int }\nfunc (b *Box) Open() {}\nfunc main() {}\n",
        {"Limit constant", "Box type", "Size field", "Open method", "main function"},
    ),
    "a.rs": (
        b"mod m {}\nstruct Box { size: u8 }\nenum E { V }\ntrait T { fn t(&self); }\nmacro_rules! mac { () => {} }\n"
        b"const LIMIT: u8 = 1;\nfn main() {}\n",
        {"m module", "Box struct", "size field", "E enum", "V variant", "T trait", "t method", "mac macro"}
        | {"LIMIT constant", "main function"},
    ),
    "A.java": (
        b"class Box { int size; void open() {} enum E { X } }\ninterface I { void run(); }\nrecord R(int a) {}\n",
        {"Box class", "size field", "open method", "E enum", "X constant", "I interface", "run method", "R class"},
    ),
    "a.c": (
        b"#define LIMIT 1\nstruct box { int size; };\nenum e { E1 };\ntypedef struct box Box;\n"
        b"int open_box(int a);\nint main(void) { return 0; }\n",
        {"LIMIT macro", "box struct", "size field", "e enum", "E1 constant", "Box type", "open_box declaration"}
        | {"main function"},
    ),
    "a.cpp": (
        b"namespace n { class Box { public: int size; void open(); };\nvoid Box::open() {}\nusing T = int; }\n",
        {"n module", "Box class", "size field", "open declaration", "open function", "T type"},
    ),
    "a.sh": (
        b"LIMIT=1\nopen_box() { :; }\nfunction main { open_box; }\n",
        {"LIMIT variable", "open_box function", "main function"},
    ),
}


@pytest.mark.case("FIL-08", "FIL-09")
@pytest.mark.parametrize("name", sorted(SOURCES))
def test_definitions_are_found_in_every_language(name: str) -> None:
    source, expected = SOURCES[name]
    found = {f"{each.name} {each.kind}" for each in definitions(source, language_of(name))}
    assert found == expected


def test_a_broken_file_gives_what_can_be_made_out() -> None:
    source = b"def fine(): pass\n\ndef broken(:\n  ((((\nclass Later:\n    def m(self): pass\n"
    assert "fine" in {each.name for each in definitions(source, "python")}
    assert definitions(b"\xff\xfe" * 100, "python") == []


def test_roles_are_told_from_mentions() -> None:
    source = b"from x import foo\n# foo\ns = 'foo'\nfoo(1)\na.foo(b)\nbar(foo)\nfoo_bar = f'{foo}'\n"
    assert roles(source, "python", "foo") == ["import", "", "", "call", "call", "reference", "reference"]
    assert roles(b"use a::foo;\nfn f() { foo(1); x.foo; }", "rust", "foo") == ["import", "call", "reference"]
    assert list(places_of("fooé foo éfoo".encode(), "foo")) == [6]


@pytest.fixture
def grammars() -> Iterator[Grammars]:
    made = Grammars()
    yield made
    made.close()


@pytest.mark.slow
def test_a_grammar_that_dies_or_hangs_takes_nothing_along(grammars: Grammars, monkeypatch: pytest.MonkeyPatch) -> None:
    assert grammars.roles([Source("python", b"foo()\n")], "foo") == [["call"]]
    first = grammars.helper._process
    assert first is not None
    os.kill(first.pid, signal.SIGKILL)
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)
    assert grammars.roles([Source("python", b"foo()\n")], "foo") == [["call"]]
    second = grammars.helper._process
    assert second is not None
    os.kill(second.pid, signal.SIGSTOP)
    monkeypatch.setattr(limits, "GRAMMAR_TIME", 0.05)
    # Half a minute of work for the grammar of JavaScript.
    sources = [Source("python", b"def f(): pass\n"), Source("javascript", b"(" * 100_000)]
    with grammars.turn() as turn:
        turn.ask_definitions(sources[:1])
        assert turn.definitions(sources[:1]) == [[]]
        monkeypatch.setattr(limits, "GRAMMAR_TIME", 1.0)
        turn.ask_definitions(sources)
        found = turn.definitions(sources)
        assert [[each.name for each in file] for file in found] == [["f"], []]
        turn.ask_definitions(sources[:1])
    # One that is too much takes none of those along that it is asked about with.
    assert grammars.roles([Source("python", b"foo\n"), sources[1]], "foo") == [["reference"], []]


def test_words_of_identifiers_and_passages_of_files() -> None:
    assert sorted(split_identifiers("parseHTTPRequest snake_case plain x2y").split()) == sorted(
        ["parse", "HTTP", "Request", "snake", "case", "x", "2", "y"]
    )
    assert query_words("Where is the openStore function used?") == ["openstore", "open", "store", "function"]
    assert query_words("what is it") == ["what", "is", "it"]
    text = "".join(f"line {number}\n" for number in range(1, 131))
    assert [(each.first, each.last) for each in passages(text, [])] == [(1, 60), (61, 120), (121, 130)]
    assert passages("", []) == []
