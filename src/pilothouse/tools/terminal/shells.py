"""The shells people may choose, and how each is started without anyone's start files."""

from __future__ import annotations

import shutil

from pilothouse.types.errors import PilothouseError

# Start files often export keys, and a model's commands should mean the same everywhere.
_SESSIONS: dict[str, tuple[str, ...]] = {
    "bash": ("--noprofile", "--norc"),
    "zsh": ("-f",),
    "fish": ("--no-config",),
    "sh": (),
}
_PROMPTS = {"bash": r"\w \$ ", "zsh": "%~ %# ", "sh": "$ "}


def session_command(shell: str) -> tuple[str, ...]:
    """Return how a shell is started that someone types at."""
    program = shutil.which(shell)
    if program is None:
        raise PilothouseError(
            "bad_config",
            f"The shell {shell} is not installed.",
            fix="Choose another one in the settings, under Terminal.",
        )
    return (program, *_SESSIONS[shell])


def session_environment(shell: str) -> dict[str, str]:
    """Return the variables of such a shell; it keeps no history of its own."""
    prompt = {"PS1": _PROMPTS[shell]} if shell in _PROMPTS else {}
    return {**prompt, "HISTFILE": "", "SHELL": shutil.which(shell) or shell}


def text_command(text: str) -> tuple[str, ...]:
    """Return how a command given as text is run.

    Always by bash, or by sh where there is none: what was allowed was read as that shell reads it.
    """
    bash = shutil.which("bash")
    return (bash, "--noprofile", "--norc", "-c", text) if bash else (shutil.which("sh") or "/bin/sh", "-c", text)
