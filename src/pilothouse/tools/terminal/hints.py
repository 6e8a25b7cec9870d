"""What a command's last words mean here: one sentence each, where the words alone would puzzle."""

from __future__ import annotations

import re

_NETWORK = "The command had no network. If it needs one, ask for it with `network`: true."
_HINTS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), sentence)
    for pattern, sentence in (
        (
            r"\bsudo:|no new privileges|must be setuid root|Permission denied.{0,200}\bsu\b|su: ",
            "Commands have no administrator's rights and cannot get them.",
        ),
        (
            r"problem with the editor|editor '?false|Aborting commit due to empty commit message",
            "There is no editor here: give the text as an option, such as -m.",
        ),
        (
            r"EOFError|EOF when reading|terminal is required|not a (?:tty|terminal)|/dev/tty|terminal prompts disabled"
            r"|Inappropriate ioctl for device|could not read (?:Username|Password)|no askpass",
            "Nobody can type here: the command has neither input nor a terminal. "
            "Give what it asks for as an argument, or use create_session and send_input.",
        ),
        (
            r"Read-only file system|Device or resource busy",
            "Only the working directory and /tmp can be written to; and in them not what makes other programs run "
            "something by themselves, such as hooks and settings of build servers, editors and agents. "
            "Change such a file with file_operations.",
        ),
        (r"Disk quota exceeded|No space left on device", "The disk is full."),
        (r"Resource temporarily unavailable|Cannot fork|can't start new thread", "It started too many processes."),
    )
)
_UNREACHED = re.compile(
    r"Network is unreachable|Could not resolve|name resolution|EAI_AGAIN|Name or service not known|ENETUNREACH"
    r"|nodename nor servname|Unknown host|getaddrinfo",
    re.IGNORECASE,
)
# How the kernel ends what goes beyond its bounds: 128 and the number of the signal.
_SIGNALS = {
    137: "It was killed; most often that means too much memory.",
    152: "It used up its processor time.",
    153: "It wrote a file that is larger than a command may write.",
}
_LAST_WORDS = 4_000


def hint(exit_code: int, output: str, network: bool) -> str:
    """Return what helps with a command that failed; nothing where its own words say it all."""
    if exit_code == 0:
        return ""
    last = output[-_LAST_WORDS:]
    if not network and _UNREACHED.search(last):
        return _NETWORK
    found = (sentence for pattern, sentence in _HINTS if pattern.search(last))
    return next(found, _SIGNALS.get(exit_code, ""))
