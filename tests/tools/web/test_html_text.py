"""HTML becomes text that a model reads: what stands on the page, in its order and with its shape."""

from __future__ import annotations

import pytest

from pilothouse.tools.web.operations import _links
from pilothouse.tools.web.reading import Readable, Sent, readable
from pilothouse.types import limits

AT = "https://site.example/docs/page.html"


def read(html: str, kind: str = "text/html; charset=utf-8") -> Readable:
    return readable(Sent(AT, kind, html.encode()))


@pytest.mark.case("UTL-15")
@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h2>A <em>b</em></h2><h3>c", "## A b\n\n### c"),
        ("one<br>two<p>three  \n four", "one\ntwo\n\nthree four"),
        ("<ol><li>a<li>b<ul><li>c</ul></li><li>d</ol>after", "1. a\n2. b\n  - c\n3. d\n\nafter"),
        ("<table><tr><td>a</td><td>b|c</td></tr><tr><td>d<td></table>", "| a | b\\|c |\n| --- | --- |\n| d |  |"),
        ("<table><tr><td>only</td></tr></table>", "only"),
        ("<table><tr><td>x<table><tr><td>in</table><td>y</table>z", "| x in | y |\n| --- | --- |\n\nz"),
        ("<pre>a\n  b <b>c</b>\n</pre>", "```\na\n  b c\n```"),
        ("say <code>x = 1</code>.", "say `x = 1`."),
        ("<blockquote>a<p>b</blockquote>c", "> a\n\n> b\n\nc"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ('<img alt="A cat" src=x> sleeps', "[picture: A cat] sleeps"),
        ("&lt;b&gt; &amp; &eacute; &#128512;", "<b> & é 😀"),
        ("<p>one<script>two()</script><style>p{}</style>three", "onethree"),
        ("</p></div>stray<p>", "stray"),
        ("<select><option>a</select><button>Go</button>", "Go"),
        ("", ""),
    ],
)
def test_what_stands_on_a_page_keeps_its_shape(html: str, text: str) -> None:
    assert read(html).text == text


@pytest.mark.case("UTL-15")
def test_links_have_numbers_and_lead_where_the_page_says() -> None:
    page = read(
        '<base href="/other/"><a href="a#x">One</a> <a href="a">again</a> <a href="https://e.example/?q=1">Two</a> '
        '<a href="#here">here</a> <a href="javascript:x()">no</a> <a href="mailto:a@b">mail</a> <a href="http://[">bad</a>'
    )
    assert page.text == "One [1] again [1] Two [2] here no mail bad"
    assert page.links == ["https://site.example/other/a", "https://e.example/?q=1"]


@pytest.mark.case("UTL-15")
def test_the_main_part_of_a_page_is_shown_where_it_is_marked_and_all_of_it_where_not() -> None:
    menu, words = "<nav>Menu</nav><header>Site</header>", "A long text. " * 40
    marked = read(f"{menu}<main><p>{words}</p></main><footer>Imprint</footer>")
    assert (marked.text, marked.trimmed) == (words.strip(), True)
    plain = read(f"{menu}<p>{words}</p><footer>Imprint</footer>")
    assert plain.text.startswith("Site\n\nA long text.")
    assert "Menu" not in plain.text
    # A part that is marked and empty is filled by a program that we do not run.
    empty = read(f"{menu}<main></main><p>{words}</p>")
    assert "A long text." in empty.text
    assert read("<nav>Only a menu</nav>").text == "Only a menu"


@pytest.mark.case("UTL-15")
def test_a_page_that_sends_a_browser_on_says_where() -> None:
    page = read('<meta http-equiv="Refresh" content="0; url=\'/new\'"><title> Old\n page </title>')
    assert (page.sends_on, page.title) == ("https://site.example/new", "Old page")


@pytest.mark.slow
@pytest.mark.case("UTL-15")
def test_what_is_longer_than_a_page_is_cut() -> None:
    page = read("<p>word</p>" * 100_000)
    assert page.cut
    assert len(page.text) <= limits.WEB_TEXT_CHARS
    text = read("x" * (limits.WEB_TEXT_CHARS + 5), "text/plain")
    assert (text.cut, len(text.text)) == (True, limits.WEB_TEXT_CHARS)
    many = read("".join(f'<a href="/{number}">x</a> ' for number in range(limits.WEB_LINKS + 50)))
    assert len(many.links) == limits.WEB_LINKS


def test_links_below_a_page_have_their_bounds() -> None:
    links = [f"https://e.example/{number}" for number in range(300)]
    text = " ".join(f"[{number}]" for number in range(1, 301)) + " [0] [999] [12345]"
    shown = _links(links, text, 100_000).splitlines()
    assert len(shown) == limits.WEB_LINKS_SHOWN + 1
    assert shown[0] == "[1] https://e.example/0"
    assert shown[-1].startswith("… and more")
    assert _links(links, text, 30).splitlines() == ["[1] https://e.example/0", shown[-1]]
