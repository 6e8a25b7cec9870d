"""Asking a person at a terminal, in between."""

from __future__ import annotations

import sys

from pilothouse.cli.terminal import Terminal


def someone_is_there(aside: Terminal) -> bool:
    """Return whether a person sees a question on this terminal and can answer it."""
    return aside.is_terminal and sys.stdin is not None and sys.stdin.isatty()


async def read_line(prompt: str, aside: Terminal) -> str | None:
    """Return what the person types, None when they leave with Ctrl-C or Ctrl-D."""
    # The line editor takes 0.3 s to import; most commands never ask.
    from prompt_toolkit import PromptSession
    from prompt_toolkit.output import create_output

    aside.fresh_line()
    session: PromptSession[str] = PromptSession(output=create_output(stdout=sys.stderr))
    try:
        return await session.prompt_async(prompt)
    except (KeyboardInterrupt, EOFError):
        return None


async def yes(question: str, aside: Terminal) -> bool:
    """Ask a question whose answer is no unless it is yes."""
    answer = await read_line(f"{question} [y/N] ", aside)
    return answer is not None and answer.strip().lower() in ("y", "yes")
