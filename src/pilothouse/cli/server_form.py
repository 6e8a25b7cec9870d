"""What a person says about an MCP server on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# As in `types.servers`, which takes longer to import than all of `--help` may.
Wire = Literal["auto", "streamable", "sse", "websocket"]
Era = Literal["auto", "modern", "handshake"]


@dataclass(frozen=True, kw_only=True)
class ServerForm:
    """What was given for a server; None was not given and stays as it is."""

    name: str | None = None
    command_line: str | None = None
    url: str | None = None
    env: Sequence[str] | None = None
    secret_env: Sequence[str] | None = None
    header: Sequence[str] | None = None
    secret_header: Sequence[str] | None = None
    # What stands as ${secret:NAME} in the other texts.
    secret: Sequence[str] | None = None
    # Whether to read a bearer token from the terminal or from what is piped in.
    token: bool = False
    cwd: str | None = None
    wire: Wire | None = None
    era: Era | None = None
    timeout: float | None = None
    tool_timeout: Sequence[str] | None = None
    always_on: bool | None = None
    per_conversation: bool | None = None
    read_only: bool | None = None
    cannot_send: bool | None = None
    sandbox: bool | None = None
    network: bool | None = None
    root: Sequence[str] | None = None
    trust_certificate: str | None = None
