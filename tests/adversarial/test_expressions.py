"""Every regular expression of the source, on texts made to hold it up: twice the text takes at most thrice the time."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import cache

import pytest

from pilothouse.cli import inline
from pilothouse.models import known_models, provider_table
from pilothouse.models.provider_rows import ROWS
from pilothouse.models.wires import anthropic, gemini, openai_chat
from pilothouse.permissions import danger_table
from pilothouse.permissions import guarded_names as names_of_places
from pilothouse.tools.terminal import running
from tests.adversarial.expression_inputs import Hostile, inputs, is_linear
from tests.adversarial.expression_uses import Compiled, Kind, Use, collect, modules
from tests.support import sampling
from tests.support.time_growth import growth

# A reader of strangers' text takes this much at once, and most take less: see `pilothouse.types.limits`.
LONGEST = 1024 * 1024
# Where a caller takes less, how much, and who sees to it.
ADMITTED: dict[str, tuple[int, str]] = {
    "permissions.globs:fnmatch.translate(part.replace('[', '[[]'))": (255, "one name of a path, by the file system"),
}
# Where the source says less than is true about how an expression is applied.
APPLIED: dict[str, tuple[Kind, str]] = {
    "permissions.guarded_names:'|'.join((f'({fnmatch.translate(pattern)})' for pattern in patterns))": (
        "match",
        "to one name",
    ),
    "permissions.danger_table:'|'.join(map(fnmatch.translate, plain)) or '(?!)'": ("match", "to one word of a command"),
    "permissions.danger_table:'|'.join(map(fnmatch.translate, part.split(',')))": ("match", "to one word of a command"),
    # What they are tried on is passed over as a word, or as blanks, before they are tried again.
    "permissions.shell:_ASSIGNED": ("match", "at the beginning of a word"),
    "permissions.shell:_REDIRECTION": ("match", "at the beginning of a word"),
    "permissions.shell:_DEFINED": ("match", "behind the first word of a command"),
    "permissions.shell:_TIME": ("match", "behind a word of the shell"),
    "permissions.shell:_COPROC": ("match", "behind a word of the shell"),
    "types.durations:_PIECE": ("match", "pieces are read one behind the other, and the first that is none ends it"),
}
# Whatever a text of these is taken for: comments, strings, tags, links, lists and calls that nothing ends.
BY_HAND = tuple(
    Hostile("", again, end)
    for again in (
        "/* ", ",/**/", ",  ", '"\\"', '"', "\\", "// ", "[", "[](", "![a](b", "<", "<script", "<!--", "`", "` ``",
        "*a ", "_a", "**a ", "| - ", "- ", "a=", 'a="', "a:", "a: ", "${", "$", "&a", "?sessionid=", "\x1b[", "\x1b]",
        "A_A ", "required ", "{", '{"a":', "\n", "\n ", " ", "\t", "0", "1.", "-1", "é", "'",
    )
    for end in ("", "\x00")
)  # fmt: skip


def _found_in(value: object) -> Iterator[Compiled]:
    """Yield the expressions in a table, however deep."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from _found_in(each)
    elif isinstance(value, danger_table.Sign):
        yield from value.head
        yield from _found_in(value.words._plain if value.words else ())


