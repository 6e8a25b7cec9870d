"""A real server whose model answers from the script that a test writes, and the page as a person uses it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from playwright.async_api import BrowserContext, Locator, Page, expect

from pilothouse.types.runs import ENDED
from tests.support.servers import Server
from tests.support.waiting import eventually

Turn = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
HELLO: Turn = "Hello from the script."


# Longer than any test looks at an answer that is held.
HELD = 90.0


class Hold:
    """A place where the model waits until the test has seen what it wants to see."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # A step of a script: nothing comes.
        self.step: dict[str, Any] = {"wait": HELD, "until": str(path)}

    def after_each(self, piece: int) -> dict[str, Any]:
        """Return what holds a text, a thought or a call after its first piece."""
        return {"pieces": piece, "every": HELD, "until": str(self._path)}

    def release(self) -> None:
        """Let the answer go on, without any more pauses."""
        self._path.touch()


class Studio:
    """A data folder, the server on it, and the script of its default model; as a context manager it closes both."""

    def __init__(
        self,
        home: Path,
        config: Mapping[str, Any] | None = None,
        models: Mapping[str, Any] | None = None,
        *,
        database_url: str | None = None,
        certificate: Path | None = None,
        port: int | None = None,
    ):
        self.home = home
        self._certificate = certificate
        self._database_url = database_url
        self.path = home.parent / "script.json"
        self._scripts = 0
        self._holds = 0
        home.mkdir(mode=0o700, parents=True)
        self.script(HELLO)
        every: dict[str, Any] = {
            "script": {
                "name": "Script",
                "provider": "scripted",
                "model": str(self.path),
                "supportsThinking": True,
                "supportsImages": True,
            },
            **(models or {}),
        }
        self._write("models.json", {"defaultModelId": "script", "models": every})
        if config:
            self._write("config.json", {"version": "1.0", **config})
        self.server = Server(home, database_url=database_url, certificate=certificate, port=port)
        self.server.wait_until_up()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.server.close()

    def _write(self, name: str, content: object) -> None:
        (self.home / name).write_text(json.dumps(content), encoding="utf-8")

    @property
    def url(self) -> str:
        return self.server.url

    def script(self, *turns: Turn, loop: bool = False) -> None:
        """Let the model answer like this from now on."""
        # The process counts faults by their turn's number; turns that never answer give each script its own numbers.
        silent = [{"match": "\0", "steps": [""]}] * self._scripts
        self._scripts += len(turns)
        self.path.write_text(json.dumps({"turns": [*silent, *turns], "loop": loop}), encoding="utf-8")

    def hold(self) -> Hold:
        """Return another place where an answer is held."""
        self._holds += 1
        return Hold(self.home.parent / f"go-on-{self._holds}")

    def code(self) -> str:
        """Return a code that signs one browser in."""
        return str(self.server.post("/api/link")["url"].partition("#code=")[2])

    async def open(self, context: BrowserContext, path: str = "/") -> Chat:
        """Open another tab; the first one of a browser signs it in, as a link does."""
        is_first = not await context.cookies(self.url)
        chat = Chat(await context.new_page(), self)
        await chat.go(f"{path}#code={self.code()}" if is_first else path)
        return chat

    def conversation(self, *messages: str, **settings: Any) -> str:
        """Hold a conversation while no page is open, and return its id; it has the first message as its title."""
        made = self.server.post("/api/conversations", {"title": messages[0], "settings": settings}, 201)
        self.say(str(made["id"]), *messages)
        return str(made["id"])

    def say(self, conversation: str, *messages: str) -> None:
        """Send messages without a page, each once the one before is answered."""
        for text in messages:
            sent = self.server.post(f"/api/conversations/{conversation}/messages", {"text": text}, 202)
            self.server.wait_for_run(sent["runId"], "completed")

    def restart(self, dying: tuple[str, int] | None = None) -> None:
        """Start the server again, at the same address."""
        self.server.close()
        self.server = Server(
            self.home,
            database_url=self._database_url,
            port=self.server.port,
            dying=dying,
            certificate=self._certificate,
        )
        self.server.wait_until_up()


