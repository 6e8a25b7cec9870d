"""What happens to calls, for whoever wants to know. Whoever tells does not know who listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

NotificationKind = Literal["input_required", "response_received", "tool_progress", "tool_error", "image_display"]


class Notification(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that happened; `item_id` is the question or the call that it happened to."""

    kind: NotificationKind
    conversation_id: str
    item_id: str
    # The model's id of the call that asks, where something is asked.
    tool_call_id: str = ""
    # What is asked, or how far a call is, or what went wrong.
    prompt: str = ""
    context: str = ""


Observer = Callable[[Notification], None]
