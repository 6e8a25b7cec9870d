"""What a server lacks, from its own words: the variables and headers that it names when it fails for want of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from pilothouse.types import limits
from pilothouse.types.invisible import without_hidden


class Lack(msgspec.Struct, frozen=True):
    """A key that a server said it lacks, and the line in which it did."""

    id: str
    about: str = ""
    # The tool whose call said so; empty where the server did when it started.
    tool: str = ""


_NAME = r"[A-Z][A-Z0-9]{0,40}+(?:_[A-Z0-9]{1,40}+){1,10}+"
# “A and B”, “A, B and C”. Of “A or B” one is enough.
_NAMES = rf"[`'\"‘“]?{_NAME}[`'\"’”]?(?:(?:,? and |, |,| & | \+ )[`'\"‘“]?{_NAME}[`'\"’”]?){{0,11}}+"
_WANTING = (
    r"(?:required|not (?:been )?(?:set|provided|found|defined|configured|specified|present|given)|must (?:be|have)"
    r"|missing|undefined|unset|is empty|isn't set|is needed|needs? to be|cannot be empty|No value)"
)
_SAID = re.compile(
    rf"(?<![\w$])({_NAMES})(?!\w)[^\n]{{0,80}}?\b{_WANTING}"
    rf"|\b(?i:required|missing|set|provide|define|specify|no|pass|use|needs?|export|requires?|supply|configure)\b"
    rf"[^\n]{{0,80}}?(?<![\w$-])({_NAMES})(?!\w)"
    rf"|^KeyError: '([A-Z][A-Z0-9_]++)'$"
)
# A list below its heading: “Missing environment variables:”.
_HEADING = re.compile(r"(?i)\b(?:missing|required|not set|must be set|undefined|provide|set)\b")
_ITEM = re.compile(rf"\s*+(?:[-*•❌✗✖·]\s*+|\d+[.)]\s*+)?+[`'\"]?({_NAME})[`'\"]?(?=$|\W)")
# What validators of settings write.
_ZOD = re.compile(
    r"\"path\":\s*\[\s*\"([A-Za-z][A-Za-z0-9]*_\w+)\"\s*\],\s*\"message\":\s*\"(?:Required|[^\"]*received undefined)"
)
_PYDANTIC = re.compile(r"^([A-Za-z][A-Za-z0-9]*_\w+)\n\s+Field required \[type=missing", re.MULTILINE)
_SETTINGS = re.compile(r"validation errors? for \w*(?:Settings|Config|Env|Environment)\b")
# It goes on without.
_OPTIONAL = re.compile(r"(?i)\boptional(?:ly)?\b|\bdefault(?:s|ing)?\b|\bdeprecat|\bfall(?:s|ing)? ?back\b|\bkeyless\b")
# Names of failures and of what steers Node; nobody has a key of that name. Nor is what makes a program load other code
# a key, which would need no new consent, nor what is this program's own.
_NO_KEY = re.compile(
    r"(?:ERR|NODE|NPM|PYTHON|UV|LOG|DEBUG|DYLD|PILOTHOUSE)_|(?:[A-Z]+_)?LOG_LEVEL$"
    r"|(?:LD_(?:PRELOAD|LIBRARY_PATH|AUDIT)|BASH_ENV|JAVA_TOOL_OPTIONS"
    r"|GIT_(?:SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|ASKPASS))$"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m|[\x00-\x08\x0e-\x1f\x7f]")
_HEADER = re.compile(r"(?i)(?<![\w-])((?:x-)?[a-z][a-z0-9-]{0,40}-(?:key|token|secret|auth))(?![\w-])")
_WANTS_HEADER = re.compile(r"(?i)\b(?:missing|required?|provide|header|need|invalid|no)\b")
# A call that was refused for want of a key, in the words of whoever the server asked.
_REFUSED = re.compile(
    r"(?i)\b401\b|unauthori[sz]ed|requires? authentication|authentication (?:failed|required)|bad credentials"
)
# Servers that never name what they want.
_SILENT = {
    "@modelcontextprotocol/server-github": "GITHUB_PERSONAL_ACCESS_TOKEN",
    "@notionhq/notion-mcp-server": "NOTION_TOKEN",
}


def lacking(words: Sequence[str], *, optional: bool = False) -> tuple[Lack, ...]:
    """Return the variables that a server's words say it lacks, each with its line; `optional` those it can do without.

    Where it names one or the other, the first is taken.
    """
    found: dict[str, str] = {}
    for name, line in _named([line[: limits.LACK_LINE_CHARS] for line in words], optional=optional):
        # A line of code that is shown with an error says it too, indented.
        if not _NO_KEY.match(name) and found.get(name, " ").startswith((" ", "\t")):
            found[name] = line
    lacks = [Lack(f"env:{name}", _plain(line)) for name, line in found.items()]
    return tuple(lacks[: limits.LACKS_MOST])


def lacking_in_call(package: str, said: str) -> tuple[Lack, ...]:
    """Return what the answer of a call that failed says the server lacks."""
    said = said[: limits.LACK_CALL_CHARS]
    found = lacking(said.splitlines(), optional=True)
    if not found and _REFUSED.search(said):
        name = _SILENT.get(re.sub(r"(?<=.)@.*$", "", package), "")
        found = (Lack(f"env:{name}", _plain(said)),) if name else ()
    return found


def lacking_header(said: str) -> str:
    """Return the header that a remote server wants a key in, as far as its refusal says."""
    said = said[: limits.LACK_LINE_CHARS]
    named = _HEADER.search(said) if _WANTS_HEADER.search(said) else None
    return named[1] if named else "Authorization"


def _plain(line: str) -> str:
    """Return a server's words on one line, without what only colours or hides them."""
    return " ".join(without_hidden(_COLOUR.sub("", line))[0].split())[: limits.LACK_ABOUT_CHARS]


def _named(lines: Sequence[str], *, optional: bool) -> Iterator[tuple[str, str]]:
    """Yield each variable that is said to be missing, and the line that says so."""
    listing = ""
    for line in lines:
        if not optional and _OPTIONAL.search(line):
            continue
        if listing and (item := _ITEM.match(line)):
            yield item[1], f"{listing} {line.strip()}"
            continue
        is_heading = line.rstrip().endswith(":") and _HEADING.search(line)
        listing = line.strip() if is_heading else ""
        for said in _SAID.finditer(line):
            names = re.findall(_NAME, said[1] or said[2] or "") or [said[3]]
            yield from ((name, line) for name in names)
    whole = "\n".join(lines)
    for said in _ZOD.finditer(whole):
        yield said[1].upper(), f"{said[1]}: required"
    if _SETTINGS.search(whole):
        for said in _PYDANTIC.finditer(whole):
            yield said[1].upper(), f"{said[1]}: field required"
