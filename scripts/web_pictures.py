"""The pictures of the web: its settings, a page that was read, a picture that was made."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import BrowserContext, expect

from tests.browser.studio import Chat, Studio
from tests.support.tiny_http import Answer, Request, TinyHttp

Keep = Callable[[Chat, str], Awaitable[None]]
WIDTH, HEIGHT = 1024, 640
_SKY, _GLOW, _SEA, _DEEP = (38, 70, 108), (244, 190, 130), (28, 92, 110), (12, 42, 58)
_HULL, _SAIL, _SUN = (92, 46, 34), (250, 244, 230), (255, 226, 160)
ANSWER = "A small sloop on a calm evening sea. Say if the sail should be red, as the Havsule's is."


def _mixed(one: tuple[int, int, int], other: tuple[int, int, int], share: float) -> tuple[int, int, int]:
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def _pixel(x: int, y: int) -> tuple[int, int, int]:
    horizon = 400
    if 430 <= y < 470 and 400 + (y - 430) < x < 640 - (y - 430):
        return _HULL
    if 150 <= y < 425 and 515 < x < 515 + (y - 150) * 0.42:
        return _SAIL
    if 200 <= y < 425 and 505 - (y - 200) * 0.36 < x < 505:
        return _SAIL
    if (x - 790) ** 2 + (y - 330) ** 2 < 2_600 and y < horizon:
        return _SUN
    if y < horizon:
        return _mixed(_SKY, _GLOW, y / horizon)
    return _mixed(_SEA, _DEEP, (y - horizon) / (HEIGHT - horizon))


def a_boat() -> bytes:
    """Return a boat at sea, drawn point by point."""
    rows = b"".join(b"\0" + bytes(c for x in range(WIDTH) for c in _pixel(x, y)) for y in range(HEIGHT))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def maker() -> TinyHttp:
    """Return a service that makes this one picture."""
    made = json.dumps({"data": [{"b64_json": base64.b64encode(a_boat()).decode()}]}).encode()

    def answer(_request: Request) -> Answer:
        return Answer(200, made, {"content-type": "application/json"})

    return TinyHttp(answer)


async def take(folder: Path, context: BrowserContext, keep: Keep) -> None:
    """Take the pictures."""
    async with maker() as service:
        web = {"search": "brave", "pictures": "openai", "pictures_address": service.url}
        model = {"provider": "scripted", "model": str(folder / "script.json"), "contextWindow": 200_000}
        studio = Studio(folder / "home", {"web": web}, {"script": {**model, "name": "Claude Sonnet"}})
        try:
            studio.server.client.put("/api/web/search/key", json={"value": "made-up"}).raise_for_status()
            chat = await studio.open(context, "/settings/web")
            await expect(chat.page.get_by_text("The agent can use Brave Search.")).to_be_visible()
            await keep(chat, "web-settings")
            await _made(studio, chat, keep)
        finally:
            studio.server.close()


async def _made(studio: Studio, chat: Chat, keep: Keep) -> None:
    prompt = "A small sloop under sail on a calm sea, evening light"
    studio.script([{"call": "image_generation", "arguments": {"prompt": prompt, "size": "1024x640"}}], ANSWER)
    await chat.go("/")
    await chat.send("Draw the boat for the cover of the log book.")
    await chat.dock.get_by_role("button", name="Allow", exact=True).click()
    await chat.finished()
    await expect(chat.timeline.get_by_role("img", name="picture-1.png")).to_be_visible()
    await chat.page.evaluate("document.activeElement.blur()")
    await keep(chat, "web-picture")
