"""What everything else of a host stands on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from pilothouse.helper.client import Helper
from pilothouse.secrets.redaction import Redactor
from pilothouse.secrets.sealing import Sealer
from pilothouse.secrets.store import SecretStore
from pilothouse.settings.config import ConfigService
from pilothouse.settings.home import Home
from pilothouse.settings.json_file import JsonFile
from pilothouse.store.connections import Connections
from pilothouse.store.opening import OpenStore
from pilothouse.timeline.feed import Feed

if TYPE_CHECKING:
    from pilothouse.types.shared import OpenJson, SharedParts

# Where OpenTelemetry's own settings say that something is to be sent; all of those are its to read.
TRACE_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)


class Foundation(msgspec.Struct, frozen=True):
    """The data folder, the database, the settings, the secrets, and who is told of changes."""

    home: Home
    opened: OpenStore
    config: ConfigService
    secrets: SecretStore
    redactor: Redactor
    feed: Feed
    # Reads what strangers wrote: files of projects, settings of other programs.
    helper: Helper
    # Keeps what nobody may read, or write in our place.
    sealer: Sealer
    # The connections to a database elsewhere.
    connections: Connections
    # Where the settings are: files, or rows of a database that others share.
    open_json: OpenJson = JsonFile
    # Waits until what is known of shared settings is what the database has now; files are always looked at.
    confirm: Callable[[], Awaitable[None]] | None = None
    # What other processes share; None where there are none.
    shared: SharedParts | None = None
