"""What the browser complains about."""

from __future__ import annotations

from playwright.async_api import ConsoleMessage, Page


class Console:
    """Gathers what the browser complains about; a test may expect a complaint and say so."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._expected: list[str] = []

    def watch(self, page: Page) -> None:
        """Listen to a page."""
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.errors.append(f"page error: {error}"))

    def expect(self, part: str) -> None:
        """Allow complaints that contain this text, in this test."""
        self._expected.append(part)

    def expect_restart(self) -> None:
        """Allow what a browser says when a server is away and then, started anew, wants to be shown the key again."""
        for part in ("ERR_CONNECTION_REFUSED", "WebSocket", "401"):
            self.expect(part)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            place = message.location.get("url", "")
            self.errors.append(f"console: {message.text} ({place})")

    @property
    def unexpected(self) -> list[str]:
        """Return the complaints that no one expected."""
        return [error for error in self.errors if not any(part in error for part in self._expected)]
