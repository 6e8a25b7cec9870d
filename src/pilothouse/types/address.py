"""Where the process is that has the data folder, for the others that talk to it."""

from __future__ import annotations

import hashlib
import hmac
from typing import Literal

from pilothouse.types.json import Frozen

# In the data folder, mode 0600, for as long as that process listens.
ADDRESS_FILE = "server.json"


# Where a command sends what only the process that wrote the file can answer to, and where the answer stands.
CHALLENGE = "x-pilothouse-challenge"
PROOF = "x-pilothouse-proof"


def proof_of(token: str, challenge: str) -> str:
    """Return what shows that whoever answers has the token, without sending it."""
    return hmac.new(token.encode(), f"pilothouse server {challenge}".encode(), hashlib.sha256).hexdigest()


class ServerAddress(Frozen, frozen=True):
    """Whoever listens: its address, its process, and a token that only this account can read."""

    url: str
    pid: int
    token: str
    # A server stays until it is stopped; a command listens only for as long as it has something of its own to do.
    kind: Literal["server", "command"] = "server"
    # The SHA-256 fingerprint of its certificate, when it speaks TLS: no other program has the key to that.
    certificate: str = ""
    # Whether others on the network reach it.
    exposed: bool = False

    @property
    def port(self) -> int:
        """Return the port it listens on."""
        return int(self.url.rpartition(":")[2])
