"""What a person says about the times of tools."""

from typing import Annotated

from msgspec import field

from pilothouse.types.json import Frozen
from pilothouse.types.setting import Setting

_PART = "Times of built-in tools"


class ToolTimeouts(Frozen, frozen=True):
    """What a person sets about the times of tools, in seconds; servers have settings of their own."""

    # For built-in tools, instead of their own times.
    default: Annotated[
        float | None,
        Setting(
            part=_PART,
            label="Seconds that a call may take",
            note="Left empty, each tool has its own time: a command ten minutes, reading a file half a minute.",
            usual="Their own",
        ),
    ] = None
    # Whether times are held to what the model's window suggests.
    align_with_model: Annotated[
        bool,
        Setting(
            part=_PART,
            label="Hold them to the model’s context window",
            note="With a small model calls end sooner, after a minute at the earliest: it could not read more anyway.",
        ),
    ] = True
    # By a tool's name; wins over everything else.
    tools: dict[str, float] = field(default_factory=dict)
