"""What a person says about a model on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# As in `types.models`, which takes longer to import than all of `--help` may.
ToolCalls = Literal["auto", "native", "text", "constrained"]
Switch = Literal["on", "off", "default"]


@dataclass(frozen=True, kw_only=True)
class ModelForm:
    """What was given for a model; None was not given and stays as it is."""

    name: str | None = None
    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    # "env:NAME", "secret:NAME" or empty for none.
    key_source: str | None = None
    # Whether to read a key from the terminal or from what is piped in.
    key: bool = False
    context_window: int | None = None
    max_tokens: int | None = None
    thinking: bool | None = None
    images: bool | None = None
    tool_calls: ToolCalls | None = None
    # The provider's own tools.
    web_search: Switch | None = None
    code_execution: Switch | None = None
    url_context: Switch | None = None
