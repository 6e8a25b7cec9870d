"""Puts the parts together: the only place that knows them all."""

from pilothouse.web.signals import Stop, stop_on_signals
from pilothouse.wiring.host import OpenHost, Role, open_host
from pilothouse.wiring.serving import (
    bind,
    embedded_is_installed,
    folder_holder,
    page_is_built,
    receiving,
    run_server,
    unless_stopped,
    unreachable,
)

__all__ = [
    "OpenHost",
    "Role",
    "Stop",
    "bind",
    "embedded_is_installed",
    "folder_holder",
    "open_host",
    "page_is_built",
    "receiving",
    "run_server",
    "stop_on_signals",
    "unless_stopped",
    "unreachable",
]
