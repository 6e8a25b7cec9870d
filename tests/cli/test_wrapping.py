"""Lines break between words, whatever pieces the text comes in."""

from __future__ import annotations

import io
import re

import pytest

from pilothouse.cli.inline import Span
from pilothouse.cli.terminal import Terminal
from pilothouse.cli.wrapping import Wrapper, say, text_width

TEXT = "The capital of France is Paris,  also known as the City of Light.\n\nDone, 東京 and back."
WRAPPED = "The capital of France\nis Paris,  also known\nas the City of Light.\n\nDone, 東京 and back."


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "23")


def wrapped(text: str, size: int = 1000) -> str:
    wrapper = Wrapper()
    shown = [wrapper.feed([Span(text[at : at + size])]) for at in range(0, len(text), size)]
    return "".join(shown) + wrapper.end()


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_text_breaks_between_words(size: int) -> None:
    assert wrapped(TEXT, size) == WRAPPED


def test_a_word_longer_than_the_line_stays_whole() -> None:
    address = "https://example.com/a/long/path/that/never/ends"
    assert wrapped(f"See {address} now.") == f"See\n{address}\nnow."


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_script_without_spaces_breaks_between_its_signs_but_not_before_a_full_stop(size: int) -> None:
    lines = wrapped("日本語のとても長い文章です。それでも、句読点で始まらない。", size).split("\n")
    assert len(lines) > 2
    assert all(text_width(line) <= 22 for line in lines)
    assert not any(line.startswith(("。", "、")) for line in lines)


def test_signs_of_several_characters_take_the_room_that_they_show() -> None:
    assert text_width("👩‍👩‍👧‍👦") == 2
    assert text_width("👍🏽") == 2
    assert text_width("🇩🇪") == 2
    assert text_width("e\u0301") == 1


def test_a_sentence_beside_an_answer_breaks_between_words_on_a_terminal_only() -> None:
    class Shown(io.StringIO):
        def isatty(self) -> bool:
            return True

    for stream, wanted in ((Shown(), "tokens in, 271 out and\n  more words\n"), (io.StringIO(), None)):
        say(Terminal(stream), "tokens in, 271 out and more words", "dim")
        bare = re.sub(r"\x1b\[\d+m", "", stream.getvalue())
        assert bare == (wanted or "tokens in, 271 out and more words\n")
