"""The providers as people choose them, for whoever lists them."""

from __future__ import annotations

from functools import cache

from pilothouse.models.provider_table import rows
from pilothouse.types.models import ProviderView


@cache
def provider_list() -> tuple[ProviderView, ...]:
    """Return them in the order in which people are shown them."""
    names = ProviderView.__struct_fields__
    return tuple(ProviderView(**{name: getattr(row, name) for name in names}) for row in rows().values())