class Chat:
    """One tab."""

    def __init__(self, page: Page, studio: Studio) -> None:
        self.page = page
        self.studio = studio
        self.box = page.get_by_role("textbox", name="Message")
        self.timeline = page.get_by_role("region", name="Conversation")
        self.answers = self.timeline.get_by_role("article")
        # The lines of what was done, where that is more than one step.
        self.doings = self.timeline.locator("[data-doings]")
        # What waits for the person stands above the message box.
        self.dock = page.locator("[data-dock]")
        self.stop = page.get_by_role("button", name="Stop", exact=True)
        self.send_button = page.get_by_role("button", name="Send", exact=True)
        self.connection = page.get_by_role("banner").get_by_role("status")

    async def go(self, path: str) -> None:
        await self.page.goto(self.studio.url + path)
        await expect(self.connection).to_have_text("connected")

    @property
    def conversation(self) -> str:
        """The open conversation's id."""
        return self.page.url.partition("/c/")[2].partition("?")[0]

    async def send(self, text: str) -> None:
        """Write a message, send it once it can be sent, and wait until it stands in the conversation."""
        await self.box.fill(text)
        await expect(self.send_button).to_be_enabled()
        await self.box.press("Control+Enter")
        await expect(self.rows("user_message").filter(has_text=text[:80]).last).to_be_visible()

    async def ask(self, text: str) -> Locator:
        """Send a message, wait until all is said, and return the last answer."""
        await self.send(text)
        await self.finished()
        return self.answers.last

    async def has_ended(self) -> bool:
        """Tell whether the server has nothing to do: a page that has yet to hear of a run looks the same."""
        if not self.conversation:
            return True
        path = f"/api/conversations/{self.conversation}?limit=20"
        found = await asyncio.to_thread(self.studio.server.get, path)
        return all(run["status"] in ENDED for run in found["runs"])

    async def finished(self) -> None:
        """Wait until all is said and done, as the page shows it and as the server says."""
        # To wait for the page takes less than to ask the server again and again; a page that has yet to hear of a run
        # shows the button, too.
        await expect(self.send_button).to_be_visible()
        await eventually(self.has_ended, "the end of the run")
        await expect(self.send_button).to_be_visible()

    def rows(self, kind: str) -> Locator:
        """The timeline's items of one kind."""
        return self.timeline.locator(f"[data-kind={kind}]")

    def fold(self, words: str) -> Locator:
        """A line that opens."""
        return self.timeline.get_by_role("button", expanded=False).filter(has_text=words)

    def step(self, words: str) -> Locator:
        """The newest row of a call by its tool's name or some of its words."""
        rows = self.rows("tool_call").locator("[data-phase]")
        return self.rows("tool_call").locator(f'[data-tool="{words}"]').or_(rows.filter(has_text=words)).last

    async def open_steps(self) -> None:
        """Open the last line of what was done, once there is more than one step."""
        await self.doings.last.click()
        await expect(self.doings.last).to_have_attribute("aria-expanded", "true")

    async def open_all_steps(self) -> None:
        """Open every line of what was done."""
        for line in await self.doings.all():
            if await line.get_attribute("aria-expanded") == "false":
                await line.click()

    def snapshot(self) -> Any:
        """The open conversation as the server has it."""
        return self.studio.server.get(f"/api/conversations/{self.conversation}?limit=200")

    async def open_palette(self) -> Locator:
        """Open the palette by its keys and return its field."""
        await self.page.keyboard.press("Control+k")
        field = self.page.get_by_role("dialog").get_by_role("combobox")
        await expect(field).to_be_focused()
        return field

    async def palette(self, typed: str, title: str) -> None:
        """Run a command by some of its letters, once it is what they choose."""
        field = await self.open_palette()
        await field.fill(typed)
        # What concerns a conversation is offered once it is there.
        await expect(self.page.get_by_role("option", selected=True)).to_contain_text(title)
        await field.press("Enter")
