"""What a person says about the times of tools."""

from __future__ import annotations

import msgspec


class ToolTimeouts(msgspec.Struct, frozen=True):
    """What a person sets in `config.json` about the times of tools, in seconds; servers have settings of their own."""

    # Whether times are held to what the model's window suggests.
    align_with_model: bool = True
    # For built-in tools, instead of their own times.
    default: float | None = None
    # By a tool's name; wins over everything else.
    tools: dict[str, float] = {}
