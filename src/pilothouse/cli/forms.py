"""What was typed into a form of options."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def require_change(form: DataclassInstance, command: str) -> None:
    """Raise one sentence when nothing was given that an `edit` could change."""
    # A list that was not given may come as an empty one.
    if all(getattr(form, field.name) in (field.default, [], ()) for field in fields(form)):
        raise PilothouseError("bad_request", "There is nothing to change.", fix=f"Say what: {command} --help lists it.")
