"""Calls that are never allowed in bulk: what cannot be taken back, or takes over the machine.

What is not recognised here is asked about like any other call; this only makes some of them stand out.
"""

from __future__ import annotations

import re

from pilothouse.types import limits
from pilothouse.types.access import Access, CommandUse

# A word where a command may begin: at the start, after an operator, behind `env`, `exec` and the like.
_BEGIN = r"(?:^|[;&|(`\n]|\$\(|\b(?:env|exec|nohup|time|xargs|command|then|do)\s)\s*(?:\w+=\S*\s+)*(?:[\w./-]*/)?"
_COMMANDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), why)
    for pattern, why in (
        (rf"{_BEGIN}(?:sudo|doas|pkexec|su)\b", "It takes the rights of the administrator."),
        (rf"{_BEGIN}rm\b(?=.*\s-(?:\w*r|-recursive))", "It deletes whole folders."),
        (rf"{_BEGIN}(?:mkfs(?:\.\w+)?|wipefs|shred|fdisk|parted)\b", "It erases disks or files for good."),
        (rf"{_BEGIN}dd\s.*\bof=", "It writes over a file or a disk."),
        (r">\s*/dev/(?:sd|nvme|vd|hd|mapper)", "It writes over a disk."),
        (rf"{_BEGIN}(?:shutdown|reboot|poweroff|halt)\b", "It switches the machine off."),
        (rf"{_BEGIN}ch(?:mod|own)\b(?=.*\s-(?:\w*r\b|-recursive))", "It changes who may use whole folders."),
        (
            rf"{_BEGIN}git\s(?=.*\bpush\b)(?=.*\s(?:--force\S*|-f|--mirror|--delete|\+\S+)(?:\s|$))",
            "It rewrites what others have.",
        ),
        (rf"{_BEGIN}git\s(?=.*\b(?:reset\s.*--hard|clean\s.*-\w*[fd]|filter-branch)\b)", "It throws work away."),
        (
            r"\b(?:curl|wget|fetch)\b.*\|\s*(?:sudo\s+)?(?:[\w./-]*/)?(?:ba|z|da|k|fi)?sh\b",
            "It runs what it downloads.",
        ),
        (r"\b(?:curl|wget|fetch)\b.*\|\s*(?:python|perl|ruby|node)\d*\b", "It runs what it downloads."),
        (r":\s*\(\s*\)\s*\{", "It starts itself over and over."),
        (rf"{_BEGIN}crontab\b", "It starts programs by itself, later."),
        (r"\b(?:LD_PRELOAD|BASH_ENV|PROMPT_COMMAND|GIT_SSH_COMMAND)=", "It changes what other programs run."),
    )
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
    return next((why for pattern, why in _COMMANDS if pattern.search(text)), "")
