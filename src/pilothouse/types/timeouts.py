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


class ToolTimeoutsPatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Changes to the times of tools; an absent field stays."""

    align_with_model: bool | msgspec.UnsetType = msgspec.UNSET
    # Null for each tool's own.
    default: float | msgspec.UnsetType | None = msgspec.UNSET
    # By a tool's name; others stay, and null takes one back.
    tools: dict[str, float | None] = {}