@cache
def uses() -> tuple[tuple[Use, ...], tuple[str, ...]]:
    """Return all uses, and the places of expressions that nobody knows examples of."""
    names = ("a_b", "list.files", "get-it", "x" * 60)
    pairs = tuple(_found_in((inline._STYLED, inline._FORMULAS)))
    made: dict[str, tuple[str | Compiled, ...]] = {
        "permissions.danger_table:'|'.join(map(fnmatch.translate, plain)) or '(?!)'": tuple(
            _found_in(tuple(danger_table.signs().values()))
        ),
        "permissions.danger_table:'|'.join(map(fnmatch.translate, part.split(',')))": (translate("*.sshcommand=*"),),
        "permissions.globs:fnmatch.translate(part.replace('[', '[[]'))": (
            translate("*a*a*a*b"),
            translate("**?**?*.x"),
        ),
        "permissions.guarded_names:'|'.join((f'({fnmatch.translate(pattern)})' for pattern in patterns))": (
            names_of_places._PATTERNS(),
        ),
        "cli.inline:sign + after": pairs,
        "cli.inline:before + sign + beyond": pairs,
        "cli.inline:re.escape(begin)": pairs,
        "cli.inline:re.escape(end)": pairs,
        "mcp.quarantine:f\"(?<![\\\\w.-])(?:{'|'.join(map(re.escape, telling))})(?![\\\\w-])\"": (
            rf"(?<![\w.-])(?:{'|'.join(map(re.escape, names))})(?![\w-])",
        ),
        "models.known_models:pattern": tuple(pattern for pattern, _ in known_models._REGIONAL),
        "models.refusals:spare.missed": tuple(
            re.compile(spare.missed, re.IGNORECASE)
            for spare in (*anthropic.AnthropicWire.spares, *gemini.GeminiWire.spares, *openai_chat._SPARES)
            if spare.missed
        ),
        "models.provider_table:_expression(host)": tuple(
            provider_table._expression(host) for row in ROWS for host in row.hosts
        ),
        "web.app:re.escape(route.path).replace('\\\\{id\\\\}', '[^/]+')": (r"/api/items/[^/]+/[^/]+", r"/api/[^/]+"),
        "store.excerpts:'|'.join(map(re.escape, longest))": ("|".join(map(re.escape, names)),),
        "documents.hits:'|'.join((f'\\\\b{re.escape(word)}' for word in words))": (
            "|".join(rf"\b{re.escape(name)}" for name in names),
        ),
        "tools.terminal.running:pattern": tuple(_found_in(running._HINTS)),
    }
    found, unknown = collect(made)
    return tuple(found), tuple(unknown)


def applied(pattern: Compiled, kind: Kind, text: str) -> Callable[[], object]:
    """Return the work of looking for an expression in a text."""
    data = text.encode() if isinstance(pattern.pattern, bytes) else text
    if kind == "scan":
        return lambda: deque(pattern.finditer(data), maxlen=0)  # type: ignore[arg-type]
    return lambda: getattr(pattern, kind)(data)


def complaint(pattern: Compiled, kind: Kind, longest: int = LONGEST) -> str:
    """Return with which text an expression takes too long, and how long; empty if with none."""
    for hostile in (*inputs(pattern), *BY_HAND):
        if told := growth(lambda size, text=hostile: applied(pattern, kind, text.of(size)), longest):  # type: ignore[misc]
            return f"{hostile}: {told}"
    return ""


@pytest.mark.timeout(1800)
def test_no_expression_takes_more_than_thrice_as_long_for_twice_the_text() -> None:
    slow = {}
    repeating = [use for use in uses()[0] if not is_linear(use.pattern)]
    assert len(repeating) > 100
    for use in sampling.choose(repeating, "expressions of the source"):
        for kind in {APPLIED[use.place][0]} if use.place in APPLIED else use.kinds:
            if told := complaint(use.pattern, kind, ADMITTED.get(use.place, (LONGEST, ""))[0]):
                slow[use.place] = f"{kind} of {use.pattern.pattern!r} on {told}"
    assert slow == {}


def test_every_expression_of_the_source_is_known() -> None:
    found, unknown = uses()
    assert unknown == ()
    assert len(found) > 200
    assert {*ADMITTED, *APPLIED} <= {use.place for use in found}


def test_nobody_hides_an_expression_behind_another_name() -> None:
    hidden = re.compile(r"^\s*(?:from re import (?!_)|import re as\b)", re.MULTILINE)
    assert [module.name for module in modules() if hidden.search(module.text)] == []


@pytest.mark.sampled(share=0.3)
@pytest.mark.parametrize(
    ("pattern", "kind"),
    [
        (r"a+b", "search"),
        (r"(a+)+b", "match"),
        (r"(a|aa)+b", "fullmatch"),
        (r"\s*x?\s*y", "match"),
        (r'"(?:\\.|[^"\\])*"', "scan"),
        (r"/\*.*?\*/", "scan"),
        (r"(?P<mark>~~)(?=\S)(?P<text>.+?)(?<=\S)(?P=mark)", "scan"),
        # What once was here: comments of an import, addresses of gateways, headers, targets of make.
        (r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=\s*(?:(?://[^\n]*|/\*.*?\*/)\s*)*[}\]])', "scan"),
        (r"[^\s\"'<>]*[?&]session_?id=[^\s\"'<>]+", "search"),
        (r'([A-Za-z_][\w-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))', "scan"),
        (r"(?m)^(?P<names>[A-Za-z0-9][\w./ -]*?)[ \t]*::?(?![:=])", "scan"),
    ],
)
def test_an_expression_that_can_be_held_up_is_found_out(pattern: str, kind: Kind) -> None:
    assert complaint(re.compile(pattern), kind)
