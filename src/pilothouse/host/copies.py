"""A branch that goes on as a conversation of its own: what it is called, and what it may do."""

from __future__ import annotations

import time

import msgspec

from pilothouse.host.modes import harmless
from pilothouse.types import limits
from pilothouse.types.branch_views import NewCopy
from pilothouse.types.conversations import Conversation, clean_title
from pilothouse.types.errors import PilothouseError
from pilothouse.types.ids import new_id
from pilothouse.types.item_data import NoticeData
from pilothouse.types.items import Item, new_item, patch
from pilothouse.types.runs import Run

# The code of the notice that says where a conversation came from.
COPIED = "copied_from"
_MARK = " (branch)"


def begun(of: Conversation, run: Run, wish: NewCopy) -> tuple[Conversation, Item]:
    """Return the conversation that a copy up to a run is to be, and what stands at its end."""
    now = time.time()
    given = clean_title(wish.title) if wish.title is not None else None
    if given == "":
        raise PilothouseError("bad_request", "A title needs at least one character.")
    made = msgspec.structs.replace(
        of,
        id=new_id("c"),
        title=given or _marked(of.title),
        title_source="model" if given is None else "person",
        # The mode that asks nothing was chosen for the other one.
        settings=harmless(of.settings),
        created_at=now,
        updated_at=now,
        last_seq=0,
        branch=0,
        branches=0,
    )
    text = f"Everything above comes from “{of.title or 'another conversation'}”, of which this is a branch."
    data = patch(NoticeData, level="info", code=COPIED, conversation=of.id, run=run.id)
    return made, new_item(made.id, "notice", text=text, data=data)


def _marked(title: str) -> str:
    """Return the title of a copy: that of the original, and that it is one, once."""
    return f"{clean_title(title.removesuffix(_MARK))[: limits.TITLE_CHARS - len(_MARK)]}{_MARK}".strip()
