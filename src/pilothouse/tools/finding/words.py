"""Words of names, descriptions and questions, in the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

# Each step takes linear time, whatever a stranger wrote: nothing in them can be matched in two ways.
_WORD = re.compile(r"[^\W_]++")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# A word of more letters is data; what it begins with still tells it from others.
_LONGEST = 40
# They only look like another word's forms.
_AS_THEY_ARE = frozenset({"news", "series", "species", "during", "nothing", "something", "anything", "everything"})
_VOWELS = frozenset("aeiouy")
# Words that stand in every question and tell no tool from another.
_EMPTY = """
a about an and any are as at be been but by can could did do does for from had has have he her here him his how i if
in into is it its just let like me more my need no not now of off on one or our out please she should so some than
that the their them then there these they this those to too up us use used using want was we were what when where
which while who whose why will with would yes you your
"""
# Words that people use for each other when they speak of what a program does. One group a line; a word may be in
# several. What was said counts more than what was meant by another word.
_GROUPS = """
create add new make insert write start
delete remove erase drop destroy clear
update edit change modify set patch replace rename
get read show view retrieve fetch display see open give
list show all enumerate overview
search find look query locate lookup
send post tell write publish notify say
answer reply respond response
run execute exec start launch call
stop end cancel kill terminate abort
close shut quit exit
move rename relocate transfer
copy duplicate clone fork
upload attach attachment push
download fetch get save export
folder directory
file document
picture image photo screenshot
video recording screencast
message chat text
mail email
person user people member contact account
issue ticket bug
pr pull
repository repo project
page website site web webpage
url link address
tab window page
press click tap push
type enter fill
choose select pick
form field input
table sheet spreadsheet
row record entry
column field
comment note remark
remember memory store save
history log past
log output
error failure problem
version release revision
time clock hour
place location spot
route direction way
distance far
height elevation altitude
map geography
server host
container pod
replica copy scale
command shell terminal
internet web online
label tag
permission access
password secret credential
calendar schedule event appointment
difference diff change
check status state
review approve
join merge combine
size big large
"""


def words(text: str) -> list[str]:
    """Return the words of a text as they are compared; `createIssue`, `create_issue` and `Create issues` are alike."""
    plain = unicodedata.normalize("NFKC", text)
    return [stem(part.lower()) for word in _WORD.findall(plain) for part in _parts(word[:_LONGEST])]


def _parts(word: str) -> list[str]:
    """Return a word, and what it is put together from: people write `JavaScript` in both ways."""
    parts = _HUMP.split(word)
    return [word, *parts] if len(parts) > 1 else parts


def asked(text: str) -> list[str]:
    """Return the words of a question that tell something, each once; all of them where none does."""
    found = list(dict.fromkeys(words(text)))
    return [word for word in found if word not in _STEMS_OF_EMPTY] or found


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """Return a word without the endings of English that change its form and not what it is about."""
    if len(word) <= 3 or word in _AS_THEY_ARE or not word.isascii():
        return word
    word = _singular(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        if rest != word and len(rest) >= 3 and _VOWELS.intersection(rest):
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    if len(word) >= 8 and word.endswith(("tion", "sion")):
        word = word[:-3]
    if len(word) >= 9 and word.endswith("ment"):
        word = word[:-4]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _grouped(groups: Iterable[str]) -> dict[str, frozenset[str]]:
    others: dict[str, set[str]] = {}
    for group in groups:
        stems = {stem(word) for word in group.split()}
        for word in stems:
            others.setdefault(word, set()).update(stems - {word})
    return {word: frozenset(found) for word, found in others.items()}


_STEMS_OF_EMPTY = frozenset(map(stem, _EMPTY.split()))
# Other words for a word.
ALIKE = _grouped(filter(None, _GROUPS.splitlines()))
