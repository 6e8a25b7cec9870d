"""Options of ours on both sides of what is to be added: `pilothouse mcp add NAME --choose 2`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand
from typer.exceptions import TyperException

# What starts a command, also where this machine has none of it: whatever stands after it is its own.
_STARTERS = {
    *("npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "bun", "node", "deno", "tsx"),
    *("uvx", "uv", "pipx", "python", "python3", "docker", "podman", "dnx", "dotnet", "java", "go"),
    *("env", "sudo", "sh", "bash", "cmd", "powershell"),
}
_PATH = re.compile(r"[.~]{0,2}[/\\]")
_OF_ANOTHER = {("mcp", "add"), ("mcp", "add-json")}


class OptionsOnBothSides(TyperCommand):
    """A command that takes a server: what follows on a command is its own, what follows on anything else is ours.

    `--` begins a command's own words.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words with the options first, wherever they stand."""
        words = self._words(ctx, args)
        before = args[: len(args) - len(words)]
        own = words.index("--") if "--" in words else len(words)
        after = _after_name(words[:own])
        if before[-1:] == ["--"] or not after:
            return super().parse_args(ctx, args)
        try:
            extra = self._words(ctx, after, anywhere=True)
        except TyperException as error:
            ctx.fail(f"{error.format_message().rstrip('.')}. A command's own words come after “--”.")
        if extra:
            ctx.fail(f"“{extra[0]}” belongs to no option. A command's own words come after “--”.")
        return super().parse_args(ctx, [*before, *after, *words[: own - len(after)], *words[own:]])

    def _words(self, ctx: Any, args: Sequence[str], *, anywhere: bool = False) -> list[str]:
        """Return what is no option: all from the first such word on, or each."""
        parser = self.make_parser(ctx)
        parser.allow_interspersed_args = anywhere
        found, rest, _ = parser.parse_args(list(args))
        return [*(found.get("target") or ()), *rest]


def _after_name(words: Sequence[str]) -> Sequence[str]:
    """Return the options that follow on something that is no command; nothing where there are none."""
    if len(words) < 2 or _is_command(words[0]) or tuple(words[1:3]) in _OF_ANOTHER or "--add-mcp" in words:
        return ()
    # `NAME URL` is one thing, too.
    at = 2 if "://" in words[1] and not words[1].startswith("-") else 1
    return words[at:] if len(words) > at and words[at].startswith("-") and words[at] != "-" else ()


def _is_command(word: str) -> bool:
    return word in _STARTERS or _PATH.match(word) is not None or shutil.which(word) is not None
