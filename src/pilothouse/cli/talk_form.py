"""What `run` and `chat` are told about the talk to have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pilothouse.cli.form_options import given


@dataclass(frozen=True, kw_only=True)
class TalkForm:
    """Which conversation, which model, which folder, which servers."""

    model: str | None = None
    conversation: str | None = None
    system: str | None = None
    folder: str | None = None
    mode: str | None = None
    # As they were typed: NAME or NAME:TOOL,TOOL.
    server: Sequence[str] | None = None
    allow: Sequence[str] | None = None
    thinking: bool | None = None


_ONLY = "Use this MCP server, or only these tools of it, instead of the usual ones; may be given more than once."
_MODE = "What needs no question: ask, auto_edit (files in the folder), read_only, or auto_approve."
_NEVER = "Do not ask before this tool is called, SERVER.* for all of a server; may be given more than once."

# One for each field of the form.
FORM = (
    given(str | None, "--model", "-m", help="A model's id, or scripted:FILE."),
    given(str | None, "--conversation", "-c", help="Go on with this conversation, by its id."),
    given(str | None, "--system", "-s", help="The conversation's system prompt."),
    given(str | None, "--folder", "-f", metavar="DIR", help="The folder that it works in."),
    given(str | None, "--mode", metavar="MODE", help=_MODE),
    given(list[str] | None, "--server", metavar="NAME[:TOOL,TOOL]", help=_ONLY),
    given(list[str] | None, "--allow", metavar="SERVER.TOOL", help=_NEVER),
    given(bool | None, "--thinking/--no-thinking", help="Ask the model to think first, or not to."),
)
