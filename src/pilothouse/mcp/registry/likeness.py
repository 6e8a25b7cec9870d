"""Names that look alike: which servers a person may take for each other, and who published them.

Two names are compared by their skeletons: letters that pass for others are those others, what separates words is gone,
and so are the words that every server has in its name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

# Letters that pass for a Latin one, in the scripts that names are written in, and digits that do.
_ALIKE = str.maketrans(
    {
        **dict(zip("авсԁеһіјкӏмопрԛгѕтսѵԝхуҮᴢ", "abcdehijklmonpqrstuvwxyyz", strict=True)),
        **dict(zip("αβγδεικνορτυχωηϲϳ", "abydeiknoptuxwncj", strict=True)),
        "ı": "i",
        "ł": "l",
        "ø": "o",
        "đ": "d",
        "ß": "ss",
    }
)
_PAIRS = (("rn", "m"), ("vv", "w"))
# Within a word a digit passes for a letter; at its end it is a number.
_DIGITS = str.maketrans("0135", "oles")
_IN_WORD = re.compile(r"(?<![0135])[0135]++(?=[a-z])")
_SEPARATORS = re.compile(r"[\W_]+")
_GENERIC = frozenset({"mcp", "server", "servers", "mcpserver", "official", "the", "app", "for"})
# Those that say nothing about who publishes something: they are of the host or the kind of address.
_HOSTS = frozenset(
    {
        "io",
        "com",
        "org",
        "net",
        "dev",
        "ai",
        "app",
        "co",
        "github",
        "gitlab",
        "www",
        "mcp",
        "api",
        "me",
        "us",
        "eu",
        "uk",
    }
)
# Namespaces that anyone can have.
_ANYONES = ("io.github.", "io.gitlab.")
# Shorter skeletons are alike too often by chance.
_LEAST = 5
# Longer words are no words.
_LONGEST = 24


@lru_cache(maxsize=4096)
def skeleton(text: str) -> str:
    """Return a text as it looks, without separators and without words that every server has."""
    words = [word for word in _SEPARATORS.split(_as_seen(text)) if word]
    telling = [word for word in words if word not in _GENERIC]
    return "".join(telling or words)


def _as_seen(text: str) -> str:
    if text.isascii():
        seen = text.lower()
    else:
        # What has a mark above or below it looks like the bare letter at a glance.
        bare = "".join(each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each))
        seen = bare.casefold().translate(_ALIKE)
    seen = _IN_WORD.sub(lambda found: found[0].translate(_DIGITS), seen)
    for pair, one in _PAIRS:
        seen = seen.replace(pair, one)
    return seen


def tail(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition("/")[2]


@lru_cache(maxsize=4096)
def publishers(name: str) -> frozenset[str]:
    """Return the words of a name's namespace that say who publishes it.

    "io.github.owner/x" and "@owner/x" have `owner`, "com.stripe/x" has `stripe`; without a namespace it is the name.
    """
    space, sign, rest = name.rpartition("/")
    labels = (space if sign else rest).lstrip("@").lower().split(".")
    telling = [each for each in labels if each and each not in _HOSTS]
    # GitHub publishes as "io.github.github".
    return frozenset(telling or labels[-1:])


def same_publisher(one: str, other: str) -> bool:
    """Return whether two names are of the same publisher, by the letters and not by how they look."""
    return bool(publishers(one) & publishers(other))


def is_of_its_owner(name: str) -> bool:
    """Return whether the publisher is who the server is named after: "io.github.github/github-mcp-server"."""
    if name.startswith(_ANYONES) and _is_generic(tail(name)):
        return False
    named = _named(name)
    owners = {skeleton(each) for each in publishers(name)} if "/" in name else set()
    return bool(named) and any(len(owner) >= 3 and named.startswith(owner) for owner in owners)


def _is_generic(name: str) -> bool:
    return all(word in _GENERIC for word in _SEPARATORS.split(name.lower()) if word)


def _named(name: str) -> str:
    """Return how a name without its namespace looks; "com.stripe/mcp" is named after its publisher."""
    if _is_generic(tail(name)):
        return skeleton(" ".join(sorted(publishers(name))))
    return skeleton(tail(name))


def looks(name: str, title: str) -> frozenset[str]:
    """Return how a server looks, by its name and its title, and how its publisher does."""
    found = {f"name {each}" for each in (_named(name), skeleton(title)) if len(each) >= _LEAST}
    return frozenset(found | {f"by {each}" for each in map(skeleton, publishers(name)) if len(each) >= _LEAST})


def near(look: str) -> Iterator[str]:
    """Yield a look and those with a letter less: two that share one are at most a letter and a swap apart."""
    yield look
    kind, _, word = look.partition(" ")
    # In a short one a letter more or less is another word.
    if len(word) > _LEAST:
        # Another number is another thing: digits stay.
        yield from {f"{kind} {word[:at]}{word[at + 1 :]}" for at, each in enumerate(word) if not each.isdigit()}


# --- words as they are spelled -------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+")


def plain_words(text: str) -> list[str]:
    """Return the words of a text in small letters."""
    return _WORD.findall((text if text.isascii() else unicodedata.normalize("NFKC", text)).casefold())


def without_a_letter(word: str) -> Iterator[str]:
    """Yield a word with each of its letters left out; two words that are a slip apart share one of these."""
    # A slip in a short word makes another one.
    if 4 <= len(word) <= _LONGEST:
        yield from {word[:at] + word[at + 1 :] for at in range(len(word))}
