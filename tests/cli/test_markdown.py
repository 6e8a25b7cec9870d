"""Markdown is drawn in a terminal while it streams, the same however it is cut, and what is no mark stays."""

from __future__ import annotations

import re

import pytest

from pilothouse.cli.markdown import MarkdownScreen
from pilothouse.cli.wrapping import text_width

OURS = re.compile(r"\x1b\[\d+m")

TEXT = """\
# A **heading**

Some *leaning*, **strong** and ***both***, `co**de`, ~~gone~~, a [link](https://example.org/a_b) and <https://x.org>.
Not marks: snake_case_name, 2*3*4, 2 * 3, a lone * star, an **open one, [brackets] and \\*stars\\*.

- first
  - nested
* [ ] open
+ [x] done
1. one
> quoted

```python
# not a heading
x = "**as it is**"
   ``
```
***
| Name | What |
|:--|--:|
| a | **b** \\| c |
Formula \\( a_1 * b_1 * c \\) and $$ x_1 * y_1 $$ stay.
| no table"""

PLAIN = """\
A heading

Some leaning, strong and both, co**de, gone, a link (https://example.org/a_b)
and https://x.org.
Not marks: snake_case_name, 2*3*4, 2 * 3, a lone * star, an **open one,
[brackets] and *stars*.

• first
  • nested
☐ open
☑ done
1. one
│ quoted

─── python
# not a heading
x = "**as it is**"
   ``
───
────────────────────────────────────────
Name │ What
─────┼──────
a    │ b | c
Formula \\( a_1 * b_1 * c \\) and $$ x_1 * y_1 $$ stay.
| no table
"""


@pytest.fixture(autouse=True)
def width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def drawn(text: str, size: int = 10_000, *, colours: bool = True) -> str:
    screen = MarkdownScreen(colours=colours)
    shown = "".join(screen.feed(text[at : at + size]) for at in range(0, len(text), size))
    return shown + screen.end()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_markdown_is_drawn_the_same_however_it_is_cut(size: int) -> None:
    assert OURS.sub("", drawn(TEXT, size)) == PLAIN
    assert drawn(TEXT, size, colours=False) == PLAIN


@pytest.mark.parametrize("size", [1, 10_000])
@pytest.mark.parametrize(
    ("mark", "code"), [("**a b**", "1"), ("*a b*", "3"), ("`a b`", "36"), ("# a b", "1"), ("[a b]()", "4")]
)
def test_marks_become_styles(mark: str, code: str, size: int) -> None:
    assert f"\x1b[{code}ma\x1b[0m" in (shown := drawn(mark, size))
    assert OURS.sub("", shown) == "a b"


def test_what_is_decided_is_shown_before_the_line_ends() -> None:
    screen = MarkdownScreen()
    assert screen.feed("Some **strong** words and mo") == "Some \x1b[1mstrong\x1b[0m words and"
    # A star that is never closed does not keep what follows from the reader.
    assert "much" in screen.feed("re *than " + "much " * 80)


@pytest.mark.parametrize("columns", [40, 20])
def test_tables_lists_and_quotes_keep_within_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    words = "several words that go on 日本語の文 for long"
    text = f"- {words}\n> {words}\n\n| One | Two | Three |\n|-|-|-|\n| {words} | b | {words} |\n\nEnd."
    lines = drawn(text, colours=False).split("\n")
    assert max(map(text_width, lines)) < columns
    assert lines[0].startswith("• ")
    assert lines[1].startswith("  ")
    assert "".join(lines).count("several") == 4


@pytest.mark.slow
def test_a_great_answer_is_drawn_in_little_time() -> None:
    text = ("*a " * 5000 + "\n") * 4 + "[" * 20_000 + "`" * 20_000
    assert drawn(text, 50, colours=False).count("a") == 20_000
