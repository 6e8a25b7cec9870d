"""Small texts of strangers that once held everything up for seconds, and the ordinary ones beside them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable

import pytest

from pilothouse.cli import markdown, markdown_table
from pilothouse.cli.inline import Inline, Span, spans_of
from pilothouse.cli.markdown import MarkdownScreen
from pilothouse.helper.client import Helper, Unreadable
from pilothouse.mcp.client.transports import http_sse
from pilothouse.mcp.oauth import challenge
from pilothouse.mcp.oauth.challenge import parse_challenge
from pilothouse.mcp.servers import importing, quarantine
from pilothouse.models import failures
from pilothouse.permissions import programs
from pilothouse.tools.builds import tasks
from pilothouse.tools.terminal.screen import Output, render
from pilothouse.types import jsonc, limits
from pilothouse.types.errors import PilothouseError
from tests.models.test_text_calls import CALL, found_in
from tests.support.time_growth import growth, processor_seconds


def imported(text: str) -> object:
    try:
        return importing.read(text)
    except PilothouseError as error:
        return error.message


def streamed(text: str) -> str:
    """Return a text as a terminal shows it that gets it in small pieces."""
    screen = MarkdownScreen(colours=False)
    return "".join(screen.feed(text[at : at + 4]) for at in range(0, len(text), 4)) + screen.end()


def lines_of(text: str) -> str:
    inline = Inline()
    return "".join(one.text for one in (*inline.feed(text), *inline.end()))


@pytest.mark.sampled(share=0.2)
@pytest.mark.parametrize(
    ("read", "again"),
    [
        (imported, ",/**/"),
        (imported, "/* "),
        (imported, '{"a": "\\"'),
        (jsonc.plain, "/* "),
        (jsonc.plain, ",  "),
        (jsonc.plain, '"\\"'),
        (http_sse.named_in, "a"),
        (http_sse.named_in, "?sessionid"),
        (parse_challenge, "a"),
        (parse_challenge, 'a="\\'),
        (parse_challenge, "1a"),
        (failures._message, "<"),
        (failures._message, "<script>"),
        (lambda text: [*tasks._TARGET.finditer(text)], "a "),
        (lines_of, "*a "),
        (lines_of, "_a"),
        (lines_of, "["),
        (lines_of, "![a](b"),
        (lines_of, "`a``"),
        (lines_of, r"\(a"),
        (spans_of, "**a *b ~~c _d "),
        (streamed, "- "),
        (streamed, " "),
        (streamed, "`"),
        (streamed, "| a "),
        (streamed, "|"),
        (streamed, "**a "),
        (lambda text: streamed(f"| a |\n| - |\n| {text} |\n"), "aé"),
        (lambda text: streamed(f"| a | b |\n| - | - |\n| {text} | {text} |\n"), "a"),
    ],
)
def test_twice_of_what_is_hard_to_read_takes_at_most_thrice_as_long(read: Callable[[str], object], again: str) -> None:
    for before in ("", "a "):
        assert growth(lambda size, before=before: lambda: read(before + again * (size // len(again))), 64 * 1024) == ""  # type: ignore[misc]


@pytest.mark.parametrize(
    ("begun", "again"),
    [(CALL, ","), (CALL, "`"), ('TOOL_CALL: {"name": "', "}a"), ('TOOL_CALL: {"name": "x", "args": {"a": "', "}a")],
)
def test_a_model_that_never_ends_a_call_is_read_in_step_with_what_it_writes(begun: str, again: str) -> None:
    def work(size: int) -> Callable[[], object]:
        return lambda: found_in(begun + again * (size // len(again)), 4)

    assert growth(work, 32 * 1024) == ""


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (imported, '{"mcpServers": {}' + ",/**/" * 28),
        (http_sse.named_in, "a" * 40_000),
        (jsonc.plain, "/* " * (100 * 1024 // 3)),
        (lambda text: [*tasks._TARGET.finditer(text)], "a" + " " * 100_000),
        (parse_challenge, "a" * limits.HTTP_HEAD_BYTES),
    ],
)
def test_what_once_took_ten_seconds_and_more_is_read_at_once(read: Callable[[str], object], text: str) -> None:
    assert processor_seconds(lambda: read(text)) < 0.1


def test_a_file_with_comments_and_trailing_commas_is_read_as_ever() -> None:
    text = """\ufeff{
      // Ours: a bracket in a comment ends nothing.
      "projects": {}, // }
      "mcpServers": { /* one */ "a//b": {"command": "x", "args": ["/* no */", "\\\\\\"//",], /* , */ }, // last
      },
    }"""
    assert importing.read(text).entries == (("a//b", {"command": "x", "args": ["/* no */", '\\"//']}),)
    assert len(jsonc.plain(text)) == len(text) - 1
    with pytest.raises(PilothouseError, match="not JSON"):
        importing.read('{"mcpServers": {} /* not ended')


def test_a_list_of_targets_is_found_as_ever() -> None:
    text = "CC := gcc\nall test \t: deps\n\tgcc x\nclean::\n.PHONY: all\nx:=1\na/b.c : d\n"
    assert _targets(tasks._TARGET, text) == [["all", "test"], ["clean"], ["a/b.c"]]


def test_a_header_says_what_it_said() -> None:
    found = parse_challenge(
        r'Negotiate abc==, Bearer realm="a \"b\"", scope="x y", resource_metadata = "https://a/b", error=invalid_token'
    )
    assert (found.error, found.scopes, found.resource_metadata) == ("invalid_token", ("x", "y"), "https://a/b")


def test_the_words_of_an_error_page_are_shown_without_its_tags() -> None:
    assert failures._message("<p>It is <b>full</b></p>").split() == ["It", "is", "full"]
    assert failures._message("<style>p{}</style>a < 5").strip() == "a < 5"
    assert failures._message("5 < 6") == "5 < 6"


def test_a_screen_made_to_take_long_is_given_up_in_the_helper_process() -> None:
    helper = Helper()
    try:
        assert helper.ask(render, Output("a\x1b[2;1Hb", 20, 5)) == "a\nb"
        with pytest.raises(Unreadable, match="too long"):
            # Each sign fills the whole screen.
            helper.ask(render, Output("\x1b#8" * 40_000, 300, 100), 0.3)
        assert helper.ask(render, Output("still there", 20, 5)) == "still there"
    finally:
        helper.close()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a" + "\u0301" * 100_000, "á" + "\u0301" * 7),
        ("a\x1b[" + "9" * 100_000 + "Kb", "ab"),
        ("a\x1b[999999999Jb", "ab"),
        ("a\x1b[7Kb", "ab"),
        ("123456789012 [1234567m", "123456789012 [1234567m"),
    ],
)
def test_what_no_terminal_knows_is_passed_over(text: str, shown: str) -> None:
    assert processor_seconds(lambda: render(Output(text, 40, 5))) < 0.2
    assert render(Output(text, 40, 5)) == shown


def _pieces(alphabet: str, *more: str) -> list[str]:
    """Return many ordinary and odd short texts of these pieces, always the same."""
    chance = random.Random(7)
    pieces = [*alphabet, *more]
    return ["".join(chance.choices(pieces, k=chance.randint(1, 12))) for _ in range(4_000)]


_ONCE_PARAMETER = re.compile(r'([A-Za-z_][\w-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_ONCE_JSONC = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*[}\]])', re.DOTALL)
_ONCE_ADDRESS = re.compile(r"[^\s\"'<>]*[?&]session_?id=[^\s\"'<>]+", re.IGNORECASE)
_ONCE_RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)*\s*:?-+:?\s*\|?\s*")
_ONCE_UNDECIDED = re.compile(
    r"\s*(?:#{1,6}|[-*+_]|([-*_])(?:\s*\1)+\s*|[-*+]\s+\[[ xX]?\]?|\d{1,9}[.)]?|>+|`{1,}[^`]*|~{1,}[^~]*)?\s*"
)
_ONCE_VERSION = re.compile(r"[-.]?\d[\d.]*$")
_ONCE_TARGET = re.compile(r"^(?P<names>[A-Za-z0-9][\w./ -]*?)[ \t]*::?(?![:=])", re.MULTILINE)


def test_what_was_written_anew_reads_short_texts_as_before() -> None:
    for text in _pieces('a=", \\-_1', "scope=", '="'):
        once = {name.lower() for name, _, _ in _ONCE_PARAMETER.findall(text)}
        assert {name.lower() for name, _, _ in challenge._PARAMETER.findall(text)} == once, text
    for text in _pieces("a ?&='\"", "?sessionId=", "&session_id=", "/message"):
        found = _ONCE_ADDRESS.search(text)
        assert found is None or http_sse.named_in(text) == found[0], text
    for text in _pieces("|:- \ta", "---", " | "):
        assert bool(markdown_table._RULE.fullmatch(text)) == bool(_ONCE_RULE.fullmatch(text)), text
    for text in _pieces("#-*+_ 1.)>`~[]xa", "- ", "* *"):
        assert bool(markdown._UNDECIDED.fullmatch(text)) == bool(_ONCE_UNDECIDED.fullmatch(text)), text
    for text in _pieces("a-.123", "3.11"):
        assert programs._VERSION.sub("", text) == _ONCE_VERSION.sub("", text), text
    for text in _pieces("ab./ -\t:=\n", "::", "all"):
        assert _targets(tasks._TARGET, text) == _targets(_ONCE_TARGET, text), text


def test_every_text_that_was_json_with_comments_still_is() -> None:
    for text in _pieces('{}[],"\n ', '"a"', " 1 ", "// x\n", " /* x */ ", " /**/ ", ",]", ":"):
        once = _read(_ONCE_JSONC.sub(lambda hit: hit[0] if hit[0].startswith('"') else "", text))
        assert _read(jsonc.plain(text)) == once, text


def test_text_out_of_sight_is_seen_as_before() -> None:
    for text, seen in (
        (" " * 60 + "a", True),
        (" " * 59 + "a", False),
        ("a" + "\n" * 15 + "b", True),
        (" " * 99, False),
    ):
        assert bool(quarantine._PADDING.search(text)) is seen


def test_marks_that_close_late_or_never_are_told_apart() -> None:
    assert spans_of("**a** *b `c` *d") == [
        Span("a", frozenset({"bold"})), Span(" "), Span("*"), Span("b "), Span("c", frozenset({"code"})), Span(" "),
        Span("*"), Span("d"),
    ]  # fmt: skip
    assert "".join(one.text for one in spans_of("[[a](b)")) == "[a (b)"


def _targets(pattern: re.Pattern[str], text: str) -> list[list[str]]:
    return [match["names"].split() for match in pattern.finditer(text)]


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
