"""The address of a server, with headers, made into what could be added."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from pilothouse.mcp.proposals.blanks import FIELD, Blanks
from pilothouse.mcp.proposals.open_values import Sorted
from pilothouse.mcp.servers.entries import check_url, derived_name, shown_url
from pilothouse.types.proposals import Proposal
from pilothouse.types.servers import ManualSource, Package, ServerInput, Wire

_UNENCRYPTED = "Its address is not encrypted: what is sent there can be read and changed on the way."
ADDRESS = re.compile(r"(?i)(https?|wss?)://\S+")
WIRES: dict[str, Wire] = {
    "http": "auto",
    "streamable-http": "streamable",
    "streamable_http": "streamable",
    "sse": "sse",
    "ws": "websocket",
    "websocket": "websocket",
}


class Address(msgspec.Struct, frozen=True):
    """An address with what belongs to it."""

    url: str
    name: str = ""
    wire: Wire = "auto"
    headers: Mapping[str, str] = {}
    notes: tuple[str, ...] = ()
    source: ManualSource = ManualSource()


def proposal_of(address: Address, blanks: Blanks | None = None) -> Proposal:
    """Return the server at an address; raise a BadField for what is none."""
    url, blanks = address.url, blanks or Blanks()
    check_url(FIELD.sub("x", url))
    headers = Sorted("header", blanks)
    for each, value in address.headers.items():
        headers.put(each, value)
    name = address.name or derived_name(Package(type="http", identifier=url))
    is_open = urlsplit(url).scheme in ("http", "ws") and not _is_here(url)
    return Proposal(
        name=name,
        kind="http",
        runs=shown_url(url),
        server=ServerInput(
            name=address.name, url=url, wire=address.wire, headers=headers.secret, plain_headers=headers.plain
        ),
        source=address.source,
        fields=blanks.fields,
        auth_type="api_key" if headers.secret and blanks.auth_type == "none" else blanks.auth_type,
        warnings=(_UNENCRYPTED,) if is_open else (),
        notes=address.notes,
    )


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
