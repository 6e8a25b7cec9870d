"""Where a running server is, for the commands that talk to it."""

from __future__ import annotations

from pilothouse.types.json import Frozen

# In the data folder, mode 0600, for as long as the server runs.
ADDRESS_FILE = "server.json"


class ServerAddress(Frozen, frozen=True):
    """A running server: its address, its process, and a token that only this account can read."""

    url: str
    pid: int
    token: str
