"""What is known about wires before anyone asks them: their names and addresses."""

from __future__ import annotations

import msgspec

from pilothouse.models.provider_table import filled, rows
from pilothouse.types.models import ModelConfig, Provider

EMBEDDED_NAME = "SmolLM2 135M (built in)"
EMBEDDED_NOTE = (
    "Runs on this machine without a key and shows that everything works. "
    "It is far too small for real questions or for using tools; add a larger model for those."
)
# These run in this process: they have no address and no key.
LOCAL: frozenset[Provider] = frozenset(row.wire for row in rows().values() if row.inside)


def address_of(config: ModelConfig) -> str:
    """Return where a model's requests go: its own address, else its provider's, else the first of its wire."""
    if config.base_url:
        return config.base_url
    if config.service:
        return filled(row.base_url) if (row := rows().get(config.service)) else ""
    return next((filled(row.base_url) for row in rows().values() if row.wire == config.provider and row.base_url), "")


def with_address(config: ModelConfig) -> ModelConfig:
    """Return the configuration with its address filled in."""
    return msgspec.structs.replace(config, base_url=address_of(config))
