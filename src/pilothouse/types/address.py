"""Where the process is that has the data folder, for the others that talk to it."""

from __future__ import annotations

from typing import Literal

from pilothouse.types.json import Frozen

# In the data folder, mode 0600, for as long as that process listens.
ADDRESS_FILE = "server.json"


class ServerAddress(Frozen, frozen=True):
    """Whoever listens: its address, its process, and a token that only this account can read."""

    url: str
    pid: int
    token: str
    # A server stays until it is stopped; a command listens only for as long as it has something of its own to do.
    kind: Literal["server", "command"] = "server"

    @property
    def port(self) -> int:
        """Return the port it listens on."""
        return int(self.url.rpartition(":")[2])
