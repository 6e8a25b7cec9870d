"""Calls that are never allowed in bulk: what cannot be taken back, or takes over the machine.

What is not recognised here is asked about like any other call; this only makes some of them stand out. A command is
looked at once from its beginning to its end, however it is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from pilothouse.authz.programs import name_of
from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse

# A word, or a sign after which a command may begin.
_TOKEN = re.compile(r"[;&|()`'\"\n]|[^\s;&|()`'\"]+")
_SIGNS = frozenset(";&|()`'\"\n")
# Words behind which another command begins, with or without options in between.
_LEADING = "env exec nohup time timeout nice setsid xargs command busybox then do else { !"
_BEFORE = frozenset(_LEADING.split())
_PASSED_OVER = re.compile(r"[-\d]|\w+=")
_GIVEN_TEXT = re.compile(r"-\w*c")
_MARKS = str.maketrans("", "", "'\"\\")


def _all(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


class _Sign(msgspec.Struct, frozen=True):
    """Programs, what must stand somewhere behind one of them, and why that is dangerous."""

    programs: str
    behind: tuple[re.Pattern[str], ...]
    why: str


_ADMINISTRATOR = "It takes the rights of the administrator."
_FOLDERS = "It deletes whole folders."
_AWAY = "It throws work away."
_DOWNLOADED = "It runs what it downloads."
_OTHERS = "It rewrites what others have."
_FETCHED = r"\b(?:curl|wget|fetch)\b"
_RUNNING = r"\|\s*(?:sudo\s+)?(?:[\w./-]*/)?(?:(?:ba|z|da|k|fi)?sh|(?:python|perl|ruby|node)\d*)\b"
_SIGNS_OF_DANGER = (
    _Sign("sudo doas pkexec su", (), _ADMINISTRATOR),
    _Sign("rm", _all(r"\s-(?:\w*r|-r)"), _FOLDERS),
    _Sign("find", _all(r"\s-(?:delete\b|(?:exec|ok)\w*\s+\S*\brm\b)"), "It deletes whatever it finds."),
    _Sign("mkfs wipefs shred fdisk parted", (), "It erases disks or files for good."),
    _Sign("dd", _all(r"\bof="), "It writes over a file or a disk."),
    _Sign("shutdown reboot poweroff halt", (), "It switches the machine off."),
    _Sign("chmod chown", _all(r"\s-(?:\w*r\b|-recursive)"), "It changes who may use whole folders."),
    _Sign("git", _all(r"\bpush\b", r"\s(?:--force|-\w*f|--mirror|--delete|\+\S)"), _OTHERS),
    _Sign("git", _all(r"\breset\b", r"\s--hard\b"), _AWAY),
    _Sign("git", _all(r"\bclean\b", r"\s-\w*[fd]"), _AWAY),
    _Sign("git", _all(r"\bfilter-branch\b"), _AWAY),
    _Sign("sh bash zsh dash ksh fish eval source .", _all(rf"(?:[<$]\(|`)\s*{_FETCHED}"), _DOWNLOADED),
    _Sign("crontab", (), "It starts programs by itself, later."),
)
_ANYWHERE = (
    (_all(r">\s*/dev/(?:sd|nvme|vd|hd|mapper)"), "It writes over a disk."),
    (_all(r":\s*\(\s*\)\s*\{"), "It starts itself over and over."),
    (
        _all(r"\b(?:LD_PRELOAD|BASH_ENV|PROMPT_COMMAND|GIT_SSH_COMMAND)="),
        "It changes what other programs run.",
    ),
    (_all(_FETCHED, _RUNNING), _DOWNLOADED),
)


def danger_of(access: Access) -> str:
    """Return why a call must stand out and stand alone; or nothing."""
    if access.dangerous:
        return access.dangerous
    return _command(access.command) if access.command else ""


def _command(command: CommandUse) -> str:
    text = command.text or " ".join(command.argv)
    if len(text) > limits.COMMAND_READ_CHARS:
        return "It is longer than anyone reads."
    # A shell reads `r\m` and `'rm'` as it reads `rm`.
    forms = dict.fromkeys((text, text.replace("\\\n", " ").translate(_MARKS)))
    return next(filter(None, map(_why, forms)), "")


def _why(text: str) -> str:
    first: dict[str, int] = {}
    for name, place in _programs(text):
        first.setdefault(name, place)
    for sign in _SIGNS_OF_DANGER:
        begins = [first[name] for name in sign.programs.split() if name in first]
        if begins and all(_last(pattern, text) > min(begins) for pattern in sign.behind):
            return sign.why
    for (pattern, *behind), why in _ANYWHERE:
        found = pattern.search(text)
        if found is not None and all(_last(each, text) > found.start() for each in behind):
            return why
    return ""


def _programs(text: str) -> Iterator[tuple[str, int]]:
    """Yield what may be started by a command, and where it stands."""
    begins = True
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word in _SIGNS:
            begins = True
        elif not (begins and _PASSED_OVER.match(word)):
            name = name_of(word).casefold()
            if begins:
                yield name.partition(".")[0] or name, token.start()
            begins = name in _BEFORE or _GIVEN_TEXT.fullmatch(word) is not None


def _last(pattern: re.Pattern[str], text: str) -> int:
    return max((found.start() for found in pattern.finditer(text)), default=-1)
