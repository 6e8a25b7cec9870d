"""Lines break between words, whatever pieces the text comes in; code keeps its lines."""

from __future__ import annotations

import pytest

from pilothouse.cli.wrapping import Wrapper

TEXT = (
    "The capital of France is Paris,  also known as the City of Light.\n\n"
    "```sh\necho one two three four five six\n```\nDone, 東京 and back."
)
WRAPPED = (
    "The capital of France\nis Paris,  also known\nas the City of Light.\n\n"
    "```sh\necho one two three four five six\n```\nDone, 東京 and back."
)


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "23")


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_text_breaks_between_words_and_code_does_not_break(size: int) -> None:
    wrapper = Wrapper()
    shown = [wrapper.feed(TEXT[at : at + size]) for at in range(0, len(TEXT), size)]
    assert "".join(shown) + wrapper.end() == WRAPPED


def test_a_word_longer_than_the_line_stays_whole() -> None:
    wrapper = Wrapper()
    address = "https://example.com/a/long/path/that/never/ends"
    assert wrapper.feed(f"See {address} now.") + wrapper.end() == f"See\n{address}\nnow."
