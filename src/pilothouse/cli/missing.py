"""What a run lacked although it went on: servers that are missing, calls that wait for a person's consent."""

from __future__ import annotations

from pilothouse.cli.terminal import Terminal, one_line
from pilothouse.cli.wrapping import say
from pilothouse.runs.selecting import find
from pilothouse.types.errors import PilothouseError
from pilothouse.types.events import Event, ItemCompleted, ItemCreated
from pilothouse.types.host import LOCAL_OWNER, ClientApi


class Missing:
    """Looks at a run's events for what a person must know even where nobody watches."""

    def __init__(self, aside: Terminal) -> None:
        self._aside = aside
        self._servers: dict[str, str] = {}
        # The servers whose calls were refused since nobody has agreed to their command.
        self.consent: dict[str, str] = {}

    def see(self, event: Event) -> None:
        """Look at one event."""
        if isinstance(event, ItemCreated) and event.item.kind == "notice":
            if event.item.data.get("code") == "server_missing":
                say(self._aside, event.item.text, "yellow")
        elif isinstance(event, ItemCreated) and event.item.kind == "tool_call":
            self._servers[event.item.id] = str(event.item.data.get("server") or "")
        elif isinstance(event, ItemCompleted) and event.item_id in self._servers:
            error = event.data.get("error") or {}
            if error.get("code") == "NEEDS_CONSENT":
                self.consent[self._servers[event.item_id]] = str(error.get("message", ""))

    async def tell(self, api: ClientApi) -> bool:
        """Say which servers wait for consent and how to give it; return whether there are any."""
        for name, message in self.consent.items():
            say(self._aside, f"A call was refused: {one_line(message)}", "yellow")
            try:
                slug = find(name, (await api.servers(LOCAL_OWNER)).servers).slug
            except PilothouseError:
                slug = name
            self._aside.line(f"If you agree to its command: pilothouse mcp enable {slug}")
        return bool(self.consent)
