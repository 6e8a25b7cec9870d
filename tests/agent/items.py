"""Items as a run leaves them, without a database."""

from __future__ import annotations

from pilothouse.types.items import Item, ItemKind, ItemStatus
from pilothouse.types.models import ModelConfig

A_MODEL = ModelConfig(id="m", name="M", provider="scripted")


def item(
    position: int, kind: ItemKind, text: str = "", status: ItemStatus = "completed", run: str = "r1", /, **data: object
) -> Item:
    """Return an item of run `r1`, unless told otherwise; what follows the slash is its data."""
    return Item(
        id=f"i{position}",
        conversation_id="c",
        run_id=run,
        kind=kind,
        status=status,
        position=position,
        text=text,
        raw=dict(data),
        created_at=0.0,
        updated_at=0.0,
    )
