"""Which letters the bytes of a page are: by their first bytes, by its server's word, or by its own."""

from __future__ import annotations

import codecs
import re

from pilothouse.types import limits

_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_DECLARED = re.compile(rb"""charset\s{0,9}=\s{0,9}["']?([A-Za-z0-9_:.-]{1,40})""", re.IGNORECASE)
# What pages are written in, as Python calls it; whatever else one names (there are encodings that run far beyond
# letters) is read as what nearly all of them are.
_KNOWN = frozenset(
    {
        *("utf-8", "utf-16-le", "utf-16-be", "utf-16", "koi8-r", "koi8-u", "mac-roman", "shift_jis", "cp932"),
        *("euc_jp", "iso2022_jp", "gb18030", "gbk", "big5", "big5hkscs", "euc_kr", "cp949", "cp874"),
        *(f"cp125{number}" for number in range(9)),
        *(f"iso8859-{number}" for number in (*range(2, 12), 13, 14, 15, 16)),
    }
)
# What browsers take these for.
_WIDER = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "tis-620": "cp874"}


def text_of(data: bytes, content_type: str) -> str:
    """Return the text that bytes are, with a mark for each that is none."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    said = _DECLARED.search(content_type.encode("ascii", "replace")) or _DECLARED.search(
        data, 0, limits.WEB_CHARSET_BYTES
    )
    if said and (name := _known(said[1].decode("ascii"))):
        return data.decode(name, "replace")
    try:
        # The end may have been cut off in the middle of a letter.
        return codecs.getincrementaldecoder("utf-8")("strict").decode(data)
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _known(label: str) -> str:
    try:
        name = codecs.lookup(label).name
    except LookupError:
        return ""
    name = _WIDER.get(name, name)
    return name if name in _KNOWN else ""
